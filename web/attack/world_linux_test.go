package attack_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/web"
	"fawn/web/e2e/gate"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// patience bounds every wait of these tests.
var patience = func() time.Duration {
	if gate.Soaking() { // 10 GB of output take their time
		return 30 * time.Minute
	}
	return 5 * time.Minute
}()

// secret begins everything that no command may ever show.
const secret = "CANARY-"

// world is the whole program, and things on its host that nothing inside may reach.
type world struct {
	url, data string
	client    *http.Client
	outside   string    // a folder with a file and a socket
	neighbour *exec.Cmd // a process of the same user
	port      int       // of a service on loopback
	abstract  string    // name of a socket without a file
	before    string    // what the host looked like
	plain     bool      // there are no namespaces: commands are processes of the host
}

// newWorld opens the program with more configuration and a host around it.
func newWorld(t *testing.T, conf string) *world {
	t.Helper()
	needsPython(t)
	w := &world{data: filepath.Join(openDir(t), "data"), outside: t.TempDir()}
	config := filepath.Join(filepath.Dir(w.data), "config.yaml")
	put(t, filepath.Join(w.outside, "secret"), secret+"file")
	put(t, filepath.Join(w.data, "secrets.env"), "SOME_KEY="+secret+"env-file\n")
	put(t, config, fmt.Sprintf("models: [{name: script, use: openai, model: script, base_url: %q, api_key: %sapi-key, supports_vision: true}]\n"+
		"title: {enabled: false}\nmemory: {enabled: false}\nloop_detection: {enabled: false}\n%s",
		scriptmodel.Start(t).URL+"/v1", secret, conf))
	w.listen(t)
	w.neighbour = exec.Command("sleep", "3600")
	w.neighbour.Env = []string{"HOST_KEY=" + secret + "process"}
	if err := w.neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.neighbour.Process.Kill()
		_ = w.neighbour.Wait()
	})
	w.open(t, config)
	put(t, filepath.Join(w.data, "threads", "victim", "user-data", "workspace", "private"), secret+"private")
	for end := time.Now().Add(patience); !w.asleep() && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	w.before = w.state()
	return w
}

// openDir is a folder below folders that every user may enter: without namespaces, commands
// of a server that is root run as others.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fawn-open-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Commands close folders to their owner, and to a server that is not root.
		_ = exec.Command("chmod", "-R", "u+rwx", dir).Run()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// listen opens the services of the host. Whoever reaches one is told a secret.
func (w *world) listen(t *testing.T) {
	t.Helper()
	for _, at := range []string{"", "@", filepath.Join(w.outside, "s")} {
		network := "unix"
		switch at {
		case "":
			network, at = "tcp", "127.0.0.1:0"
		case "@":
			w.abstract = fmt.Sprint("fawn-attack-", os.Getpid(), "-", w.port)
			at += w.abstract
		}
		l, err := net.Listen(network, at)
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			w.port = a.Port
		}
		var serving sync.WaitGroup
		serving.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprint(c, "HTTP/1.0 200 OK\r\n\r\n"+secret+"service\n")
				c.Close()
			}
		})
		t.Cleanup(func() {
			l.Close()
			serving.Wait()
		})
	}
}

func (w *world) open(t *testing.T, config string) {
	t.Helper()
	log := &agenttest.Log{}
	app, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: w.data, Config: config, Version: "test",
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	w.client = &http.Client{Transport: &http.Transport{}, Timeout: patience}
	w.url = webtest.Run(t, app, w.client, log).URL
}

// must skips where the provider is not there, which CI does not accept.
func (w *world) must(t *testing.T, provider string) {
	t.Helper()
	_, body := w.send(t, "GET", "/health", "", "")
	var h struct {
		Sandbox struct{ Provider, Reason, Step, Errno string }
	}
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatal(err, body)
	}
	if h.Sandbox.Provider == provider {
		return
	}
	if os.Getenv("FAWN_CI") == "1" {
		t.Fatalf("no %s sandbox here: %+v", provider, h.Sandbox)
	}
	t.Skipf("no %s sandbox here: %+v", provider, h.Sandbox)
}

// send makes one request and returns status and body.
func (w *world) send(t *testing.T, method, path, kind, body string) (int, string) {
	t.Helper()
	res := w.answer(t, method, path, kind, body)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, string(b)
}

func (w *world) answer(t *testing.T, method, path, kind, body string) *http.Response {
	t.Helper()
	var headers []string
	if kind != "" {
		headers = []string{"Content-Type", kind}
	}
	res, err := webtest.Request(t.Context(), w.client, method, w.url+path,
		strings.NewReader(agenttest.RunBody(path, body)), headers...)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// use is one call of a tool by the model.
type use struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// tool makes a call; args are names and values.
func tool(name string, args ...any) use {
	u := use{name, map[string]any{"description": "a test"}}
	for i := 0; i+1 < len(args); i += 2 {
		u.Args[args[i].(string)] = args[i+1]
	}
	return u
}

// chat has the scripted model make calls, one list after the other, and returns what the
// model was told about each.
func (w *world) chat(t *testing.T, thread string, turns ...[]use) []string {
	t.Helper()
	type turn struct {
		Text  string `json:"text,omitempty"`
		Calls []use  `json:"tool_calls,omitempty"`
	}
	var all []turn
	calls := 0
	for _, u := range turns {
		all = append(all, turn{Calls: u})
		calls += len(u)
	}
	script, err := json.Marshal(map[string]any{"turns": append(all, turn{Text: "done"})})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"assistant_id": "lead_agent", "input": map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": "SCRIPT" + string(script)}}}})
	if err != nil {
		t.Fatal(err)
	}
	status, answer := w.send(t, "POST", "/api/threads/"+thread+"/runs/wait", "application/json", string(body))
	var values struct {
		Messages []struct {
			Type    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(answer), &values); err != nil || status != http.StatusOK {
		t.Fatalf("%d %v: %.2000s", status, err, answer)
	}
	var told []string
	for _, m := range values.Messages {
		if m.Type != "tool" {
			continue
		}
		var s string
		if err := json.Unmarshal(m.Content, &s); err != nil {
			s = string(m.Content)
		}
		told = append(told, s)
	}
	if len(told) < calls {
		t.Fatalf("%d answers to %d calls: %.2000s", len(told), calls, answer)
	}
	return told[len(told)-calls:]
}

// script is what the model does to run a script without its text being looked at.
func (w *world) script(text string) [][]use {
	head := "exec 2>&1\n"
	for name, value := range map[string]any{"SECRET": w.outside + "/secret", "OUTSIDE": w.outside, "DATA": w.data,
		"PORT":   w.port,
		"SERVER": strings.TrimPrefix(w.url, "http://127.0.0.1:"), "SERVERPID": os.Getpid(),
		"HOSTPID": w.neighbour.Process.Pid, "ABSTRACT": w.abstract, "MARK": w.mark()} {
		head += fmt.Sprintf("export %s='%v'\n", name, value)
	}
	const name = "/mnt/user-data/workspace/.attack.sh"
	return [][]use{{tool("write_file", "path", name, "content", head+text+"\n")},
		{tool("bash", "command", "bash "+name)}}
}

// needsPython skips where there is none, as most attacks are written in it.
func needsPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		if os.Getenv("FAWN_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
