package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/web/e2e/scriptmodel"
	"fawn/web/eval"
	"fawn/web/webtest"
)

// evalSuite writes a folder of four questions with pages, and has the scripted model answer each in its own way: well, with
// a number that the page doesn't have, by a page that it never opened, and without half of what is asked for.
func evalSuite(t *testing.T, model *scriptmodel.Server) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("web/stats.example/hallam.html", "<title>Port of Hallam</title><h1>Port of Hallam</h1><p>In 2023 the port of Hallam handled 4,123 thousand tonnes of cargo, which is the final figure.</p>")
	write("web/town.example/index.html", "<title>Town of Hallam</title><p>The quay of Hallam is 12.5 metres deep, and its museum opened in 1931.</p>")
	write("web/web.yaml", "redirects: {https://old.example/hallam: https://stats.example/hallam.html}\n")
	rubric := "points:\n- {point: cargo, any: [\"4,123 thousand tonnes\"]}\n- {point: depth, any: [12.5 metres]}\n" +
		"sources: [stats.example, town.example]\nforbidden:\n- {claim: a wrong figure, any: [\"9,999\"]}\n"
	answers := map[string][]scriptmodel.Turn{
		"1-good": {search("cargo of Hallam"), open("https://old.example/hallam"), open("https://town.example/"),
			{ToolCalls: []scriptmodel.Call{{Name: "write_file", Args: args(map[string]any{"description": "write", "path": "/mnt/user-data/outputs/report.md",
				"content": "# Hallam\n\nThe quay of Hallam is 12.5 metres deep [1].\n\n## Sources\n\n1. Town of Hallam, https://town.example/\n"})}}},
			{ToolCalls: []scriptmodel.Call{{Name: "present_files", Args: args(map[string]any{"filepaths": []string{"/mnt/user-data/outputs/report.md"}})}}},
			{Text: "The port of Hallam handled 4,123 thousand tonnes in 2023 [citation:Port of Hallam](https://stats.example/hallam.html)."}},
		"2-false": {open("https://stats.example/hallam.html"),
			{Text: "The port of Hallam handled 9,999 thousand tonnes in 2023 [citation:Port of Hallam](https://stats.example/hallam.html). The quay is 12.5 metres deep."}},
		"3-unopened": {search("Hallam"),
			{Text: "The port of Hallam handled 4,123 thousand tonnes in 2023 [citation:Port of Hallam](https://stats.example/hallam.html). The quay of Hallam is 12.5 metres deep [citation:Town](https://nowhere.example/)."}},
		"4-half": {open("https://stats.example/hallam.html"), {Gate: "last",
			Rest: "The port of Hallam handled 4,123 thousand tonnes in 2023 [citation:Port of Hallam](https://stats.example/hallam.html)."}},
	}
	for _, id := range []string{"1-good", "2-false", "3-unopened", "4-half"} {
		write("questions/"+id+".yaml", "question: Tell of the port of Hallam, way "+id+"\n"+rubric)
		model.When("way "+id, scriptmodel.Script{Turns: answers[id]})
	}
	return dir
}

func args(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func search(query string) scriptmodel.Turn {
	return scriptmodel.Turn{ToolCalls: []scriptmodel.Call{{Name: "web_search", Args: args(map[string]any{"query": query})}}}
}

func open(url string) scriptmodel.Turn {
	return scriptmodel.Turn{ToolCalls: []scriptmodel.Call{{Name: "web_fetch", Args: args(map[string]any{"url": url})}}}
}

// TestEvalMeasuresResearch with a judge, kills it before the last question is answered, and goes on.
func TestEvalMeasuresResearch(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	model.When("Judge an answer", scriptmodel.Script{Turns: []scriptmodel.Turn{{Text: "```json\n" +
		`{"citations": [{"n": 1, "yes": true, "why": "it says so"}], "points": [{"n": 1, "yes": true}, {"n": 2, "yes": false}], "forbidden": []}` + "\n```"}}})
	dir := evalSuite(t, model)
	conf := file(t, "config.yaml", "channels: {telegram: {enabled: true, bot_token: x}}\n"+strings.Replace(webtest.Model(model), "api_key: test",
		"api_key: test, pricing: {currency: USD, input_per_million: 1000, output_per_million: 2000}", 1))
	command := func(more ...string) []string {
		return append([]string{"eval", dir, "--config", conf, "--data", t.TempDir(), "--judge", "script"}, more...)
	}
	asked := func(id string) (n int) {
		for _, r := range model.Requests() {
			if text := string(r.Body); strings.Contains(text, "way "+id) && !strings.Contains(text, "Judge an answer") {
				n++
			}
		}
		return n
	}

	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a trace was sent") }))
	t.Cleanup(collector.Close)
	cmd := program(t, []string{"LANGFUSE_TRACING=true", "LANGFUSE_PUBLIC_KEY=a", "LANGFUSE_SECRET_KEY=b", "LANGFUSE_BASE_URL=" + collector.URL}, command()...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return asked("4-half") == 2 }) // it waits at the gate
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	before := []int{asked("1-good"), asked("2-false"), asked("3-unopened")}
	if slices.Contains(before, 0) {
		t.Fatalf("asked %v times", before)
	}
	if _, err := os.Stat(filepath.Join(dir, "results", "default", "report.md")); err == nil {
		t.Error("there is a report before the end")
	}

	model.Open("last")
	r := finished(t, program(t, nil, command("--min-citations", "50", "--no-forbidden")...))
	if after := []int{asked("1-good"), asked("2-false"), asked("3-unopened")}; !slices.Equal(before, after) {
		t.Errorf("asked %v times, then %v: what was answered is asked again", before, after)
	}
	if r.code != exitError || strings.Contains(r.stderr, "fawn:") { // a forbidden claim was made
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"4 questions, 2 pages", "1-good      success       2/2 100 %", "2-false     success       0/1 0 %",
		"3-unopened  success       0/2 0 %", "4-half      success       1/1 100 %", "all         4/4 answered  3/6 50 %", " USD "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "results", "default", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	report := webtest.Decode[eval.Report](t, string(b))
	var got []string
	for _, o := range report.Outcomes {
		line := o.Question.ID
		for _, c := range o.Measures.Citations {
			line += " " + string(c.Verdict)
		}
		covered, _ := o.Measures.Coverage()
		got = append(got, fmt.Sprintf("%s, %v points, %d forbidden, %d uncited", line, covered, len(o.Measures.Forbidden), len(o.Measures.Uncited)))
		if o.Answer.Usage.Total == 0 || o.Answer.Cost == nil || o.Answer.Seconds <= 0 {
			t.Errorf("%s: %+v", line, o.Answer)
		}
	}
	want := []string{"1-good holds holds, 2 points, 0 forbidden, 0 uncited", "2-false unsupported, 1 points, 1 forbidden, 1 uncited",
		"3-unopened not_opened unreachable, 2 points, 0 forbidden, 0 uncited", "4-half holds, 1 points, 0 forbidden, 0 uncited"}
	if !slices.Equal(got, want) {
		t.Errorf("%q,\nwant %q", got, want)
	}
	if report.Outcomes[0].Answer.Searches != 1 || *report.Totals.Coverage != 0.75 || report.Totals.JudgeCoverage == nil ||
		*report.Totals.JudgeCoverage != 0.5 || *report.Totals.JudgeHeld != 1 {
		t.Errorf("%+v", report.Totals)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "results", "default", "report.md")); err != nil ||
		!strings.Contains(string(b), "no passage has 9999") || !strings.Contains(string(b), "**not\\_opened**") && !strings.Contains(string(b), "**not_opened**") {
		t.Errorf("%v %s", err, b)
	}

	r = finished(t, program(t, nil, command("--min-citations", "50", "--min-coverage", "75")...)) // nothing is left to ask
	if r.code != exitOK || strings.Count(r.stderr, "kept from before") != 4 {
		t.Errorf("%+v", r)
	}
}

// TestEvalTellsOfMistakes before anything is asked.
func TestEvalTellsOfMistakes(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	dir, conf := evalSuite(t, model), file(t, "config.yaml", webtest.Model(model))
	made := filepath.Join(t.TempDir(), "made")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"eval"}, exitUsage, "eval needs the argument DIR"},
		{[]string{"eval", t.TempDir(), "--config", conf}, exitError, "fawn eval make"},
		{[]string{"eval", dir, "--config", conf, "--model", "none"}, exitUsage, `there is no model "none"`},
		{[]string{"eval", dir, "--config", conf, "--only", "5"}, exitUsage, `there is no question "5"`},
		{[]string{"eval", dir, "--config", file(t, "config.yaml", "")}, exitUsage, "no model is configured"},
		{[]string{"eval", dir, "--config", file(t, "config.yaml", "sandbox: {provider: host, allow_host_bash: true}\n"+webtest.Model(model))},
			exitUsage, "sandbox.provider is host"},
		{[]string{"eval", dir, "--jobs", "0"}, exitUsage, "from 1 to 64"},
		{[]string{"eval", "make", made}, exitOK, ""},
		{[]string{"eval", "make", made}, exitError, "is not empty"},
	} {
		r := finished(t, program(t, nil, append(c.args, "--data", t.TempDir())...))
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: %d %s, want %d %q", c.args, r.code, r.stderr, c.code, c.want)
		}
	}
	if len(model.Requests()) > 0 {
		t.Error("a model was asked")
	}
}
