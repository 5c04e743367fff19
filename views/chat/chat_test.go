package chat_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"fawn/agent/agenttest/must"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/views/markdown"
)

func render(t *testing.T, c templ.Component) *html.Node {
	t.Helper()
	var b strings.Builder
	must.Do(t, c.Render(i18n.With(context.Background(), "en"), &b))
	doc := must.Get(html.Parse(strings.NewReader(b.String())))(t)
	return doc
}

func find(n *html.Node, ok func(*html.Node) bool) *html.Node {
	if n.Type == html.ElementNode && ok(n) {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if f := find(c, ok); f != nil {
			return f
		}
	}
	return nil
}

func attr(n *html.Node, key string) string {
	if n == nil {
		return "(no element)"
	}
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func byID(n *html.Node, id string) *html.Node {
	return find(n, func(c *html.Node) bool { return attr(c, "id") == id })
}

func text(n *html.Node) string {
	if n == nil {
		return "(no element)"
	}
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(c *html.Node) {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
		for k := c.FirstChild; k != nil; k = k.NextSibling {
			walk(k)
		}
	}
	walk(n)
	return strings.Join(strings.Fields(b.String()), " ")
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestStepsSayWhatHappenedInPlainWords(t *testing.T) {
	for name, c := range map[string]struct {
		step views.Step
		want string
	}{
		"ls":                {views.Step{Tool: "ls", Args: raw(`{"path":"/mnt/user-data/uploads"}`), Lines: 3}, "Listed a folder uploads 3 entries done"},
		"one entry":         {views.Step{Tool: "ls", Args: raw(`{"path":"/mnt/user-data/outputs"}`), Lines: 1}, "Listed a folder outputs 1 entry done"},
		"read lines":        {views.Step{Tool: "read_file", Args: raw(`{"path":"/mnt/user-data/workspace/a.go","start_line":3,"end_line":9}`)}, "Read a.go lines 3–9 done"},
		"write":             {views.Step{Tool: "write_file", Args: raw(`{"path":"a.md"}`), Elapsed: 1500 * time.Millisecond}, "Wrote a.md 1.5 s done"},
		"append":            {views.Step{Tool: "write_file", Args: raw(`{"path":"a.md","append":true}`)}, "Added to a.md done"},
		"edit, running":     {views.Step{Tool: "str_replace", State: views.StepRun, Args: raw(`{"path":"a.md"}`)}, "Editing a.md running"},
		"glob":              {views.Step{Tool: "glob", Args: raw(`{"pattern":"**/*.go","path":"/mnt/user-data/workspace/src"}`), Lines: 2}, "Looked for files **/*.go in src 2 files done"},
		"grep":              {views.Step{Tool: "grep", Args: raw(`{"pattern":"x+"}`), Lines: 1}, "Searched in files x+ 1 match done"},
		"present":           {views.Step{Tool: "present_files", Args: raw(`{"filepaths":["/a/b.md","/a/c.md"]}`)}, "Shared b.md, c.md done"},
		"present, old name": {views.Step{Tool: "present_files", Args: raw(`{"file_paths":["/a/b.md"]}`)}, "Shared b.md done"},
		"bash":              {views.Step{Tool: "bash", Args: raw(`{"command":"make\n  test"}`)}, "Ran make test done"},
		"fetch":             {views.Step{Tool: "web_fetch", State: views.StepFail, Args: raw(`{"url":"https://www.e.org/a/"}`)}, "Read page e.org/a failed"},
		"any other":         {views.Step{Tool: "mcp_weather", Args: raw(`{"x":1}`)}, "Used mcp_weather done"},
		"no arguments yet":  {views.Step{Tool: "read_file", State: views.StepRun}, "Reading running"},
		"broken arguments":  {views.Step{Tool: "read_file", Args: raw(`{"path":`)}, "Read done"},
		"wrong types":       {views.Step{Tool: "grep", Args: raw(`{"pattern":7,"path":["x"]}`)}, "Searched in files done"},
		"reasoning":         {views.Step{Kind: views.StepReasoning, Elapsed: 4 * time.Second}, "Thought 4 s done"},
		"stopped":           {views.Step{Tool: "bash", State: views.StepStop, Args: raw(`{"command":"x"}`)}, "Ran x stopped"},
		"hostile name":      {views.Step{Tool: "<script>\u202ex", Args: raw(`{}`)}, "Used <script>x done"},
	} {
		t.Run(name, func(t *testing.T) {
			c.step.ID, c.step.ThreadID = "c1", "t1"
			if got := text(render(t, chat.StepHead(c.step))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestStepElementsHaveTheIDsOfTheProtocol(t *testing.T) {
	for kind, ids := range map[views.StepKind][]string{views.StepTool: {"s-x", "sh-x", "sd-x"},
		views.StepReasoning: {"r-x", "rh-x", "rd-x", "rt-x"}, views.StepNote: {"n-x", "nt-x"}} {
		doc := render(t, chat.Step(views.Step{ID: "x", ThreadID: "t", Kind: kind, State: views.StepRun, Text: "words"}))
		for _, id := range ids {
			if byID(doc, id) == nil {
				t.Errorf("%s has no element %s", kind, id)
			}
		}
		if got := attr(byID(doc, ids[0]), "class"); got != chat.StepClass(kind, views.StepRun) {
			t.Errorf("%s has class %q", kind, got)
		}
	}
}

func turn(s views.TurnState) views.Turn {
	return views.Turn{ID: "u1", State: s, User: &views.UserMessage{ID: "u1", Text: "<b>hi</b>\n  there"}, Last: true,
		Trail: views.Trail{Open: s == views.TurnRunning, Since: time.Now(), Elapsed: 5 * time.Second,
			Steps: []views.Step{{ID: "c1", ThreadID: "t1", Kind: views.StepTool, Tool: "ls", State: views.StepDone}}},
		Answer: &views.Answer{ID: "a1", Text: "An **answer**"}, Elapsed: 5 * time.Second}
}

func TestTurnStates(t *testing.T) {
	running := render(t, chat.Turn("t1", turn(views.TurnRunning)))
	if a := byID(running, "t-u1"); attr(a, "aria-busy") != "true" || attr(a, "class") != "turn run last" {
		t.Errorf("running turn: %v", a.Attr)
	}
	if got := text(byID(running, "end-u1")); got != "" {
		t.Errorf("a running turn ends with %q", got)
	}
	if got := text(byID(running, "th-u1")); !strings.HasPrefix(got, "Working 1 step") {
		t.Errorf("head: %q", got)
	}
	done := render(t, chat.Turn("t1", turn(views.TurnDone)))
	if a := byID(done, "t-u1"); attr(a, "aria-busy") != "" || attr(a, "class") != "turn done last" {
		t.Errorf("done turn: %v", a.Attr)
	}
	if got := text(byID(done, "th-u1")); got != "Worked for 5 s 1 step" {
		t.Errorf("head: %q", got)
	}
	failed := turn(views.TurnDone)
	failed.Trail.Steps[0].State = views.StepFail
	if got := text(byID(render(t, chat.Turn("t1", failed)), "th-u1")); got != "Worked for 5 s 1 step, 1 failed" {
		t.Errorf("head of a failed step: %q", got)
	}
	if got := text(find(done, func(n *html.Node) bool { return attr(n, "class") == "you" })); got != "<b>hi</b> there" {
		t.Errorf("the message is %q", got)
	}
	stopped := turn(views.TurnStopped)
	if got := text(byID(render(t, chat.Turn("t1", stopped)), "end-u1")); strings.Contains(got, "Continue") ||
		!strings.Contains(got, "You stopped this run") {
		t.Errorf("stopped turn: %q", got)
	}
	stopped.Resume = true
	form := find(render(t, chat.Turn("t1", stopped)), func(n *html.Node) bool { return n.Data == "form" })
	if attr(form, "action") != "/ui/threads/t1/messages" || !strings.Contains(text(form), "Continue") {
		t.Errorf("stopped turn that may go on: %q", text(form))
	}
}

func TestFailedTurnSaysWhyAndWhatToDo(t *testing.T) {
	f := turn(views.TurnFailed)
	for kind, want := range map[views.FailureKind]string{views.FailureAuth: "The API key was rejected",
		views.FailureContext: "too long for this model", "new kind": "This run failed"} {
		f.Failure = &views.Failure{Kind: kind, Cause: "cause \u202eof it", RequestID: "r9"}
		got := text(byID(render(t, chat.Turn("t1", f)), "end-u1"))
		if !strings.Contains(got, want) || !strings.Contains(got, "cause of it") || !strings.Contains(got, "r9") {
			t.Errorf("%s: %q", kind, got)
		}
	}
	f.Failure = nil
	if got := text(byID(render(t, chat.Turn("t1", f)), "end-u1")); !strings.Contains(got, "This run failed") {
		t.Errorf("without a cause: %q", got)
	}
}

func TestComposerPostsWhereItShould(t *testing.T) {
	doc := render(t,
		chat.Dock(views.Composer{ThreadID: "n1", New: true, Text: "a < b",
			Models: []views.ModelChoice{{Name: "a"}, {Name: "b", Label: "B"}}, Model: "b"}))
	form := byID(doc, "compose")
	if attr(form, "action") != "/ui/threads" || attr(form, "enctype") != "multipart/form-data" {
		t.Errorf("form: %v", form.Attr)
	}
	if id := find(form, func(n *html.Node) bool { return attr(n, "name") == "thread" }); attr(id, "value") != "n1" {
		t.Error("the id made beforehand is missing")
	}
	if got := text(byID(doc, "q")); got != "a < b" {
		t.Errorf("box: %q", got)
	}
	isChecked := func(name, value string) bool {
		return find(form, func(n *html.Node) bool {
			return attr(n, "name") == name && attr(n, "value") == value && has(n, "checked")
		}) != nil
	}
	if got := text(byID(doc, "model-name")); got != "B" || !isChecked("model", "b") {
		t.Errorf("chosen model: %q", got)
	}
	if !isChecked("mode", "flash") || isChecked("mode", "pro") || has(byID(doc, "cannot-think"), "hidden") {
		t.Error("a model that cannot think has another mode than flash, or no reason is said")
	}
	doc = render(t, chat.Dock(views.Composer{ThreadID: "t1", Running: true, Stopping: true}))
	if attr(byID(doc, "compose"), "action") != "/ui/threads/t1/messages" {
		t.Error("a thread posts to its messages")
	}
	stop := find(doc, func(n *html.Node) bool {
		return n.Data == "button" && attr(n, "formaction") == "/ui/threads/t1/stop"
	})
	if stop == nil || attr(stop, "aria-label") != "Stopping…" {
		t.Errorf("stop button: %v", stop)
	}
	if byID(doc, "model") != nil {
		t.Error("a menu without a choice")
	}
}

func TestPagesKeepTheirCursor(t *testing.T) {
	doc := render(t,
		chat.ThreadPage(views.ThreadPage{Thread: views.Thread{ID: "t1", Title: "A", Running: true, Cursor: "r.5.9",
			Turns: []views.Turn{turn(views.TurnRunning)}}, Composer: views.Composer{ThreadID: "t1", Running: true}}))
	turns := byID(doc, "turns")
	if attr(turns, "data-cursor") != "r.5.9" || attr(turns, "data-stream") != "/ui/threads/t1/stream" {
		t.Errorf("%v", turns.Attr)
	}
}

func TestStepDetailsShowInputAndOutput(t *testing.T) {
	doc := render(t,
		chat.StepDetails(views.StepBody{Thread: "t1", Step: views.Step{ID: "c1", Tool: "bash", State: views.StepDone,
			Args: raw(`{"command":"ls <x>"}`), Output: "a <b>\n"}, Cut: true, Raw: "/raw"}))
	got := text(doc)
	for _, want := range []string{`"ls <x>"`, "a <b>", "too long to show"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if got := text(render(t,
		chat.StepDetails(views.StepBody{Step: views.Step{State: views.StepDone}}))); got != "No output." {
		t.Errorf("empty: %q", got)
	}
}

// What a page shows of a growing text is what a Differ with MarkdownOptions
// believes it shows.
func TestPageAndDifferAgree(t *testing.T) {
	const src = "A note[^1] and **half"
	for name, c := range map[string]struct {
		element   string
		component templ.Component
	}{
		"answer":    {"m-x", chat.Answer("t1", views.Answer{ID: "x", Text: src, Open: true})},
		"reasoning": {"rt-x", chat.Step(views.Step{ID: "x", ThreadID: "t1", Kind: views.StepReasoning, State: views.StepRun, Text: src, Open: true})},
		"note":      {"nt-x", chat.Step(views.Step{ID: "x", ThreadID: "t1", Kind: views.StepNote, State: views.StepRun, Text: src, Open: true})},
	} {
		d := markdown.NewDiffer(chat.MarkdownOptions("en", "t1", c.element))
		d.Patch(src, false)
		var b strings.Builder
		must.Do(t, c.component.Render(i18n.With(t.Context(), "en"), &b))
		if !strings.Contains(b.String(), d.HTML()) || byID(render(t, c.component), c.element) == nil {
			t.Errorf("%s: page shows\n%s\ndiffer\n%s", name, b.String(), d.HTML())
		}
	}
}

func TestFinishedCallsOfOneToolAreGrouped(t *testing.T) {
	read := func(args string, state views.StepState) views.Step {
		return views.Step{Kind: views.StepTool, Tool: "read_file", State: state, Args: raw(args),
			Elapsed: 200 * time.Millisecond}
	}
	part := read(`{"path":"/mnt/user-data/uploads/a.csv"}`, views.StepDone)
	other := read(`{"path":"b.csv"}`, views.StepDone)
	tool := func(name, args string) views.Step {
		return views.Step{Kind: views.StepTool, Tool: name, State: views.StepDone, Args: raw(args)}
	}
	note := views.Step{Kind: views.StepNote, State: views.StepDone, Text: "words"}
	for name, c := range map[string]struct {
		steps []views.Step
		want  []string // of each node: its line, "" where it is a step of its own
	}{
		"two are no group":    {[]views.Step{part, part}, []string{"", ""}},
		"parts of a file":     {[]views.Step{part, part, part}, []string{"Read uploads/a.csv 3 parts 0.6 s done"}},
		"several files":       {[]views.Step{part, other, part}, []string{"Read 2 files 0.6 s done"}},
		"a failed one parts":  {[]views.Step{part, part, read(`{}`, views.StepFail), part, part, part}, []string{"", "", "", "Read uploads/a.csv 3 parts 0.6 s done"}},
		"a running one waits": {[]views.Step{part, part, part, read(`{}`, views.StepRun)}, []string{"Read uploads/a.csv 3 parts 0.6 s done", ""}},
		"words part":          {[]views.Step{part, part, note, part}, []string{"", "", "", ""}},
		"another tool parts":  {[]views.Step{part, part, tool("ls", `{}`), part}, []string{"", "", "", ""}},
		"commands":            {[]views.Step{tool("bash", `{"command":"a"}`), tool("bash", `{"command":"b"}`), tool("bash", `{"command":"a"}`)}, []string{"Ran 3 commands done"}},
		"one command":         {[]views.Step{tool("bash", `{"command":"a"}`), tool("bash", `{"command":"a"}`), tool("bash", `{"command":"a"}`)}, []string{"Ran a 3 times done"}},
		"an unknown tool":     {[]views.Step{tool("x", `{}`), tool("x", `{}`), tool("x", `{}`)}, []string{"Used x 3 times done"}},
		"helpers":             {[]views.Step{tool("task", `{}`), tool("task", `{}`), tool("task", `{}`)}, []string{"", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.steps {
				c.steps[i].ID, c.steps[i].ThreadID = "c"+string(rune('0'+i)), "t1"
			}
			nodes := chat.Nodes(c.steps)
			if len(nodes) != len(c.want) {
				t.Fatalf("%d nodes, want %d", len(nodes), len(c.want))
			}
			for i, n := range nodes {
				doc := render(t, chat.Trailing(n))
				if byID(doc, n.ID()) == nil {
					t.Errorf("node %d has no element %s", i, n.ID())
				}
				if n.Grouped() != (c.want[i] != "") {
					t.Fatalf("node %d: grouped %t", i, n.Grouped())
				}
				if !n.Grouped() {
					continue
				}
				if got := text(byID(doc, "gh-"+n.Steps[0].ID)); got != c.want[i] {
					t.Errorf("got %q, want %q", got, c.want[i])
				}
				for _, s := range n.Steps {
					if find(byID(doc, "gl-"+n.Steps[0].ID),
						func(e *html.Node) bool { return attr(e, "id") == "s-"+s.ID }) == nil {
						t.Errorf("step %s is not in its group", s.ID)
					}
				}
			}
		})
	}
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}
