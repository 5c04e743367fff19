package skilltool

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"fawn/agent/agenttest/must"
)

// run carries out a command in a folder with files.
func run(t *testing.T, files map[string]string, args ...string) (dir, out, warn string, code int) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "@", dir+"/")
	}
	var stdout, stderr bytes.Buffer
	code = Run(args, &stdout, &stderr)
	return dir, strings.ReplaceAll(stdout.String(), dir+"/", ""), strings.ReplaceAll(stderr.String(), dir+"/", ""), code
}

func TestWhatCannotBeDoneIsSaid(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	must.Get(book.NewSheet("Two"))(t)
	for _, sheet := range []string{"Sheet1", "Two"} {
		must.Do(t, book.SetCellValue(sheet, "A1", "x"))
	}
	b := must.Get(book.WriteToBuffer())(t)
	files := map[string]string{"a.csv": "x,y\na,1\nb,2\n", "text.csv": "x\na\n", "neg.csv": "x,y\na,-1\n",
		"big.csv": "x,y\na,1e200\n", "empty.csv": "",
		"latin.md": "caf\xe9", "far.md": "![x](https://example.com/x.png)", "svg.md": "![x](x.svg)",
		"x.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>", "no.md": "\n", "emoji.md": "smile 😀",
		"two.xlsx": b.String(), "broken.xlsx": "PK"}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"", "Usage:", 0},
		{"what", `no command "what"`, 2},
		{"docx @a.md", "takes other arguments", 2},
		{"chart @a.csv @o.png --colour red", "flag provided but not defined", 2},
		{"pdf @none.md @o.pdf", "no such file", 1},
		{"pdf @latin.md @o.pdf", "not UTF-8", 1},
		{"docx @far.md @o.docx", "only files can be shown", 1},
		{"docx @svg.md @o.docx", "use the PNG", 1},
		{"pdf @svg.md @o.pdf", "use the PNG", 1},
		{"html @svg.md @o.html", "o.html:", 0},
		{"pptx @no.md @o.pptx", "no slides", 1},
		{"pdf @emoji.md @o.pdf", "lack these characters, shown as ?: 😀", 0},
		{"info @empty.csv", "the table is empty", 1},
		{"info @broken.xlsx", "read broken.xlsx", 1},
		{"info @a.md", "only .csv, .tsv and .xlsx", 1},
		{"table @two.xlsx @o.csv", "pick one with --sheet: Sheet1, Two", 1},
		{"table @two.xlsx @o.csv --sheet Three", `no sheet "Three"`, 1},
		{"chart @text.csv @o.svg", "no column of numbers", 1},
		{"chart @a.csv @o.svg --y z", `no column "z"; there are x, y`, 1},
		{"chart @a.csv @o.gif", "must end in .svg or .png", 1},
		{"chart @a.csv @o.svg --type radar", `no chart of type "radar"`, 1},
		{"chart @neg.csv @o.svg --type pie", "negative", 1},
		{"chart @big.csv @o.svg", "too large to draw", 1},
		{"chart @a.csv @o.svg --type scatter", "must hold numbers", 1},
		{"pack @. @o.zip", "end in .skill", 1},
		{"pack @. @o.skill", "has no SKILL.md", 1},
	} {
		dir, out, warn, code := run(t, files, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+warn, c.want) {
			t.Errorf("%s: %d %q %q, want %d %q", c.args, code, out, warn, c.code, c.want)
		}
		if made, _ := filepath.Glob(filepath.Join(dir, ".skilltool-*")); len(made) > 0 {
			t.Errorf("%s: %v stays", c.args, made)
		}
	}
}

func TestNumbersAndCodes(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{"1": "1", " -2.5 ": "-2.5", "1,234,567.8": "1234567.8", "0": "0",
		"0.5": "0.5", "007": "", "1,23": "", "12,345,6": "", ",1": "", "": "", "NaN": "", "inf": "", "0x10": "",
		"1e3": "1000", "1_000": "", "5 %": ""} {
		got := ""
		if v, ok := number(cell); ok {
			got = format(v)
			if v == 1234567.8 {
				got = "1234567.8"
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

// TestBooksOfExcelAreRead as another library writes them, and those written here by that library.
func TestBooksOfExcelAreRead(t *testing.T) {
	t.Parallel()
	f := excelize.NewFile()
	set := func(at string, value any, format string) {
		t.Helper()
		err := f.SetCellValue("Sheet1", at, value)
		if err == nil && format != "" {
			var style int
			if style, err = f.NewStyle(&excelize.Style{CustomNumFmt: &format}); err == nil {
				err = f.SetCellStyle("Sheet1", at, at, style)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	day := time.Date(2024, 3, 31, 18, 0, 0, 0, time.UTC)
	for i, name := range []string{"day", "when", "money", "name", "code", "yes"} {
		set(string(rune('A'+i))+"1", name, "")
	}
	set("A2", day.Truncate(24*time.Hour), "yyyy-mm-dd")
	set("B2", day, "d/m/yy h:mm")
	set("C2", 1234.5678, "[$€-407] #,##0.00 \"days\"")
	set("D2", "Müller & <Söhne>", "")
	set("E2", "007", "")
	set("F2", true, "")
	set("D4", "after an empty row", "")
	b := must.Get(f.WriteToBuffer())(t)
	dir, out, warn, code := run(t, map[string]string{"a.xlsx": b.String()}, "table", "@a.xlsx", "@a.csv")
	const want = "day,when,money,name,code,yes\n2024-03-31,2024-03-31 18:00:00,1234.5678,Müller & <Söhne>,007,TRUE\n,,,after an empty row,,\n"
	if got, err := os.ReadFile(filepath.Join(dir, "a.csv")); err != nil || string(got) != want {
		t.Errorf("%d %q %q %v\n%s", code, out, warn, err, got)
	}
	var stdout, stderr bytes.Buffer
	if code := Run([]string{"table", filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.xlsx")},
		&stdout, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	back := must.Get(excelize.OpenFile(filepath.Join(dir, "b.xlsx")))(t)
	defer back.Close()
	rows, err := back.GetRows("Sheet1", excelize.Options{RawCellValue: true})
	if err != nil || len(rows) != 3 ||
		strings.Join(rows[1], "|") != "45382|45382.75|1234.5678|Müller & <Söhne>|007|TRUE" {
		t.Errorf("%v %v", rows, err)
	}
	if shown, err := back.GetRows("Sheet1"); err != nil || strings.Join(shown[1][:3], "|") != "2024-03-31|2024-03-31 18:00:00|1,234.57" {
		t.Errorf("%v %v", shown, err)
	}
	if kind, err := back.GetCellType("Sheet1", "C2"); err != nil || kind == excelize.CellTypeInlineString {
		t.Errorf("a number became %v, %v", kind, err)
	}
}

func TestTablesOfOtherEncodingsAndSeparators(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a b-2024.csv": "\xef\xbb\xbfStadt;Zahl;Zahl\r\nZürich;1;2\r\nBern;2\r\n",
		"gb.csv": "\xb3\xc7\xca\xd0,n\n\xb1\xb1\xbe\xa9,1\n", "win.csv": "caf\xe9\ta\nx\ty\n"}
	_, out, warn, code := run(t, files, "sql", `SELECT Stadt, Zahl, Zahl_2 FROM a_b_2024 ORDER BY 2 DESC`,
		"@a b-2024.csv")
	if want := "Stadt | Zahl | Zahl_2\nBern | 2 | \nZürich | 1 | 2\n"; out != want || code != 0 {
		t.Errorf("%q %q, want %q", out, warn, want)
	}
	if _, out, _, _ := run(t, files, "info", "@gb.csv", "@win.csv"); !strings.Contains(out, "城市: text") ||
		!strings.Contains(out, "北京 | 1") || !strings.Contains(out, "café: text") {
		t.Error(out)
	}
}

func TestChartsOfAllKinds(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.csv": "x,y,z\n1,5,\n2,-3,2\n3,,4\n", "p.csv": "x,y\na,1\nb,0\n销,3\n",
		"one.csv": "x,y\na,0\n"}
	for _, args := range []string{"@a.csv --type bar", "@a.csv --type hbar", "@p.csv --type stacked", "@p.csv --type donut --unit k", "@a.csv --type line", "@a.csv --type area",
		"@a.csv --type scatter --x x --y y,z", "@p.csv --type pie --title T", "@one.csv --type line",
		"@one.csv --type bar"} {
		for _, format := range []string{"svg", "png"} {
			dir, _, warn, code := run(t, files,
				append([]string{"chart"}, strings.Fields(strings.Replace(args, ".csv", ".csv @o."+format, 1))...)...)
			if code != 0 || strings.Contains(warn, "销") != (format == "png" && strings.Contains(args, "pie") && machineFont() == nil) {
				t.Errorf("%s %s: %q", args, format, warn)
			}
			b := must.Get(os.ReadFile(filepath.Join(dir, "o."+format)))(t)
			if format == "svg" && (strings.Contains(string(b), "NaN") || !bytes.HasSuffix(b, []byte("</svg>\n"))) {
				t.Errorf("%s: %s", args, b)
			}
			if format == "png" {
				if img, err := png.Decode(bytes.NewReader(b)); err != nil || img.Bounds().Dx() != chartWide*sharp {
					t.Errorf("%s: %v", args, err)
				}
			}
		}
	}
}

// chartKinds is a deck with a chart of each kind, a table, notes and a slide of nothing but a title.
func chartKinds() string {
	text := "# 销售额 Sales\n\nJane\n"
	for _, kind := range []string{"bar", "hbar", "stacked", "line", "area", "scatter", "pie", "donut"} {
		text += "\n---\n\n## " + kind + "\n\n```chart\ntype: " + kind + "\ntitle: A title\nunit: k€\n\nx,销量,b\n1,1250.5,3\n2,,4\n3,7,5\n```\n\nNotes:\n\nSay " + kind + "\n"
	}
	return text + "\n---\n\n## Only a title\n\n---\n\n## Numbers\n\n| Name | Value | Code |\n|---|---|---:|\n| a | 1,200.5 | x |\n| b | −3 % | y |\n"
}

// TestChartsAreOfficesOwn: each is a part with its numbers in a book, which is referred to; notes and numbers of slides are there.
func TestChartsAreOfficesOwn(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pptx", "docx"} {
		dir, _, warn, code := run(t, map[string]string{"a.md": chartKinds()}, kind, "@a.md", "@o."+kind)
		if code != 0 || warn != "" {
			t.Fatalf("%s: %d %s", kind, code, warn)
		}
		z := must.Get(zip.OpenReader(filepath.Join(dir, "o."+kind)))(t)
		defer z.Close()
		all := map[string]string{}
		for _, f := range z.File {
			r := must.Get(f.Open())(t)
			var b bytes.Buffer
			must.Get(b.ReadFrom(r))(t)
			all[f.Name] = b.String()
		}
		root := map[string]string{"pptx": "ppt", "docx": "word"}[kind]
		for i, tag := range []string{`barDir val="col"`, `barDir val="bar"`, `grouping val="stacked"`, "lineChart", "areaChart", "scatterChart", "pieChart", "doughnutChart"} {
			name := fmt.Sprintf("chart%d", i+1)
			text := all[root+"/charts/"+name+".xml"]
			if !strings.Contains(text, tag) || !strings.Contains(text, "<c:v>1250.5</c:v>") {
				t.Errorf("%s: %s has no %s: %.300s", kind, name, tag, text)
			}
			if !strings.Contains(all[root+"/charts/_rels/"+name+".xml.rels"], "embeddings/"+name+".xlsx") ||
				!strings.HasPrefix(all[root+"/embeddings/"+name+".xlsx"], "PK") {
				t.Errorf("%s: %s has no book", kind, name)
			}
		}
		if kind == "docx" {
			if !strings.Contains(all["word/footer1.xml"], "NUMPAGES") || !strings.Contains(all["word/document.xml"], `<w:jc w:val="right"/>`) {
				t.Error("no numbers of pages, or numbers to the left")
			}
			continue
		}
		if !strings.Contains(all["ppt/notesSlides/notesSlide2.xml"], "Say bar") || strings.Contains(all["ppt/slides/slide2.xml"], "Say bar") {
			t.Error("the notes are not where they belong")
		}
		if !strings.Contains(all["ppt/slides/_rels/slide10.xml.rels"], "slideLayout1.xml") {
			t.Error("a title alone is no divider")
		}
		table := all["ppt/slides/slide11.xml"]
		if !strings.Contains(table, `type="slidenum"`) || strings.Count(table, `algn="r"`) != 6 {
			t.Errorf("numbers of slides, or of tables: %d", strings.Count(table, `algn="r"`))
		}
	}
}

// TestHeadingsStayWithWhatTheyAreAbove: none is the last line of a page of a PDF, wherever the page ends.
func TestHeadingsStayWithWhatTheyAreAbove(t *testing.T) {
	t.Parallel()
	things := []string{"Words.", "| a | b |\n|---|---|\n| 1 | 2 |", "```chart\n\nx,y\na,1\n```", "```\ncode\n```", "- item"}
	for n := range 50 {
		text := "# T\n\n" + strings.Repeat("Line.\n\n", n) + "## Head\n\n### Lower\n\n" + things[n%len(things)] + "\n"
		d := must.Get(parse([]byte(text), ""))(t)
		f := must.Get(newPDF())(t)
		p := &paper{pdf: f, marks: map[[2]int]int{}}
		p.turn()
		head := 0
		for i, b := range d.blocks {
			if b.kind == heading {
				p.need(p.together(d.blocks[i:]))
			}
			must.Do(t, p.block(b, i))
			if b.kind == heading {
				head = len(f.pages)
			} else if i > 0 && d.blocks[i-1].kind == heading && len(f.pages) != head {
				t.Errorf("after %d lines: %q begins another page than its heading", n, things[n%len(things)])
			}
		}
	}
}

// TestLettersOfTheMachineAreInsidePDFs, if it has a font with them; else it is said that they are not.
func TestLettersOfTheMachineAreInsidePDFs(t *testing.T) {
	t.Parallel()
	dir, _, warn, code := run(t, map[string]string{"a.md": "# 中文标题\n\n正文 **粗体**。\n"}, "pdf", "@a.md", "@o.pdf")
	b, err := os.ReadFile(filepath.Join(dir, "o.pdf"))
	if err != nil || code != 0 {
		t.Fatal(err, code)
	}
	inside := bytes.Contains(b, []byte("/Type3"))
	if has := machineFont() != nil; inside != has || has == strings.Contains(warn, "not inside") || inside == bytes.Contains(b, []byte("STSong")) {
		t.Errorf("a font: %v, inside: %v, %q", has, inside, warn)
	}
}

// TestTextsOfSlidesStandWhereTheyWere: what follows a table is below it, a quote is a field at the end.
func TestTextsOfSlidesStandWhereTheyWere(t *testing.T) {
	t.Parallel()
	const deck = "## Title\n\nBefore.\n\n| a | b |\n|---|---|\n| cell | 1 |\n\nBehind.\n\n> Decide.\n"
	dir, _, warn, code := run(t, map[string]string{"a.md": deck}, "pptx", "@a.md", "@o.pptx")
	z, err := zip.OpenReader(filepath.Join(dir, "o.pptx"))
	if err != nil || code != 0 {
		t.Fatal(err, warn)
	}
	defer z.Close()
	r := must.Get(z.Open("ppt/slides/slide1.xml"))(t)
	var b bytes.Buffer
	must.Get(b.ReadFrom(r))(t)
	at := func(word string) (y int) {
		head, _, found := strings.Cut(b.String(), ">"+word+"<")
		if !found {
			t.Fatalf("no %s in %s", word, b.String())
		}
		i := strings.LastIndex(head, "<a:off ")
		if _, err := fmt.Sscanf(head[i:], `<a:off x="711200" y="%d"/>`, &y); err != nil {
			t.Fatal(err, head[i:])
		}
		return y
	}
	if before, cell, behind, decide := at("Before."), at("cell"), at("Behind."), at("Decide."); before >= cell || cell >= behind || behind >= decide {
		t.Error(before, cell, behind, decide)
	}
}

func TestSlidesBeginAtLinesOrHeadings(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"# A\n\nby me\n---\n## B\n- x\n\n```\n---\n# no\n```\n---\n\n---\nrest": "A* B -",
		"# A\n## B\ntext\n## C\n### no\n":                                       "A* B C",
		"---\ntitle: T\n---\n# A\n---\n# B\n- x":                                "A* B",
		"---\n# A\n---\n# B":                                                    "A* B*",
	} {
		d := must.Get(parse([]byte(source), ""))(t)
		list := must.Get(d.slides())(t)
		var got []string
		for _, s := range list {
			name := plain(s.title)
			if name == "" {
				name = "-"
			}
			if s.cover {
				name += "*"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}

// FuzzDocuments: whatever the text, each document is made or refused, and can be opened.
func FuzzDocuments(f *testing.F) {
	f.Add("# A\n\n- **b** `c`\n  1. d\n\n|a|b|\n|-|-|\n|1|2|3|\n\n> q\n\n---\n\n```\ncode\n```\n[l](http://x)<br>\\* &amp; 中文한국 \x00\t")
	f.Add("|\n|-|\n")
	f.Add("```chart\ntype: pie\n\nx,y\na,1\n```\n```chart\nfile: /etc/passwd\n```\nNotes:\n# x")
	f.Add(strings.Repeat("> ", 50) + strings.Repeat("w", 300))
	f.Fuzz(func(t *testing.T, source string) {
		d, err := parse([]byte(source), t.TempDir())
		if err != nil {
			return
		}
		var warn bytes.Buffer
		for name, write := range map[string]func(call, *doc) ([]byte, error){"docx": writeDocx, "pptx": writePptx,
			"pdf": writePDF, "html": writePage, "deck": writeDeck, "xlsx": writeXlsx} {
			b, err := write(call{warn: &warn}, d)
			if err != nil {
				continue
			}
			if strings.HasSuffix(name, "x") {
				if _, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}
