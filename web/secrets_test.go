package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/web"
	"fawn/web/e2e/scriptmodel"
)

// secretValue is looked for in everything that is written down.
const secretValue = "zQ7-never-written-down"

// secretCommands use the secret in every way that shows it.
func secretCommands() []string {
	return []string{
		`echo "it is $API_TOKEN"; test "$API_TOKEN" = zQ7-never-written''-down && echo right`,
		`printf %s "$API_TOKEN" > /mnt/user-data/workspace/kept.txt; cat kept.txt; env | grep API_TOKEN; exit 4`,
	}
}

// scriptOf is a message that lets the scripted model run commands.
func scriptOf(t *testing.T, commands ...string) string {
	t.Helper()
	var turns []any
	for _, c := range commands {
		turns = append(turns,
			map[string]any{
				"tool_calls": []any{
					map[string]any{"name": "bash", "args": map[string]string{"description": "a test", "command": c}},
				},
			})
	}
	b, err := json.Marshal(map[string]any{"turns": append(turns, map[string]string{"text": "done"})})
	if err != nil {
		t.Fatal(err)
	}
	return "SCRIPT" + string(b)
}

// writtenDown returns the files below dir, but for those of threads, that hold a word.
func writtenDown(t *testing.T, dir, word string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() && e.Name() == "threads" {
			if e != nil && e.IsDir() && err == nil {
				return filepath.SkipDir
			}
			return err
		}
		if !e.Type().IsRegular() { // a folder, or the socket of the console
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(b), word) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSecretsOfARunReachItsCommandsAndNothingElse: the commands of the run have them, the
// next run has not, and no file of the server, no answer and no log holds the value.
func TestSecretsOfARunReachItsCommandsAndNothingElse(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	s.sandboxed(t)
	for name, options := range map[string]string{
		"context":      `"context": {"secrets": {"API_TOKEN": %q}, "mode": "flash"}`,
		"config":       `"config": {"configurable": {"secrets": {"API_TOKEN": %q}, "mode": "flash"}}`,
		"both contest": `"context": {"secrets": {"API_TOKEN": %q}}, "config": {"configurable": {"secrets": {"API_TOKEN": "another value"}}, "context": {"secrets": {"API_TOKEN": "a third value"}}}`,
	} {
		thread := strings.ReplaceAll(name, " ", "-")
		st := s.stream(t, t.Context(), "/threads/"+thread+"/runs/stream", human(scriptOf(t, secretCommands()...),
			fmt.Sprintf(options, secretValue),
			`"stream_mode": ["messages", "values", "updates", "custom", "events", "debug"]`))
		var all strings.Builder
		for st.line.Scan() {
			all.WriteString(st.line.Text() + "\n")
		}
		if strings.Contains(all.String(), secretValue) || !strings.Contains(all.String(), "it is ****") ||
			!strings.Contains(all.String(), "right") {
			t.Errorf("%s: the stream: %s", name, all.String())
		}
		for _, path := range []string{"/state", "/history", "/runs", ""} {
			a := s.send(t, "GET", "/threads/"+thread+path, "")
			if a.status != http.StatusOK || strings.Contains(a.body, secretValue) ||
				strings.Contains(a.body, "third value") {
				t.Errorf("%s%s: %d %s", name, path, a.status, a.body)
			}
		}
		if got := s.bash(t, thread, `echo "<$API_TOKEN>"`)[0]; got != "<>" {
			t.Errorf("%s: the next run: %q", name, got)
		}
	}
	got := s.tool(t, "context", "read_file", `{"path":"/mnt/user-data/workspace/kept.txt"}`)
	if !strings.Contains(got, secretValue) {
		t.Errorf("a file that the user asked for in a run without secrets: %q", got)
	}
	a := s.send(t, "GET", "/api/audit", "")
	if !strings.Contains(a.body, `"API_TOKEN"`) || strings.Contains(a.body, secretValue) {
		t.Errorf("audit: %s", a.body)
	}
}

// TestNoFileOfTheServerHoldsASecret looks into the database, its log and the server's log,
// while it runs and after it has stopped.
func TestNoFileOfTheServerHoldsASecret(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	s.sandboxed(t)
	body := human(scriptOf(t, append(secretCommands(), "cat kept.txt; rm -rf / $API_TOKEN")...),
		fmt.Sprintf(`"context": {"secrets": {"API_TOKEN": %q}}`, secretValue))
	a := s.send(t, "POST", "/threads/kept/runs/wait", body)
	if a.status != http.StatusOK || strings.Contains(a.body, secretValue) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, bad := range []string{`{"API_TOKEN": 90817263}`, `{"LD_PRELOAD": "` + secretValue + `"}`,
		`{"a b": "` + secretValue + `"}`, `["` + secretValue + `"]`, `"` + secretValue + `"`} {
		a := s.send(t, "POST", "/threads/kept/runs", human("hi", `"context": {"secrets": `+bad+`}`))
		if a.status != http.StatusUnprocessableEntity || strings.Contains(a.body, secretValue) ||
			strings.Contains(a.body, "90817263") || !strings.Contains(a.body, "context.secrets") {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
	if found := writtenDown(t, data, secretValue); len(found) > 0 {
		t.Errorf("while it runs: %v", found)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if found := writtenDown(t, data, secretValue); len(found) > 0 {
		t.Errorf("after it stopped: %v", found)
	}
	if len(writtenDown(t, data, "API_TOKEN")) == 0 {
		t.Error("not even the name is found, so the search finds nothing")
	}
	if strings.Contains(s.log.String(), secretValue) {
		t.Error("the log holds it")
	}
}

// TestARestartLosesSecretsAndTheModelIsTold: a run that waited in line when the server
// stopped runs without them, and the model reads so.
func TestARestartLosesSecretsAndTheModelIsTold(t *testing.T) {
	t.Parallel()
	data, model := t.TempDir(), scriptmodel.Start(t)
	conf := fmt.Sprintf("runs: {resume: mark}\ntitle: {model_name: offline}\nmodels: [{name: script, use: openai, model: script, base_url: %q, api_key: test}]\n",
		model.URL+"/v1")
	s := start(t, conf, func(o *web.Options) { o.Data = data })
	s.sandboxed(t)
	first := s.send(t, "POST", "/threads/line/runs", human(scriptOf(t, "touch begun; sleep 600")))
	if first.status != http.StatusOK {
		t.Fatalf("%d %s", first.status, first.body)
	}
	begun := filepath.Join(data, "threads", "line", "user-data", "workspace", "begun")
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break // a command that had begun is not run again, so the line moves after the restart
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	queued := decoded[struct {
		Run string `json:"run_id"`
	}](t, s.send(t, "POST", "/threads/line/runs", human(scriptOf(t, `echo "<$API_TOKEN>"`),
		fmt.Sprintf(`"context": {"secrets": {"API_TOKEN": %q}}`, secretValue), `"multitask_strategy": "enqueue"`)))
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if found := writtenDown(t, data, secretValue); len(found) > 0 {
		t.Errorf("in %v", found)
	}
	again := start(t, conf, func(o *web.Options) { o.Data = data })
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		r := decoded[struct{ Status string }](t, again.send(t, "GET", "/threads/line/runs/"+queued.Run, ""))
		if r.Status == "success" {
			break
		}
		if r.Status != "pending" && r.Status != "running" || time.Now().After(end) {
			t.Fatalf("the run is %s", r.Status)
		}
	}
	state := again.send(t, "GET", "/threads/line/state", "").body
	if !strings.Contains(state, "<>") {
		t.Errorf("state: %s", state)
	}
	var seen string
	for _, r := range model.Requests() {
		seen += string(r.Body)
	}
	if !strings.Contains(seen, "restarted") || !strings.Contains(seen, "API_TOKEN") ||
		strings.Contains(seen, secretValue) {
		t.Errorf("the model read: %.3000s", seen)
	}
}

// TestWhatIsStoredForLaterRunsTakesNoSecrets: assistants and crons refuse them.
func TestWhatIsStoredForLaterRunsTakesNoSecrets(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	for name, c := range map[string]struct{ path, body string }{
		"assistant":           {"/assistants", `{"graph_id": "lead_agent", "context": {"secrets": {"API_TOKEN": %q}}}`},
		"assistant's options": {"/assistants", `{"graph_id": "lead_agent", "config": {"configurable": {"secrets": {"API_TOKEN": %q}}}}`},
		"cron":                {"/runs/crons", `{"assistant_id": "lead_agent", "schedule": "0 0 1 1 *", "input": {"messages": []}, "context": {"secrets": {"API_TOKEN": %q}}}`},
	} {
		a := s.send(t, "POST", c.path, fmt.Sprintf(c.body, secretValue))
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "never stored") ||
			strings.Contains(a.body, secretValue) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if found := writtenDown(t, data, secretValue); len(found) > 0 {
		t.Errorf("in %v", found)
	}
}
