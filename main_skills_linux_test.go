package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/web/e2e/gate"
	"fawn/web/e2e/scriptmodel"
)

// product is a file that a run with a skill hands over, and what must be in it when it is opened.
type product struct {
	name string
	read bool // by the readers of documents, else as it is
	want []string
}

// errand is one run with a skill.
type errand struct {
	skill    string
	files    map[string]string // that the model writes, in the workspace
	commands []string          // that it runs there
	products []product
	told     []string // by the commands
}

const sales = "Region,Month,Amount,Code\nNorth,2024-01,\"1,200.50\",007\nSouth,2024-01,900,008\nNorth,2024-02,1500,009\nSouth,2024-02,1100,010\n"

// errands use every skill that comes with the program.
func errands() []errand {
	plain := func(skill, file, text string, want ...string) errand {
		return errand{skill: skill, files: map[string]string{"made/" + file: text},
			commands: []string{"cp made/* ../outputs/"}, products: []product{{name: file, want: want}}}
	}
	const report = "---\ntitle: Yearly report\nauthor: Jane Doe\n---\n# Yearly report\n\nThe **north** grew by [a quarter](https://example.com/a), ~~not~~ *surely*.\n\n" +
		"1. First point\n2. Second point\n   - Nested point\n\n| Region | Total |\n|---|---|\n| North | 2700.5 |\n\n> A quoted line\n\n```\ncode line\n```\n\n" +
		"![Sales](chart.png)\n\nПривет, Ελληνικά, 中文文字。\n"
	return []errand{
		{skill: "documents", files: map[string]string{"report.md": report, "sales.csv": sales,
			"missing.md": "![x](no.png)\n"},
			commands: []string{
				"T=/mnt/skills/public/documents/skilltool; $T chart sales.csv chart.png --type bar --x Month --y Amount --title 'Sales' && for f in docx pdf html; do $T $f report.md ../outputs/report.$f; done",
				"/mnt/skills/public/documents/skilltool pdf missing.md ../outputs/missing.pdf; echo code $?; ls ../outputs",
			},
			told: []string{"report.docx:", "picture no.png: ",
				"code 1\nreport.docx\nreport.html\nreport.pdf\n"},
			products: []product{
				{"report.docx", true, []string{"Yearly report", "The **north** grew", "https://example.com/a", "First point", "Nested point", "| North | 2700.5 |", "A quoted line", "code line", "Привет", "中文文字"}},
				{"report.pdf", true, []string{"Yearly report", "north", "a quarter", "First point", "Nested point", "2700.5", "A quoted line", "code line", "Привет, Ελληνικά", "中文文字"}},
				{"report.html", false, []string{"<title>Yearly report</title>", "data:image/png;base64,iVBOR", `<td align="right">2700.5</td>`}},
			}},
		{skill: "slides",
			files: map[string]string{"sales.csv": sales,
				"deck.md": "# Sales grew\n\nJane Doe\n\n---\n\n## The north leads\n\n- Two thirds\n  - of *it*\n\n![Sales](sales.png)\n\n---\n\n## In numbers\n\n| Region | Total |\n|---|---|\n| North | 2700 |\n\n---\n\n## 代码\n\n```\n---\n```\n"},
			commands: []string{"T=/mnt/skills/public/slides/skilltool; $T chart sales.csv sales.png --x Month --y Amount && $T pptx deck.md ../outputs/deck.pptx && $T deck deck.md ../outputs/deck.html"},
			products: []product{
				{"deck.pptx", true, []string{"Sales grew", "Jane Doe", "The north leads", "Two thirds", "In numbers", "2700", "代码"}},
				{"deck.html", false, []string{`id="s4"`, "data:image/png;base64,", `class="cover"`}},
			}},
		{skill: "data-analysis",
			files: map[string]string{"sales.csv": sales,
				"report.md": "# Sales by region\n\nThe north sold most.\n\n![Total](totals.svg)\n"},
			commands: []string{
				"T=/mnt/skills/public/data-analysis/skilltool; $T info sales.csv && $T sql 'SELECT Region, sum(Amount) AS total FROM sales GROUP BY Region ORDER BY total DESC' sales.csv && " +
					"$T sql 'SELECT Region, sum(Amount) AS total FROM sales GROUP BY Region ORDER BY total DESC' sales.csv --out ../outputs/totals.xlsx && $T chart ../outputs/totals.xlsx totals.svg --y total --title '销售' && " +
					"$T html report.md ../outputs/report.html && $T info ../outputs/totals.xlsx",
			},
			told: []string{"Amount: numbers from 900 to 1500", `Code: text, 4 different ("007"`,
				"North | 2700.5\nSouth | 2000\n", "sheet Sheet1: 2 rows, 2 columns"},
			products: []product{
				{"totals.xlsx", true, []string{"North", "2,700.5"}},
				{"report.html", false, []string{"The north sold most.", "data:image/svg+xml;base64,"}},
			}},
		{skill: "skill-creator",
			files: map[string]string{
				"stock-check/SKILL.md":         "---\nname: stock-check\ndescription: Checks the stock\n---\n1. Count.\n",
				"stock-check/scripts/count.sh": "wc -l \"$1\"\n",
				"bad/SKILL.md":                 "---\nname: Bad Name\ndescription: d\n---\n"},
			commands: []string{"T=/mnt/skills/public/skill-creator/skilltool; $T pack stock-check ../outputs/stock-check.skill; $T pack bad ../outputs/bad.skill; echo code $?"},
			told:     []string{"stock-check.skill:", "could not be installed like this\ncode 1"},
			products: []product{
				{"stock-check.skill", false, []string{"PK", "stock-check/SKILL.md", "stock-check/scripts/count.sh"}},
			}},
		plain("deep-research", "report.md", "# Which pump?\n\n**Short answer.** The second [[1]](https://example.com/p).\n", "Short answer", "[[1]](https://example.com/p)"),
		plain("literature-review", "review.md", "# Review\n\nSleep matters (Doe, 2021).\n", "(Doe, 2021)"),
		{skill: "charts",
			files: map[string]string{"sales.csv": sales, "gallery.md": "# Gallery\n\n```chart\ntype: donut\ntitle: Shares\n\nPart,Share\nA,60\nB,40\n```\n\n```chart\ntype: stacked\nfile: sales.csv\nx: Month\ny: Amount\n```\n",
				"bad.md": "```chart\ntype: bar\n```\n"},
			commands: []string{"T=/mnt/skills/public/charts/skilltool; $T chart sales.csv ../outputs/sales.svg --type hbar --x Month --y Amount --unit '€' --title 'By month' && " +
				"$T html gallery.md ../outputs/gallery.html; $T html bad.md ../outputs/bad.html; echo code $?"},
			told: []string{"sales.svg:", "chart: it has no table", "code 1"},
			products: []product{
				{"sales.svg", false, []string{"<svg", "By month", "1,500", "Amount, €"}},
				{"gallery.html", false, []string{`class="chart"`, "data:image/svg+xml;base64,", `alt="Shares"`}},
			}},
		{skill: "newsletter",
			files:    map[string]string{"issue.md": "# The Pump\n\n**Issue 1**\n\n## Prices fell by a tenth\n\nBy 10 %. [Source](https://example.com/p)\n"},
			commands: []string{"/mnt/skills/public/newsletter/skilltool html issue.md ../outputs/issue.html && cp issue.md ../outputs/"},
			products: []product{
				{"issue.html", false, []string{"<title>The Pump</title>", `href="https://example.com/p"`}},
				{"issue.md", false, []string{"Prices fell"}},
			}},
		{skill: "consulting-analysis",
			files: map[string]string{"report.md": "# Enter the market in the north\n\n**Summary.** Yes.\n\n| Option | Value |\n|---|---:|\n| North | 2,700 |\n\n```chart\ntype: bar\ntitle: Value by option\n\nOption,Value\nNorth,2700\nNothing,0\n```\n",
				"deck.md": "# Enter the north\n\n---\n\n## It pays in three years\n\n- Because of volume\n\n```chart\ntype: line\n\nYear,Cash\n1,-5\n2,1\n3,6\n```\n\nNotes:\n\nSay why.\n"},
			commands: []string{"cat /mnt/skills/public/consulting-analysis/references/frames.md | head -1; T=/mnt/skills/public/consulting-analysis/skilltool; $T docx report.md ../outputs/report.docx && $T pptx deck.md ../outputs/deck.pptx"},
			told:     []string{"# Forms", "report.docx:", "deck.pptx:"},
			products: []product{
				{"report.docx", true, []string{"Enter the market in the north", "| North | 2,700 |"}},
				{"deck.pptx", true, []string{"It pays in three years", "Because of volume", "Say why."}},
			}},
		plain("podcast", "script.md", "# Pumps\n\n**A:** They fail at night.\n**B:** Why?\n", "**B:** Why?"),
		plain("image-prompts", "prompts.md", "# A pump\n\nA red pump in the snow, flat vector.\n", "A red pump"),
		plain("video-prompts", "shots.md", "| # | Seconds |\n|---|---:|\n| 1 | 0–4 |\n", "0–4"),
		{skill: "spreadsheets",
			files: map[string]string{"plan.md": "# Plan\n\n| Region | Now | Next |\n|---|---|---|\n| North | 1,200 | =B2*1.5 |\n| **Total** | =SUM(B2:B2) | =SUM(C2:C2) |\n\n```chart\ntype: bar\n```\n",
				"bad.md": "# Plan\n\n| a | b |\n|---|---|\n| 1 | =A2/0 |\n"},
			commands: []string{"T=/mnt/skills/public/spreadsheets/skilltool; $T xlsx plan.md ../outputs/plan.xlsx && $T table ../outputs/plan.xlsx check.csv && cat check.csv; $T xlsx bad.md bad.xlsx"},
			told:     []string{"plan.xlsx:", "North,1200,1800\nTotal,1200,1800\n", "B2: =A2/0 gives #DIV/0!"},
			products: []product{{"plan.xlsx", true, []string{"North", "1,800", "Total"}}}},
		plain("paper-review", "review.md", "# Review: Pumps at night (Doe, 2021)\n\n**Verdict**: major revision.\n", "major revision"),
		plain("repository-research", "report.md", "# Is it alive?\n\nYes, as of 2026-10-01.\n", "as of 2026-10-01"),
		plain("code-documentation", "README.md", "# pump\n\nCounts pumps.\n", "Counts pumps"),
		plain("code-review", "review.md", "**1. [High] Charged twice** — `pay/charge.go:88`\n", "pay/charge.go:88"),
		plain("web-page-builder", "page.html", "<!doctype html><html lang=\"en\"><title>Shop</title><h1>Shop</h1></html>\n", "<h1>Shop</h1>"),
	}
}

// script is what the model does on an errand.
func (e errand) script() string {
	type call struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	}
	type turn struct {
		Calls []call `json:"tool_calls,omitempty"`
		Text  string `json:"text,omitempty"`
	}
	var turns []turn
	add := func(name string, args map[string]any) {
		turns = append(turns, turn{Calls: []call{{name, args}}})
	}
	add("bash",
		map[string]any{"description": "look", "command": "cat /mnt/skills/public/" + e.skill + "/SKILL.md | head -3"})
	names := []string{}
	for name := range e.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		add("write_file", map[string]any{"description": "write", "path": "/mnt/user-data/workspace/" + name,
			"content": e.files[name]})
	}
	for _, c := range e.commands {
		add("bash",
			map[string]any{"description": "run", "command": "cd /mnt/user-data/workspace && { " + c + "; } 2>&1"})
	}
	var paths []string
	for _, p := range e.products {
		paths = append(paths, "/mnt/user-data/outputs/"+p.name)
	}
	add("present_files", map[string]any{"filepaths": paths})
	turns = append(turns, turn{Text: "Here it is."})
	b, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		panic(err)
	}
	return "SCRIPT" + string(b)
}

// TestBundledSkillsMakeWhatTheySay runs each skill in a sandbox, takes what it hands over, and opens it.
func TestBundledSkillsMakeWhatTheySay(t *testing.T) {
	for _, provider := range []string{sandbox.ProviderNamespace, sandbox.ProviderLandlock} {
		t.Run(provider, func(t *testing.T) {
			needs(t, provider)
			dir := openDir(t)
			model := scriptmodel.Start(t)
			conf := file(t, "config.yaml",
				"sandbox: {provider: "+provider+
					"}\nmodels: [{name: script, use: openai, model: script, api_key: test, base_url: \""+model.URL+
					"/v1\"}]\n")
			s := serve(t, nil, "--data", dir, "--config", conf)
			all := errands()
			known := call[struct{ Skills []struct{ Name string } }](t, s, "GET", "/api/skills", "")
			if len(known.Skills) != len(all) {
				t.Errorf("%d skills, tried %d", len(known.Skills), len(all))
			}
			if provider != sandbox.ProviderNamespace { // elsewhere only how programs start differs
				all = all[:2]
			}
			for _, e := range all {
				t.Run(e.skill, func(t *testing.T) { e.run(t, s, model) })
			}
		})
	}
}

func (e errand) run(t *testing.T, s *server, model *scriptmodel.Server) {
	model.Forget()
	values := call[struct {
		Messages  []message
		Artifacts []string
	}](t, s, "POST", "/threads/"+e.skill+"/runs/wait", input("/"+e.skill+" do it "+e.script()))
	said := ""
	for _, m := range values.Messages {
		if m.Type == "tool" {
			said += fmt.Sprint(m.Content) + "\n"
		}
	}
	for _, want := range append(e.told, "name: "+e.skill) {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	told := func(r scriptmodel.Request) bool { // others may be about the errand before
		return strings.Contains(string(r.Body), "The user has chosen the skill `"+e.skill)
	}
	if !slices.ContainsFunc(model.Requests(), told) {
		t.Error("the text of the skill did not come with the message")
	}
	for _, p := range e.products {
		if !slices.Contains(values.Artifacts, "/mnt/user-data/outputs/"+p.name) {
			t.Errorf("%s was not handed over: %v\n%s", p.name, values.Artifacts, said)
			continue
		}
		data := fetch(t, s, "/api/threads/"+e.skill+"/artifacts/mnt/user-data/outputs/"+p.name)
		text := string(data)
		if p.read {
			text = converted(t, s, e.skill, p.name, data)
		}
		for _, want := range p.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %.3000q", p.name, want, text)
			}
		}
		if strings.HasSuffix(p.name, "pptx") || strings.HasSuffix(p.name, "docx") {
			wellFormed(t, p.name, data)
			rendered(t, p.name, data)
		}
	}
}

func fetch(t *testing.T, s *server, path string) []byte {
	t.Helper()
	res, err := s.client.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v %.500s", path, res.StatusCode, err, b)
	}
	return b
}

// converted is the text of a document as the readers of uploads have it.
func converted(t *testing.T, s *server, thread, name string, data []byte) (text string) {
	t.Helper()
	putFile(t, s, thread+"-back", name, string(data))
	until(t, func() bool {
		res, err := s.client.Get(s.url + "/api/threads/" + thread + "-back/artifacts/mnt/user-data/uploads/" +
			name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		text = string(b)
		if res.StatusCode != http.StatusOK {
			time.Sleep(50 * time.Millisecond)
		}
		return err == nil && res.StatusCode == http.StatusOK
	})
	return text
}

// wellFormed looks at the parts of an office document: all of them can be read, and what is
// referred to is there.
func wellFormed(t *testing.T, name string, data []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name, ".xml") || strings.HasSuffix(f.Name, ".rels") {
			if err := parses(text); err != nil {
				t.Errorf("%s: %s: %v", name, f.Name, err)
			}
		}
		if !strings.HasSuffix(f.Name, ".rels") {
			continue
		}
		base := path.Dir(path.Dir(f.Name))
		for _, row := range strings.Split(string(text), "<Relationship ")[1:] {
			_, target, _ := strings.Cut(row, `Target="`)
			target, rest, _ := strings.Cut(target, `"`)
			if strings.Contains(rest, "External") {
				continue
			}
			if _, err := z.Open(path.Join(base, target)); err != nil {
				t.Errorf("%s: %s refers to %s, which is not there", name, f.Name, target)
			}
		}
	}
}

// rendered has an office suite open a document, where there is one and time for it.
func rendered(t *testing.T, name string, data []byte) {
	t.Helper()
	soffice, err := exec.LookPath("soffice")
	if err != nil || !gate.Soaking() {
		return
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), soffice, "-env:UserInstallation=file://"+dir+"/profile", "--headless",
		"--convert-to", "pdf", "--outdir", dir, filepath.Join(dir, name))
	out, err := cmd.CombinedOutput()
	pdf, readErr := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(name, filepath.Ext(name))+".pdf"))
	if err != nil || readErr != nil || !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Errorf("%s: %v %v %s", name, err, readErr, out)
	}
}

func parses(text []byte) error {
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
