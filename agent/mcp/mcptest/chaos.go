// Package mcptest contains misbehaving MCP servers on standard input and output. They implement the protocol by hand,
// because no library lets a server misbehave like that.
package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// HugeResult is the size in bytes of the huge server's result.
const HugeResult = 100 << 20

// Kinds returns the names of the servers that [Serve] can be.
func Kinds() []string {
	return []string{"hangs", "dies", "falls", "floods", "shouts", "huge", "names", "restless"}
}

// Serve runs the server of a kind; false if there is none.
//
// - hangs never answers.
// - dies ends at once, complaining with $API_TOKEN.
// - falls ends in the middle of a call of its tool "fall".
// - floods writes to both outputs without an end, and answers nothing.
// - shouts works, and writes to its standard error without an end.
// - huge answers a call of its tool "huge" with 100 MB.
// - names has tools that no model can call, and "fine".
// - restless changes its tools each second and announces it; "steady" stays with a new description.
func Serve(kind string) bool {
	s := &server{out: os.Stdout}
	switch kind {
	case "hangs":
		_, _ = io.Copy(io.Discard, os.Stdin) // until the client is gone
		return true
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot find my configuration, token", os.Getenv("API_TOKEN"))
		os.Exit(3)
	case "floods":
		flood()
		return true
	case "shouts":
		go shout()
		s.tools = fixed("whisper")
	case "falls":
		s.tools, s.call = fixed("fall"), fall
	case "huge":
		s.tools, s.call = fixed("huge"), s.huge
	case "names":
		s.tools = fixed("fine", "", "with space", "has.dots", "semi;colon", "../up", "näme", "<script>", "a\nb",
			strings.Repeat("long", 40))
	case "restless":
		s.tools = restless
		go s.tick()
	default:
		return false
	}
	s.run(os.Stdin)
	return true
}

// server answers the requests common to all servers.
type server struct {
	tools func() []tool
	call  func(id json.RawMessage) // calls of a tool; nil answers "done"

	mu  sync.Mutex
	out io.Writer
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
}

func newTool(name, about string) tool {
	return tool{name, about, map[string]any{"type": "object"}}
}

func fixed(names ...string) func() []tool {
	var list []tool
	for _, name := range names {
		list = append(list, newTool(name, "does something"))
	}
	return func() []tool { return list }
}

// restless returns the tools of this second.
func restless() []tool {
	now := time.Now().Unix()
	return []tool{newTool(fmt.Sprint("second_", now), "comes and goes"), newTool("steady", fmt.Sprint("as of ", now))}
}

// run handles requests until the input ends.
func (s *server) run(in io.Reader) {
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		switch r.Method {
		case "initialize":
			s.answer(r.ID, map[string]any{"protocolVersion": r.Params.ProtocolVersion,
				"serverInfo": map[string]any{"name": "chaos", "version": "1"}, "capabilities": map[string]any{
					"tools": map[string]any{"listChanged": true}}})
		case "tools/list":
			s.answer(r.ID, map[string]any{"tools": s.tools()})
		case "tools/call":
			if s.call != nil {
				s.call(r.ID)
				continue
			}
			s.answer(r.ID, map[string]any{"content": []any{map[string]any{"type": "text", "text": "done"}}})
		default:
			s.answer(r.ID, map[string]any{})
		}
	}
}

func (s *server) answer(id json.RawMessage, result any) {
	s.write(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (s *server) write(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(append(line, '\n')) // the client may be gone
}

func fall(json.RawMessage) {
	fmt.Fprintln(os.Stderr, "out of memory")
	os.Exit(1)
}

// huge writes its result in pieces.
func (s *server) huge(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := bufio.NewWriter(s.out)
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
	piece := strings.Repeat("x", 1<<20)
	for range HugeResult >> 20 {
		if _, err := out.WriteString(piece); err != nil {
			return // the client gave up
		}
	}
	fmt.Fprintln(out, `"}]}}`)
	_ = out.Flush() // the client may be gone
}

func (s *server) tick() {
	for range time.Tick(time.Second) {
		s.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
	}
}

// flood writes on and on.
func flood() {
	go shout()
	line := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` +
		strings.Repeat("x", 1000) + "\"}}\n"
	for {
		if _, err := os.Stdout.WriteString(line); err != nil {
			return
		}
	}
}

func shout() {
	line := strings.Repeat("x", 1<<20)
	for {
		if _, err := os.Stderr.WriteString(line); err != nil {
			return
		}
	}
}
