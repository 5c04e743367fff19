package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// ran is the object of fawn run --json.
type ran struct {
	Status, Answer, Error string
	Questions             []string
	ThreadID              string `json:"thread_id"`
	RunID                 string `json:"run_id"`
	Artifacts             []struct{ Path, File string }
	Usage                 struct {
		Total int `json:"total_tokens"`
		Calls int `json:"model_calls"`
	}
}

func object(t *testing.T, r result) (out ran) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	return out
}

// script is a task for the scripted model.
func script(t *testing.T, turns ...any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		t.Fatal(err)
	}
	return "SCRIPT" + string(b)
}

func calls(name string, args map[string]any) map[string]any {
	return map[string]any{"tool_calls": []any{map[string]any{"name": name, "args": args}}}
}

func says(text string) map[string]any { return map[string]any{"text": text} }

// TestRunGivesScriptsTheAnswer: on standard output and nothing else, with the steps on the other one, and
// files in a folder. It needs no server.
func TestRunGivesScriptsTheAnswer(t *testing.T) {
	t.Parallel()
	conf, data, out := configured(t), t.TempDir(), filepath.Join(t.TempDir(), "out")
	task := script(t,
		calls("read_file",
			map[string]any{"description": "read the numbers", "path": "/mnt/user-data/uploads/my numbers.csv"}),
		calls("write_file", map[string]any{"description": "write it\u001b[31m down",
			"path": "/mnt/user-data/outputs/sub/report 1.md", "content": "# 42"}),
		calls("present_files", map[string]any{"filepaths": []string{"/mnt/user-data/outputs/sub/report 1.md"}}),
		says("It is 42."))
	cmd := program(t, nil, "run", task, "--file", file(t, "my numbers.csv", "a\n42\n"), "--out", out, "--data", data,
		"--config", conf, "--mode", "flash")
	r := finished(t, cmd)
	if r.code != exitOK || r.stdout != "It is 42.\n" {
		t.Fatalf("%+v", r)
	}
	want := "· read_file: read the numbers\n· write_file: write it[31m down\n· present_files\nfile: " +
		filepath.Join(out, "sub", "report 1.md") + "\n"
	if r.stderr != want {
		t.Errorf("progress %q, want %q", r.stderr, want)
	}
	if b, err := os.ReadFile(filepath.Join(out, "sub", "report 1.md")); err != nil || string(b) != "# 42" {
		t.Errorf("the file: %q %v", b, err)
	}
	if r := finished(t, program(t, nil, "fsck", "--data", data)); r.code != exitOK {
		t.Errorf("fsck: %+v", r)
	}

	cmd = program(t, nil, "run", "-", "--json", "--ephemeral", "--data", data, "--config", conf)
	cmd.Stdin = strings.NewReader(script(t, says("from <stdin>")))
	before := tree(t, data)
	r = finished(t, cmd)
	got := object(t, r)
	if r.code != exitOK || r.stderr != "" || got.Status != "success" || got.Answer != "from <stdin>" ||
		got.RunID == "" || got.Usage.Calls < 1 || got.Artifacts == nil || !strings.Contains(r.stdout, "<stdin>") {
		t.Errorf("%+v", r)
	}
	for name, text := range tree(t, data) {
		if before[name] != text {
			t.Errorf("--ephemeral changed %s", name)
		}
	}
}

// TestRunSaysByItsExitCodeHowItEnded.
func TestRunSaysByItsExitCodeHowItEnded(t *testing.T) {
	t.Parallel()
	conf, data := configured(t), t.TempDir()
	do := func(args ...string) result {
		return finished(t, program(t, nil, append([]string{"run", "--data", data, "--config", conf}, args...)...))
	}
	r := do(script(t,
		calls("ask_clarification", map[string]any{"question": "Which colour?", "clarification_type": "missing_info",
			"options": []string{"red", "blue"}})), "--json")
	asked := object(t, r)
	if r.code != exitWaits || asked.Status != "needs_answer" ||
		!strings.Contains(strings.Join(asked.Questions, "\n")+asked.Answer, "Which colour?") {
		t.Errorf("a question: %+v", r)
	}
	r = do(script(t, says("Blue it is.")), "--thread", asked.ThreadID)
	if r.code != exitOK || r.stdout != "Blue it is.\n" {
		t.Errorf("the answer to it: %+v", r)
	}
	r = do(script(t,
		calls("ask_clarification", map[string]any{"question": "Which size?", "clarification_type": "missing_info"})))
	if r.code != exitWaits || strings.Count(r.stdout, "Which size?") != 1 ||
		!strings.Contains(r.stderr, "fawn run --thread ") {
		t.Errorf("a question for people: %+v", r)
	}

	r = do(`SCRIPT{"turns": [{"text": "so far so good", "chunk": 7, "hang": true}]}`, "--timeout", "20s")
	if r.code != exitTimeout || r.stdout != "so far so good\n" || !strings.Contains(r.stderr, "took too long") {
		t.Errorf("a timeout: %+v", r)
	}
	broken := file(t, "c.yaml", "models: [{name: a, use: openai, model: a, api_key: k, max_retries: 0, base_url: 'http://127.0.0.1:1/v1'}]\nllm: {retry: {max_attempts: 1}}\n")
	r = finished(t, program(t, nil, "run", "hello", "--json", "--ephemeral", "--config", broken))
	if got := object(t, r); r.code != exitError || got.Status != "error" || got.Error == "" {
		t.Errorf("a failure: %+v", r)
	}
	for _, args := range [][]string{{"run"}, {"run", " "}, {"run", "x", "--mode", "best"},
		{"run", "x", "--ephemeral", "--thread", "t"}, {"run", "x", "y"}, {"run", "x", "--timeout", "soon"}} {
		if r := finished(t, program(t, nil, args...)); r.code != exitUsage || r.stdout != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
	for _, args := range [][]string{{"hello", "--thread", "none"}, {"hello", "--file", filepath.Join(data, "none.csv")},
		{"hello", "--server", "http://127.0.0.1:1"}} {
		if r := do(args...); r.code != exitError || r.stdout != "" || !strings.HasPrefix(r.stderr, "fawn: ") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// TestRunUsesTheServerThatIsThere: the one that has the data folder, or one at an address with a token.
func TestRunUsesTheServerThatIsThere(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serve(t, nil, "--data", data, "--config", configured(t))
	r := finished(t, program(t, nil, "run", script(t, says("by the server")), "--json", "--data", data))
	got := object(t, r)
	if r.code != exitOK || got.Answer != "by the server" || len(runsOf(t, s, got.ThreadID)) != 1 {
		t.Errorf("%+v", r)
	}
	proxy := newRelay(t, s, 0).Config.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	task := script(t, says("through the front"))
	if r := finished(t, program(t, nil, "run", task, "--server", front.URL+"/",
		"--token", "right")); r.code != exitOK || r.stdout != "through the front\n" {
		t.Errorf("with a token: %+v", r)
	}
	if r := finished(t, program(t, []string{"FAWN_TOKEN=right"}, "run", task, "--server",
		front.URL)); r.code != exitOK {
		t.Errorf("with a token of the environment: %+v", r)
	}
	if r := finished(t, program(t, nil, "run", task, "--server", front.URL, "--token", "wrong")); r.code != exitError ||
		!strings.Contains(r.stderr, "--token") {
		t.Errorf("with a wrong token: %+v", r)
	}
}

// TestAnInterruptedRunKeepsWhatWasSaid also in the chat.
func TestAnInterruptedRunKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	data := t.TempDir()
	s := serve(t, nil, "--data", data, "--config", configured(t, "title: {enabled: false}"))
	task := script(t, calls("ls", map[string]any{"description": "look", "path": "/mnt/user-data/workspace"}),
		map[string]any{"text": "first words", "chunk": 5, "hang": true})
	task = strings.Replace(task, "first words", `first\u0020words`, 1) // on the page they are those of the answer
	cmd := program(t, nil, "run", "--data", data, "--json", task)
	var stdout, stderr agenttest.Log
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	thread := ""
	until(t, func() bool {
		for _, th := range call[[]struct {
			ID string `json:"thread_id"`
		}](t, s, "GET", "/threads", "") {
			thread = th.ID
		}
		return thread != "" && strings.Contains(page(t, s, "/workspace/chats/"+thread), "first words") &&
			stderr.String() != ""
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code follows
	got := object(t, result{stdout: stdout.String()})
	code := cmd.ProcessState.ExitCode()
	if code != exitCancelled || got.Status != "cancelled" || got.Answer != "first words" ||
		stderr.String() != "· ls: look\n" {
		t.Errorf("exit code %d: %s%s", code, stdout.String(), stderr.String())
	}
	if got := messages(t, s, thread); !strings.HasSuffix(got, "ai:first words\n") || status(t, s, thread) == "busy" {
		t.Errorf("the chat is %s: %s", status(t, s, thread), got)
	}
}

// TestRunNamesWhatWorks: a model or an agent that is not there is a mistake, and none answers in its place. What is wrong
// stands in the last line.
func TestRunNamesWhatWorks(t *testing.T) {
	t.Parallel()
	server := webtest.Model(scriptmodel.Start(t))
	some := file(t, "some.yaml", strings.Replace(server, "}]", "}, {name: off, use: openai, model: x, api_key: $FAWN_TEST_NO_SUCH_KEY}]", 1))
	none := file(t, "none.yaml", "models:\n  - {name: off, use: openai, model: x, api_key: $FAWN_TEST_NO_SUCH_KEY}\n")
	data := t.TempDir()
	for _, c := range []struct {
		conf string
		args []string
		code int
		says []string
	}{
		{some, []string{"--model", "gtp-5", "x"}, exitUsage, []string{`no model "gtp-5"`, "these work: ", "offline"}},
		{some, []string{"--model", "off", "x"}, exitUsage, []string{`"off" can't be used`, "FAWN_TEST_NO_SUCH_KEY", "these work: "}},
		{some, []string{"--model", "OFF", "x"}, exitUsage, []string{`no model "OFF"`}},
		{none, []string{"x"}, exitUsage, []string{`"off" can't be used`, "FAWN_TEST_NO_SUCH_KEY", "offline"}},
		{none, []string{"--json", "x"}, exitUsage, []string{`"off" can't be used`}},
		{none, []string{"--model", "off", "x"}, exitUsage, []string{`"off" can't be used`}},
		{none, []string{"--model", "offline", "hello"}, exitOK, nil},
		{some, []string{"--timeout", "10", "x"}, exitUsage, []string{`"10"`, "--timeout", "such as"}},
		{some, []string{"--timeout", "-1m", "x"}, exitUsage, []string{"--timeout", "such as"}},
		{some, []string{"--mode", "best", "x"}, exitUsage, []string{"--mode", "flash, thinking, pro or ultra"}},
		{some, []string{"--nosuch", "x"}, exitUsage, []string{"there is no flag --nosuch"}},
		{some, []string{"--model"}, exitUsage, []string{"a value is missing behind --model"}},
		{some, []string{"--server", "127.0.0.1:9", "x"}, exitError, []string{"refused"}},
		{some, []string{"--server", "ftp://127.0.0.1:9", "x"}, exitUsage, []string{"no address of a server", "http://"}},
		{some, []string{"--agent", "nosuch", "x"}, exitUsage, []string{`no agent "nosuch"`}},
	} {
		r := finished(t, program(t, nil, append([]string{"run", "--data", data, "--config", c.conf}, c.args...)...))
		lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
		last := lines[len(lines)-1]
		if r.code != c.code || c.code != exitOK && (r.stdout != "" || len(lines) > 3 || !strings.HasPrefix(last, "fawn: ")) {
			t.Errorf("%q: %+v", c.args, r)
		}
		for _, want := range c.says {
			if !strings.Contains(last, want) {
				t.Errorf("%q: no %q in %q", c.args, want, last)
			}
		}
	}
}
