package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/middleware"
	"fawn/sandbox/files"
)

func budgetBench(t *testing.T, change func(*middleware.OutputBudget)) *bench {
	budget := middleware.DefaultOutputBudget()
	if change != nil {
		change(&budget)
	}
	return newBench(t, func(open func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{middleware.ToolBudget(open, budget)}
	})
}

// stored finds the file a preview names, with its content.
func (b *bench) stored(preview string) (name, content string) {
	b.t.Helper()
	at := regexp.MustCompile(`/mnt/user-data/outputs/\S+?\.(log|txt)`).FindString(preview)
	if at == "" {
		b.t.Fatalf("no path in %q", preview)
	}
	name = strings.TrimPrefix(at, "/mnt/user-data/")
	return name, b.content(name)
}

func lines(n int, format string) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, format+"\n", i+1)
	}
	return s.String()
}

func TestALongResultBecomesAFile(t *testing.T) {
	b := budgetBench(t, nil)
	text := lines(2000, "row %d of what was found") + "ERROR: it broke\n" + lines(1000, "more %d")
	b.says("bash", text)
	r := b.call("bash", `{}`)
	got := r.Content.Text
	name, content := b.stored(got)
	if content != text {
		t.Errorf("the file holds %d bytes of %d", len(content), len(text))
	}
	if ok, err := regexp.MatchString(`^outputs/\.tool-results/bash-[0-9a-f]{12}\.log$`, name); !ok || err != nil {
		t.Errorf("name %s", name)
	}
	want := fmt.Sprintf("[The output of bash is too long to show: %d characters, about %d tokens. All of it is in /mnt/user-data/%s]\n"+
		"Kind: text\nSummary: 3001 lines, the longest with 26 characters\nNotable:\n- line 2001: ERROR: it broke\n\n--- start ---\nrow 1 of what was found\n",
		len(text), len(text)/4, name)
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%.700s", got)
	}
	if !strings.Contains(got,
		"\nmore 1000\n\nThe rest was left out. Read what you need with read_file, path /mnt/user-data/"+name+
			", with start_line and end_line") || len(got) > 3800 {
		t.Errorf("%d bytes, end\n%s", len(got), got[len(got)-400:])
	}
	_, sample, _ := strings.Cut(got, "--- end ---\n")
	if !strings.HasPrefix(sample, "more ") {
		t.Errorf("the end starts inside a line: %.40q", sample)
	}
	b.wants("row 1999 of what was found\n", "read_file", arg{"path": "/mnt/user-data/" + name, "start_line": 1999,
		"end_line": 1999})
}

func TestShortExemptAndOtherContentStays(t *testing.T) {
	b := budgetBench(t, func(o *middleware.OutputBudget) { o.Tools = map[string]int{"quiet": 100, "free": 0} })
	exact := strings.Repeat("é", 12_000)
	b.says("web_search", exact)
	b.says("read_file", exact+"x")
	b.says("free", exact+"x")
	for _, name := range []string{"web_search", "read_file", "free"} {
		if r := b.call(name, `{}`); !strings.HasPrefix(r.Content.Text, exact) {
			t.Errorf("%s was changed: %.80q", name, r.Content.Text)
		}
	}
	blocks := []json.RawMessage{json.RawMessage(`{"type":"text","text":"` + strings.Repeat("x", 50_000) + `"}`)}
	b.says("quiet", strings.Repeat("word ", 100))
	if r := b.call("quiet", `{}`); !strings.Contains(r.Content.Text, "500 characters") || len(r.Content.Text) > 700 {
		t.Errorf("a limit of its own: %q", r.Content.Text)
	}
	b.tools["blocks"] = func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		return agent.Result{Content: agent.Content{Blocks: blocks}}, nil
	}
	if r := b.call("blocks", `{}`); len(r.Content.Blocks) != 1 || len(r.Content.Blocks[0]) < 50_000 {
		t.Error("blocks were changed")
	}
}

func TestNamesOfToolsAndFoldersStayInside(t *testing.T) {
	for _, c := range []struct{ tool, folder, want string }{
		{"../../etc/passwd", "", `^outputs/\.tool-results/passwd-\w{12}\.txt$`},
		{"täg\n", "..", `^outputs/\.tool-results/tg-\w{12}\.txt$`},
		{"工具", "a/b", `^outputs/\.tool-results/tool-\w{12}\.txt$`},
		{"web_fetch", "results", `^outputs/results/web_fetch-\w{12}\.log$`},
	} {
		b := budgetBench(t, func(o *middleware.OutputBudget) { o.Folder = c.folder })
		b.says(c.tool, strings.Repeat("a b\n", 4000))
		name, _ := b.stored(b.call(c.tool, `{}`).Content.Text)
		if ok, err := regexp.MatchString(c.want, name); !ok || err != nil {
			t.Errorf("%q in %q: %s", c.tool, c.folder, name)
		}
	}
}

func TestWithoutAFileBothEndsAreKept(t *testing.T) {
	broken := func(string) (*files.Files, error) { return nil, errors.New("no disk") }
	b := newBench(t, func(func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{middleware.ToolBudget(broken, middleware.DefaultOutputBudget())}
	})
	text := lines(5000, "line %d é")
	b.says("bash", text)
	got := b.call("bash", `{}`).Content.Text
	n := utf8.RuneCountInString(got)
	if n > 11_200 || n < 10_500 || !strings.HasPrefix(got, "line 1 é\n") ||
		!strings.HasSuffix(got, "\nline 5000 é\n") || !strings.Contains(got, "chars omitted from bash output") {
		t.Errorf("%d characters: %.60q … %q", n, got, got[len(got)-60:])
	}
	var omitted int
	_, err := fmt.Sscanf(got[strings.Index(got, "[..."):], "[... %d chars", &omitted)
	if err != nil ||
		omitted+
			n-len("\n[... 12345 chars omitted from bash output; call it again for less at a time ...]\n") !=
			utf8.RuneCountInString(text) {
		t.Errorf("%d omitted of %d, %d shown, %v", omitted, utf8.RuneCountInString(text), n, err)
	}
	b.says("bash", strings.Repeat("x", 20_000))
	if got := b.call("bash", `{}`).Content.Text; len(got) != 20_000 {
		t.Errorf("%d characters are below the limit and were cut", len(got))
	}
}

func TestACutNeverExceedsItsLimit(t *testing.T) {
	for _, limit := range []int{1, 50, 100, 1000, 10_000} {
		b := budgetBench(t, func(o *middleware.OutputBudget) { o.FileChars, o.CutChars = 0, limit })
		b.says("bash", strings.Repeat("wörter\n", 5000))
		if n := utf8.RuneCountInString(b.call("bash", `{}`).Content.Text); n > limit || n < limit/2 {
			t.Errorf("limit %d: %d characters", limit, n)
		}
	}
}

func TestOldLongResultsAreCutInRequestsOnly(t *testing.T) {
	b := budgetBench(t, nil)
	long := strings.Repeat("x", 40_000)
	state := agent.State{Messages: []*agent.Message{
		{ID: "a", Type: agent.TypeAI, ToolCalls: []agent.ToolCall{{ID: "c1", Name: "mcp_tool"}, {ID: "c2", Name: "read_file"}}},
		{ID: "t1", Type: agent.TypeTool, Name: "mcp_tool", ToolCallID: "c1", Content: agent.Text(long)},
		{ID: "t2", Type: agent.TypeTool, Name: "read_file", ToolCallID: "c2", Content: agent.Text(long)},
		{ID: "h", Type: agent.TypeHuman, Content: agent.Text(long)},
	}}
	must.Do(t, b.turn.State.Apply(state))
	var first string
	for range 2 {
		req := must.Get(b.request(t.Context()))(t)
		got := req.Messages[len(req.Messages)-3:]
		n := len(got[0].Content.Text)
		if n > 30_000 || !strings.Contains(got[0].Content.Text, "omitted from mcp_tool output") ||
			got[0].ToolCallID != "c1" {
			t.Errorf("%d characters are sent", n)
		}
		if first != "" && first != got[0].Content.Text {
			t.Error("a later request says it in another way")
		}
		first = got[0].Content.Text
		if got[1].Content.Text != long || got[2].Content.Text != long {
			t.Error("what is not bounded was cut")
		}
	}
	if b.turn.State.Message("t1").Content.Text != long {
		t.Error("the stored message was changed")
	}
}

func TestAPreviewTellsWhatItIs(t *testing.T) {
	pad := strings.Repeat("filler ", 3000)
	for _, c := range []struct{ name, text, want string }{
		{"object", `{"zeta":1,"alpha":{"x":[1,2]},"pad":"` + pad + `"}`, "Kind: json\n*Structure:\n- object with 3 keys: zeta, alpha, pad\n"},
		{"list", `[{"id":1,"name":"a"},{"id":2}` + strings.Repeat(`,{"id":3}`, 3000) + `]`, "Kind: json\n*Structure:\n- list of 3002 items\n- first item: object with 2 keys: id, name\n"},
		{"empty keys", `{"` + strings.Repeat("k", 200) + `":"` + pad + `"}`, "- object with 1 keys: " + strings.Repeat("k", 40) + "\n"},
		{"records", strings.Repeat(`{"a":1,"b":"x"}`+"\n", 2000), "Kind: json lines\n*Structure:\n- first record: object with 2 keys: a, b\n"},
		{"table", "name,size,kind\n" + lines(3000, "a%d,2,3"), "Kind: table\n*Structure:\n- 3 columns: name, size, kind\n"},
		{"headings", "# Top\n\n" + pad + "\n## Sub one\n```\n# no heading\n```\n## Sub two\n", "Kind: markdown\n*Structure:\n- L1: Top\n- L4: Sub one\n- L8: Sub two\n"},
		{"a script is no document", "# a comment\n" + pad + "\n# another\n", "Kind: text\n"},
		{"diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n" + pad, "Kind: diff\n*Structure:\n- b/x\n"},
		{"page", "<!DOCTYPE html><html>" + pad, "Kind: html\n"},
		{"log", lines(1000, "2026-01-02 03:04:05 INFO started %d"), "Kind: log\n"},
		{"many troubles", lines(1000, "warning: number %d"), "Notable:\n- line 1: warning: number 1\n- line 2: warning: number 2\n- line 3: warning: number 3\n- line 4: warning: number 4\n- line 5: warning: number 5\n- and 995 more lines like these\n"},
		{"bytes", strings.Repeat("\x00\x01\xff", 5000), "Kind: binary\n"},
		{"hostile line", "error: a\u2028b\x1b[31m" + pad + "\n", "Notable:\n- line 1: error: a b [31mfiller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := budgetBench(t, nil)
			b.says("tool", c.text)
			got := b.call("tool", `{}`).Content.Text
			at := 0
			for part := range strings.SplitSeq(c.want, "*") {
				i := strings.Index(got[at:], part)
				if i < 0 {
					t.Fatalf("no %q in\n%.600s", part, got)
				}
				at += i
			}
		})
	}
}

func TestAFullDiskCutsInsteadOfFailing(t *testing.T) {
	b := budgetBench(t, nil)
	b.put("outputs/.tool-results", "a file where the folder should be")
	b.says("bash", strings.Repeat("x", 40_000))
	r := b.call("bash", `{}`)
	if r.IsError || !strings.Contains(r.Content.Text, "omitted from bash output") {
		t.Errorf("%v %.80q", r.IsError, r.Content.Text)
	}
	must.Try(os.Stat(filepath.Join(b.host, "outputs", ".tool-results")))(t)
}

func FuzzPreviewIsBounded(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n3,4\n", `{"a":[1,{"b":null}]}`, "# x\n## y\n", "--- a\n+++ b\n",
		"\xff\xfe\x00", "é\u2028", "1234567890:"} {
		f.Add(s, 20)
	}
	dirs := files.Dirs{Root: f.TempDir()}
	must.Do(f, dirs.Create("t1"))
	f.Fuzz(func(t *testing.T, piece string, limit int) {
		if limit < 1 || limit > 20_000 || len(piece) == 0 {
			return
		}
		text := strings.Repeat(piece, min(200, 100_000/len(piece)+1))
		budget := middleware.DefaultOutputBudget()
		budget.FileChars = limit
		run := middleware.ToolBudget(dirs.Open, budget).WrapTool(func(context.Context, *agent.Turn,
			agent.ToolCall) (agent.Result, error) {
			return agent.TextResult(text), nil
		})
		r := must.Get(run(t.Context(), agenttest.Turn("x", &agenttest.Sink{}), agent.ToolCall{Name: "tool"}))(t)
		n := utf8.RuneCountInString(text)
		if n <= limit && r.Content.Text != text || n > limit && utf8.RuneCountInString(r.Content.Text) > limit+6000 {
			t.Fatalf("%d characters of %d, limit %d", utf8.RuneCountInString(r.Content.Text), n, limit)
		}
	})
}
