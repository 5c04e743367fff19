package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/agenttest"
	"fawn/agent/mcp/mcptest"
)

// serverArg makes the test binary a server of the kind that follows.
const serverArg = "fawn-test-mcp-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == serverArg {
		behave(os.Args[2], os.Args[3:])
		return
	}
	agenttest.Main(m)
}

// behave is a server, good or bad.
func behave(kind string, args []string) {
	switch kind {
	case "good":
		serve(newServer())
	case "odd":
		serve(oddNames())
	case "changes":
		serve(changing())
	case "extras":
		serve(withExtras(args[0]))
	case "stubborn":
		stubborn(args[0], args[1:])
	case "poison":
		poisoned(args[0])
	case "host":
		host(args[0])
	default:
		if !mcptest.Serve(kind) {
			panic(kind)
		}
	}
}

func serve(s *sdk.Server) {
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
	}
}

func text(s string) (*result, any, error) {
	return &result{Content: []sdk.Content{&sdk.TextContent{Text: s}}}, nil, nil
}

type (
	request = sdk.CallToolRequest
	result  = sdk.CallToolResult
)

type words struct {
	Text string `json:"text,omitempty"`
}

// newServer is a server with a tool of each kind.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	var counter atomic.Int64
	add := func(name, about string, f sdk.ToolHandlerFor[words, any]) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: about}, f)
	}
	add("echo", "says it again", func(_ context.Context, _ *request, a words) (*result, any, error) {
		return text(a.Text)
	})
	add("count", "counts its calls", func(context.Context, *request, words) (*result, any, error) {
		return text(fmt.Sprint(counter.Add(1)))
	})
	add("env", "shows its variables", func(context.Context, *request, words) (*result, any, error) {
		return text(strings.Join(os.Environ(), "\n"))
	})
	add("write", "writes a file and says where", func(_ context.Context, _ *request, a words) (*result, any, error) {
		at, err := filepath.Abs("made.txt")
		if err == nil {
			err = os.WriteFile(at, []byte(a.Text), 0o600)
		}
		if err != nil {
			return nil, nil, err
		}
		return text("written to " + at + ", temporary files in " + os.TempDir())
	})
	add("socket", "listens on a socket among its temporary files", func(context.Context, *request, words) (*result, any, error) {
		at := filepath.Join(os.TempDir(), "playwright-mcp-0123456789", "mcp-server.sock")
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return nil, nil, err
		}
		l, err := net.Listen("unix", at)
		if err != nil {
			return text(err.Error())
		}
		if err := l.Close(); err != nil {
			return nil, nil, err
		}
		return text("listening")
	})
	add("fails", "always fails", func(context.Context, *request, words) (*result, any, error) {
		return nil, nil, fmt.Errorf("no luck with %s", os.Getenv("API_TOKEN"))
	})
	add("dies", "ends its server", func(context.Context, *request, words) (*result, any, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(1)
		return nil, nil, nil
	})
	add("waits", "waits for the end of the call", func(ctx context.Context, r *request, a words) (*result, any, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(),
			Message: "half of it with " + os.Getenv("API_TOKEN"), Progress: 1, Total: 2})
		<-ctx.Done()
		if a.Text != "" {
			_ = os.WriteFile(a.Text, nil, 0o600)
		}
		return nil, nil, ctx.Err()
	})
	add("big", "says much", func(_ context.Context, _ *request, a words) (*result, any, error) {
		n, _ := time.ParseDuration(a.Text + "ns")
		return text(strings.Repeat("0123456789abcde\n", int(n)/16))
	})
	add("shows", "answers with an image and more", func(context.Context, *request, words) (*result, any, error) {
		return &result{Content: []sdk.Content{
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\nrest")},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://a", Text: "inside"}},
			&sdk.ResourceLink{URI: "test://b", Name: "link"},
		}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "shape", Description: "answers with data"},
		func(context.Context, *request, words) (*result, map[string]any, error) {
			return nil, map[string]any{"answer": 42}, nil
		})
	add("asks", "asks the person", func(ctx context.Context, r *request, a words) (*result, any, error) {
		got, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Which size, " + os.Getenv("API_TOKEN") +
			a.Text + "?",
			RequestedSchema: map[string]any{"type": "object", "required": []string{"size"},
				"properties": map[string]any{
					"size":  map[string]any{"type": "string", "title": "Size", "enum": []string{"s", "m"}, "enumNames": []string{"Small", "Medium"}},
					"count": map[string]any{"type": "integer", "minimum": 1, "default": 2},
					"gift":  map[string]any{"type": "boolean", "description": "wrap it"}}}})
		if err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprint(got.Action, " ", got.Content["size"], " ", got.Content["count"], " ",
			got.Content["gift"]))
	})
	add("grows", "adds a tool", func(_ context.Context, _ *request, a words) (*result, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown", Description: a.Text},
			func(context.Context, *request, words) (*result, any, error) {
				return text("new")
			})
		return text("done")
	})
	return s
}

// oddNames has tools that models cannot call.
func oddNames() *sdk.Server {
	s := newServer()
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, r)
			if list, ok := res.(*sdk.ListToolsResult); ok {
				object := json.RawMessage(`{"type":"object"}`)
				large := json.RawMessage(`{"type":"object","title":"` + strings.Repeat("x", 70<<10) + `"}`)
				list.Tools = append(list.Tools, &sdk.Tool{Name: "has.dots", InputSchema: object},
					&sdk.Tool{Name: "array", InputSchema: json.RawMessage(`{"type":"array"}`)},
					&sdk.Tool{Name: strings.Repeat("long", 20), InputSchema: object},
					&sdk.Tool{Name: "huge", InputSchema: large})
			}
			return res, err
		}
	})
	return s
}

// changing describes a tool otherwise at each listing.
func changing() *sdk.Server {
	s := newServer()
	var n atomic.Int64
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, r)
			if list, ok := res.(*sdk.ListToolsResult); ok {
				for i, t := range list.Tools {
					if t.Name == "echo" {
						other := *t
						other.Description = fmt.Sprintf("says it again, version %d.%d", os.Getpid(), n.Add(1))
						list.Tools[i] = &other
					}
				}
			}
			return res, err
		}
	})
	return s
}

// stubborn works, but does not leave when it is told to, and starts another process that does
// not either. Both hold a connection to an address, which ends when they do.
func stubborn(addr string, rest []string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		os.Exit(4)
	}
	defer conn.Close()
	if len(rest) > 0 { // the one that was started
		select {}
	}
	child := exec.Command(os.Args[0], serverArg, "stubborn", addr, "child")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		os.Exit(5)
	}
	serve(newServer())
	select {} // its input has ended, and it does not care
}
