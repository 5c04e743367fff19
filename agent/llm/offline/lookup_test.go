package offline_test

import (
	"context"
	"testing"

	"fawn/agent/llm/offline"
	"fawn/agent/tools"
	"fawn/sandbox/files"
	"fawn/uploads"
)

// shelf is documents that were converted; a search finds the same whatever it is asked.
type shelf struct {
	uploads.NoDocuments
	names []string
	found uploads.Found
	asked *uploads.Query
}

func (s shelf) Files(_ context.Context, _ uploads.Dir, thread string) (l uploads.List, err error) {
	for _, name := range s.names {
		f := uploads.File{Filename: name, VirtualPath: uploads.Folder + "/" + name,
			Conversion: &uploads.Conversion{State: uploads.Converted}}
		l.Files = append(l.Files, f.WithMarkdown(thread, name+".md"))
	}
	return l, nil
}

func (s shelf) Search(_ context.Context, _ string, q uploads.Query) (uploads.Found, error) {
	*s.asked = q
	return s.found, nil
}

// withDocuments is a desk with converted documents: names and their Markdown.
func withDocuments(t *testing.T, found []uploads.Passage, pairs ...string) (*desk, map[string]string, *uploads.Query) {
	d := newDesk(t, nil)
	s := shelf{found: uploads.Found{Passages: found, Searched: 1}, asked: &uploads.Query{}}
	originals := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		s.names = append(s.names, pairs[i])
		originals[pairs[i]] = "%PDF-1.7\n\x00\x01"
		d.put("uploads/"+pairs[i]+".md", pairs[i+1])
	}
	open := func(thread string) (*files.Files, error) { return d.dirs.Open(thread) }
	d.a.Model, d.a.Tools = offline.New(nil), tools.Builtin(open, tools.DefaultLimits(), s)
	return d, originals, s.asked
}

const lease = `<!-- page 1 -->

# Lease

This lease is made between the owner of the house and the tenant of the house.

<!-- page 2 -->

## Notice

Either party may end this lease with three months' notice in writing to the other party.
The tenant of the house returns the keys to the owner of the house on the last day.
`

func TestDocumentsAreDescribedByPage(t *testing.T) {
	d, list, _ := withDocuments(t, nil, "lease.pdf", lease)
	holds(t, d.say("Summarise it", list), "- Lease (p. 1)", "  - Notice (p. 2)",
		"to the other party. [lease.pdf, p. 2]", "isn't an AI")
	answer := d.say("What does page 2 say?", nil)
	holds(t, answer, "From page 2", "Either party may end this lease", "[lease.pdf, p. 2]", "isn't an AI")
	if n := d.calls(); n["read_file"] != 2 {
		t.Errorf("calls %v", n)
	}
	holds(t, d.say("What is on page 9?", nil), "has nothing to read there: (there is no page 9; there are 2)")
	holds(t, d.say("第2页写了什么？", nil), "第 2 页（原文）", "[lease.pdf, p. 2]", "不是 AI")
}

func TestQuestionsAreAnsweredWithPassages(t *testing.T) {
	d, list, asked := withDocuments(t, []uploads.Passage{
		{File: "lease [1].pdf", Kind: "page", Page: 7, Text: "# Notice\n\nFirst things are always said first here.\nEither party may end this lease with three months' notice in writing."},
		{File: "rates.xlsx", Kind: "sheet", Page: 2, Text: "| kind | months |\n| --- | --- |\n| rent | 1 |\n| notice | 3 |"},
	}, "lease [1].pdf", lease)
	answer := d.say("How long is the notice?", list)
	holds(t, answer, "- Either party may end this lease with three months' notice in writing. [lease \\[1\\].pdf, p. 7]",
		"- notice, 3 [rates.xlsx, sheet 2]", "isn't an AI")
	if asked.Words != "How long is the notice?" || len(asked.Files) != 1 || asked.Files[0] != "lease [1].pdf" {
		t.Errorf("searched %+v", *asked)
	}
	d, list, _ = withDocuments(t, nil, "lease.pdf", lease)
	holds(t, d.say("Where is the zebra?", list), "None of these words")
}

func TestSheetsAreTables(t *testing.T) {
	d, list, _ := withDocuments(t, nil, "book.xlsx",
		"<!-- sheet 1 -->\n\n## Sales\n\n| region | amount |\n| --- | --- |\n| North \\| East | 10 |\n| South \"S\" | 30 |\n| South \"S\" | 5 |\n\n"+
			"<!-- sheet 2 -->\n\n## Empty\n\n<!-- sheet 3 -->\n\n## Days\n\n| day | n |\n| --- | --- |\n| 2024-01-01 | 1 |\n| 2024-01-02 | 2 |\n")
	holds(t, d.say("analyse it", list), "**book.xlsx · Sales** has 3 rows and 2 columns",
		"**book.xlsx · Days** has 2 rows", "sum 45", "Saved: `report.md`, `chart.svg`")
	holds(t, d.output("report.md"), "# book.xlsx · Sales", `North \| East`, `South "S" (2`)
	drawing(t, d.output("chart.svg"))
}
