package web_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// TestServersInSandboxes: a server that is sandboxed sees the files of its thread, the folders it was
// given and the hosts it may reach, and nothing else of this machine.
func TestServersInSandboxes(t *testing.T) {
	t.Parallel()
	outside := httptest.NewServer(nil)
	t.Cleanup(outside.Close)
	shown, writable, secret := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "secret.txt")
	for _, dir := range []string{shown, writable, filepath.Dir(secret)} {
		must.Do(t, os.Chmod(dir, 0o777))
	}
	for file, text := range map[string]string{secret: "for nobody", filepath.Join(shown, "a.txt"): "to be read"} {
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	}
	data := t.TempDir()
	jailed := notesServer()
	jailed["command"] = "/prog/" + filepath.Base(os.Args[0])
	jailed["sandboxed"], jailed["hosts"] = true, []string{"127.77.0.1"}
	jailed["folders"] = []string{filepath.Dir(os.Args[0]) + ":/prog", shown + ":/shown", writable + ":/writable:rw"}
	lost := notesServer()
	lost["sandboxed"] = true // its program is not there
	odd := notesServer()
	odd["sandboxed"], odd["folders"] = true, []string{"/etc"}
	extensions(t, data, map[string]any{"jailed": jailed, "lost": lost, "odd": odd})
	s := start(t, scripted(t)+nearby, func(o *web.Options) { o.Data = data })
	s.networked(t)
	s.offeredTool(t, "one", "jailed_tell")
	try := func(args string) string { return strings.TrimSpace(s.tool(t, "one", "jailed_try", args)) }
	for args, want := range map[string]string{
		`{"read":"` + secret + `"}`:                                     "no: open " + secret + ": no such file",
		`{"read":"/shown/a.txt"}`:                                       "to be read",
		`{"write":"/shown/b.txt"}`:                                      "no: open /shown/b.txt: ",
		`{"write":"/writable/b.txt"}`:                                   "written",
		`{"write":"/mnt/user-data/workspace/c.txt"}`:                    "written",
		`{"dial":"` + strings.TrimPrefix(outside.URL, "http://") + `"}`: "no: dial tcp",
		`{"knock":"127.77.0.2"}`:                                        "HTTP/1.1 403 blocked",
		`{"knock":"127.77.0.1"}`:                                        "HTTP/1.1 502",
	} {
		if got := try(args); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, not %q", args, got, want)
		}
	}
	for _, file := range []string{filepath.Join(writable, "b.txt"),
		filepath.Join(data, "threads/one/user-data/workspace/c.txt")} {
		if b, err := os.ReadFile(file); err != nil || string(b) != "by the server" {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	if got := s.tool(t, "one", "jailed_tell", "{}"); !strings.HasPrefix(got, "in /mnt/user-data/workspace with ****") {
		t.Errorf("the server is %q", got)
	}
	webtest.Holds(t, "a server that dies says", s.tool(t, "one", "jailed_fail", "{}"), "my token is ****")
	got := s.tool(t, "one", "bash", `{"command":"ls -A /mnt /; ls /proc | grep -c '^[0-9]'","description":"look"}`)
	webtest.Holds(t, "commands see what only the server should", got, "!prog")
	s.refusals(t)
	s.send(t, "DELETE", "/threads/one", "").fine(t, "delete")
}

// refusals waits until the servers that cannot run say why.
func (s *server) refusals(t *testing.T) {
	t.Helper()
	for name, want := range map[string]string{"lost": "can't be started in the sandbox",
		"odd": "reserved for the sandbox"} {
		for end := time.Now().Add(patience); !strings.Contains(s.toolServers(t)[name].Error,
			want); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("of %s: %+v", name, s.toolServers(t)[name])
			}
		}
	}
}

// TestNoSandboxNoServer: a server that is to be confined does not run unconfined.
func TestNoSandboxNoServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	jailed := notesServer()
	jailed["sandboxed"] = true
	extensions(t, data, map[string]any{"jailed": jailed})
	s := start(t, scripted(t)+"sandbox: {provider: \"off\"}\n", func(o *web.Options) { o.Data = data })
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now := s.toolServers(t)["jailed"]
		if now.State == "failed" &&
			strings.Contains(now.Error, "it requires a sandbox, which isn't available here") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the server is %+v", now)
		}
	}
	webtest.Holds(t, "a tool of it", s.tool(t, "one", "jailed_tell", "{}"), "there is no tool named")
}
