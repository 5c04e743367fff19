package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestOneSentenceSaysWhatStopsAStart: nothing on standard output, one clear sentence on
// standard error, exit code 1.
func TestOneSentenceSaysWhatStopsAStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	held := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: held, Addr: "127.0.0.1:7777"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	broken := file(t, "my.yaml", "models:\n  - name: a\n    use: openai\nserver: {max_readers: many}\n")
	unreadable := file(t, "bad.yaml", "models: [\n")
	missing := filepath.Join(t.TempDir(), "none.yaml")
	aFile := file(t, "folder", "")
	for _, c := range []struct {
		name  string
		env   []string
		args  []string
		says  []string
		lines int // a broken configuration shows the line
	}{
		{"port taken", nil, []string{"--addr", taken.Addr().String(), "--data", t.TempDir()}, []string{taken.Addr().String(), "already in use", "--addr"}, 1},
		{"no address", nil, []string{"--addr", "2026"}, []string{"--addr", "host:port"}, 1},
		{"folder taken", nil, []string{"--data", held}, []string{held, fmt.Sprintf("process %d", os.Getpid()), "127.0.0.1:7777"}, 1},
		{"folder is a file", nil, []string{"--data", aFile}, []string{aFile, "--data"}, 1},
		{"folder below a file", nil, []string{"--data", filepath.Join(aFile, "x")}, []string{aFile, "--data"}, 1},
		{"folder from the environment", []string{"FAWN_HOME=" + aFile}, nil, []string{aFile, "--data"}, 1},
		{"newer database", nil, []string{"--data", newer(t)}, []string{"version 99", "newer program"}, 1},
		{"missing configuration", nil, []string{"--config", missing, "--data", t.TempDir()}, []string{missing}, 1},
		{"missing configuration from the environment", []string{"FAWN_CONFIG=" + missing}, []string{"--data", t.TempDir()}, []string{missing}, 1},
		{"configuration is a folder", nil, []string{"--config", t.TempDir(), "--data", t.TempDir()}, []string{"configuration"}, 1},
		{"wrong value", nil, []string{"--config", broken, "--data", t.TempDir()}, []string{"my.yaml:4:23", "server.max_readers", "many"}, 3},
		{"no YAML", nil, []string{"--config", unreadable, "--data", t.TempDir()}, []string{"bad.yaml:"}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.args
			if !strings.Contains(strings.Join(args, " "), "--addr") {
				args = append(args, "--addr", "127.0.0.1:0")
			}
			r := finished(t, program(t, c.env, append([]string{"serve"}, args...)...))
			if r.code != exitError || r.stdout != "" || !strings.HasPrefix(r.stderr, "fawn: ") ||
				strings.Count(r.stderr, "\n") > c.lines {
				t.Errorf("exit code %d, stdout %q, stderr:\n%s", r.code, r.stdout, r.stderr)
			}
			for _, want := range c.says {
				if !strings.Contains(r.stderr, want) {
					t.Errorf("no %q in: %s", want, r.stderr)
				}
			}
			if strings.Contains(r.stderr, "goroutine") || strings.Contains(r.stderr, "level=") {
				t.Error(r.stderr)
			}
		})
	}
}

// newer is a data folder whose database a newer program has written.
func newer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "fawn.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{0, 0, 0, 99}, 60); err != nil { // where SQLite keeps user_version
		t.Fatal(err)
	}
	return dir
}

func TestPortTakenByFawnNamesTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, nil, "--data", dir)
	addr := strings.TrimPrefix(s.url, "http://")
	r := finished(t, program(t, nil, "serve", "--data", dir, "--addr", addr))
	want := fmt.Sprintf("process %d serving %s", s.cmd.Process.Pid, addr)
	if r.code != exitError || !strings.Contains(r.stderr, want) {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	call[any](t, s, "POST", "/threads", "{}")
}

func TestFoldersComeFromFlagEnvironmentOrUser(t *testing.T) {
	t.Parallel()
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want string
		os   string
	}{
		{"flag first", []string{"FAWN_HOME=" + b, "DEER_FLOW_HOME=" + c}, []string{"--data", a}, a, ""},
		{"own variable", []string{"FAWN_HOME=" + b, "DEER_FLOW_HOME=" + c}, nil, b, ""},
		{"DeerFlow's variable", []string{"DEER_FLOW_HOME=" + c}, nil, c, ""},
		{"folder for data", []string{"XDG_DATA_HOME=" + a}, nil, filepath.Join(a, "fawn"), "linux"},
		{"folder that is relative counts for nothing", []string{"XDG_DATA_HOME=x", "HOME=" + b}, nil, filepath.Join(b, ".local/share/fawn"), "linux"},
		{"home", []string{"HOME=" + c}, nil, filepath.Join(c, ".local/share/fawn"), "linux"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.os != "" && tt.os != runtime.GOOS {
				t.Skip("only on " + tt.os)
			}
			r := finished(t, program(t, tt.env, append([]string{"doctor"}, tt.args...)...))
			if r.code != exitOK || !strings.Contains(r.stdout, "data folder   "+tt.want+"\n") {
				t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
			}
			must.Try(os.Stat(filepath.Join(tt.want, "fawn.db")))(t)
		})
	}
}

func TestDoctorSaysWhatToMend(t *testing.T) {
	t.Parallel()
	aFile, held := file(t, "folder", ""), t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: held, Addr: "127.0.0.1:7777"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	keyless := file(t, "config.yaml",
		"modles: []\nmodels: [{name: a, use: openai, api_key: $FAWN_TEST_UNSET}, {name: b, use: openai, api_key: sk-right, base_url: '"+answering(t)+"/base'}]\n")
	refused := file(t, "config.yaml", "models: [{name: b, use: openai, api_key: sk-wrong, base_url: '"+answering(t)+
		"/base/v1'}]\n")
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"all is well", []string{"--data", t.TempDir()}, exitOK, []string{"ok    version", "ok    data folder", "ok    database", "all references are intact", "ok    config", "note  model", "offline"}},
		{"half of the models", []string{"--data", t.TempDir(), "--config", keyless}, exitOK,
			[]string{"ok    config        " + keyless, "config.yaml:1:1", "models", "model a is disabled", "FAWN_TEST_UNSET", "ok    model         b (openai) answered"}},
		{"a wrong key", []string{"--data", t.TempDir(), "--config", refused}, exitError,
			[]string{"FAIL  model         b (openai) doesn't answer at http://127.0.0.1:", "(auth, status 401):\n", "Wrong key ***, says the provider"}},
		{"a server is running", []string{"--data", held}, exitOK, []string{"note  database", "process", "127.0.0.1:7777"}},
		{"folder is a file", []string{"--data", aFile}, exitError, []string{"FAIL  data folder", aFile}},
		{"newer database", []string{"--data", newer(t)}, exitError, []string{"FAIL  database", "version 99"}},
		{"damaged database", []string{"--data", damaged(t)}, exitError, []string{"FAIL  database", "not a database"}},
		{"broken configuration", []string{"--data", t.TempDir(), "--config", file(t, "c.yaml", "models: 3\n")}, exitError, []string{"FAIL  config", "c.yaml:1:9"}},
		{"missing configuration", []string{"--data", t.TempDir(), "--config", "none.yaml"}, exitError, []string{"FAIL  config", "none.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := finished(t, program(t, nil, append([]string{"doctor"}, c.args...)...))
			if r.code != c.code || r.stderr != "" || strings.Contains(r.stdout, "FAIL") != (c.code == exitError) {
				t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
			}
			for _, want := range c.says {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("no %q in\n%s", want, r.stdout)
				}
			}
		})
	}
}

// answering is a provider that knows one key.
func answering(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("Authorization"); key != "Bearer sk-right" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Wrong key %s, says the provider"}}`,
				strings.TrimPrefix(key, "Bearer "))
			return
		}
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ready\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func damaged(t *testing.T) string {
	t.Helper()
	return filepath.Dir(file(t, "fawn.db", strings.Repeat("no database ", 1000)))
}

func TestServeIsWhatHappensWithoutACommand(t *testing.T) {
	t.Parallel()
	r := finished(t, program(t, nil, "--addr", "nowhere"))
	if r.code != exitError || !strings.Contains(r.stderr, "host:port") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}

func TestDoctorPrintsAnAppArmorProfileForThisProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		t.Fatal(err)
	}
	r := finished(t, program(t, nil, "doctor", "--apparmor"))
	if r.code != exitOK || r.stderr != "" || !strings.HasPrefix(r.stdout, "abi <abi/4.0>,") ||
		!strings.Contains(r.stdout, " "+self+" ") || !strings.Contains(r.stdout, "userns,") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}
