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

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
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
	must.Do(t, err)
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
	must.Do(t, err)
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
		webtest.Holds(t, fmt.Sprintf("%s: the stream", name), all.String(), "!"+secretValue, "it is ****", "right")
		for _, path := range []string{"/state", "/history", "/runs", ""} {
			s.send(t, "GET", "/threads/"+thread+path, "").want(t, fmt.Sprintf("%s%s", name, path), http.StatusOK, "!"+secretValue, "!third value")
		}
		webtest.Same(t, fmt.Sprintf("%s: the next run", name), s.bash(t, thread, `echo "<$API_TOKEN>"`)[0], "<>")
	}
	got := s.tool(t, "context", "read_file", `{"path":"/mnt/user-data/workspace/kept.txt"}`)
	webtest.Holds(t, "a file that the user asked for in a run without secrets", got, secretValue)
	s.send(t, "GET", "/api/audit", "").holds(t, "audit", `"API_TOKEN"`, "!"+secretValue)
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
	a.must(t, "the answer", http.StatusOK, "!"+secretValue)
	for _, bad := range []string{`{"API_TOKEN": 90817263}`, `{"LD_PRELOAD": "` + secretValue + `"}`,
		`{"a b": "` + secretValue + `"}`, `["` + secretValue + `"]`, `"` + secretValue + `"`} {
		a := s.send(t, "POST", "/threads/kept/runs", human("hi", `"context": {"secrets": `+bad+`}`))
		a.want(t, bad, http.StatusUnprocessableEntity, "!"+secretValue, "!90817263", "context.secrets")
	}
	if found := writtenDown(t, data, secretValue); len(found) > 0 {
		t.Errorf("while it runs: %v", found)
	}
	must.Do(t, s.stop())
	if found := writtenDown(t, data, secretValue); len(found) > 0 {
		t.Errorf("after it stopped: %v", found)
	}
	if len(writtenDown(t, data, "API_TOKEN")) == 0 {
		t.Error("not even the name is found, so the search finds nothing")
	}
	webtest.Holds(t, "the log holds it", s.log.String(), "!"+secretValue)
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
	s.send(t, "POST", "/threads/line/runs", human(scriptOf(t, "touch begun; sleep 600"))).must(t, "first", http.StatusOK)
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
	must.Do(t, s.stop())
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
	webtest.Holds(t, "state", state, "<>")
	var seen string
	for _, r := range model.Requests() {
		seen += string(r.Body)
	}
	webtest.Holds(t, "the model read", seen, "restarted", "API_TOKEN", "!"+secretValue)
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
		s.send(t, "POST", c.path, fmt.Sprintf(c.body, secretValue)).want(t, name, http.StatusUnprocessableEntity, "never stored", "!"+secretValue)
	}
	if found := writtenDown(t, data, secretValue); len(found) > 0 {
		t.Errorf("in %v", found)
	}
}
