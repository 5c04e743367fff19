package eval

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/community"
	"fawn/web/webtest"
)

// webOf makes a fixed web of files.
func webOf(t *testing.T, files map[string]string) *Web {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Do(t, put(filepath.Join(dir, filepath.FromSlash(name)), []byte(text)))
	}
	w, err := OpenWeb(dir)
	must.Do(t, err)
	return w
}

func TestNumbersAreComparedByTheirValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1,200": "1200", "1 200": "1200", "1.200.000": "1200000", "1.234,5": "1234.5", "1,234.50": "1234.5", "3,5": "3.5",
		"4.2 million": "4200000", "4,200,000": "4200000", "12 %": "12", "12%": "12", "007": "7", "0.50": "0.5", "two": "2",
		"3rd": "3", "5万": "50000", "1.5 亿": "150000000", "2.0": "2",
	} {
		var got []string
		for _, k := range tokens(text) {
			if k.kind == number {
				got = append(got, k.key)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	a, b := claimOf("on 3 May 2024", names{}), claimOf("on 2024-05-03", names{})
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("a date: %v and %v", a, b)
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"It is 3.5. See a.com. Yes!":         "It is 3.5.|See a.com.|Yes!",
		"Dr. Who came, e.g. at 5 p.m. today": "Dr. Who came, e.g. at 5 p.m. today",
		"第一。第二！third":                        "第一。|第二！|third",
	} {
		webtest.Same(t, text, strings.Join(sentences(text), "|"), want)
	}
}

func TestCitationsOfAllForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"It is 5 [citation:Page](https://a.example/x).":                                     "It is 5. → https://a.example/x",
		"It is 5. [citation:Page](https://a.example/x) More":                                "It is 5. → https://a.example/x",
		"It is 5 [[1]](https://a.example/x) [[2]](https://b.example)":                       "It is 5 → https://a.example/x|It is 5 → https://b.example",
		"The [office](https://a.example/x) says 5.":                                         "The office says 5. → https://a.example/x",
		"It is 5 [1, 2].\n\n## Sources\n\n1. A, https://a.example/x.\n2. https://b.example": "It is 5. → https://a.example/x|It is 5. → https://b.example",
		"It is 5 [1].\n\n[1]: https://a.example/x":                                          "It is 5. → https://a.example/x",
		"- It is 5 (https://a.example/x)\n- no":                                             "It is 5 → https://a.example/x",
		"| Port | 5 | [1](https://a.example/x) |":                                           "Port | 5 → https://a.example/x",
		"```\nIt is 5 https://a.example/x\n```\n![p](https://a.example/p.png) [9]":          "",
		"**销量**为5千吨 [citation:页](https://a.example/x)。其他。":                                  "销量为5千吨。 → https://a.example/x",
	} {
		var got []string
		for _, c := range readAnswer(text).cited {
			got = append(got, c.Claim+" → "+c.URL)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
	r := readAnswer("It is 5 [a](https://a.example). It was 4 before. Nobody knows.")
	if len(r.uncited) != 1 || r.uncited[0] != "It was 4 before." {
		t.Errorf("without a citation: %q", r.uncited)
	}
}

// TestVerdicts compares what is cited with what the pages say.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	w := webOf(t, map[string]string{
		"a.example/port.html": "<title>Port of Hallam</title><nav>9,999</nav><h1>Port of Hallam</h1><p>In 2023 it handled 4,123 thousand tonnes of cargo, the final figure.</p>" +
			"<h2>Depth</h2><p>The quay is 12.5 metres deep.</p><h2>Cargo in thousand tonnes</h2><table><tr><td>2022</td><td>4,000</td></tr></table>",
		"b.example/index.html": "<title>Port of Marrow</title><p>In 2023 the port of Marrow handled 5,000 thousand tonnes of cargo.</p>",
		"c.example/dead.html":  "<title>Dead</title>The port of Hallam has 77 cranes.",
		"web.yaml":             "redirects: {https://old.example/port: https://a.example/port.html}\nstatuses: {https://c.example/dead.html: 410}\n",
	})
	q := Question{Question: "How much cargo did Hallam and Marrow handle?", Sources: []string{"a.example", "c.example"},
		Points:    []Point{{Point: "Hallam handled 4,123 thousand tonnes", Weight: 1}, {Point: "The quay", Any: []string{"12.5 metres"}, Weight: 3}},
		Forbidden: []Forbidden{{Claim: "a wrong figure", Any: []string{"9,999"}, Unless: []string{"wrong"}}}}
	opened := []Opened{{"https://old.example/port", true}, {"https://b.example", true}, {"https://c.example/dead.html", false}}
	for _, c := range []struct {
		claim, url string
		want       Verdict
	}{
		{"Hallam handled 4,123 thousand tonnes in 2023", "https://a.example/port.html", Holds},
		{"Hallam's cargo was 4.123 million tonnes", "https://a.example/port.html", Holds},
		{"Hallam's cargo was 4.123 billion tonnes", "https://a.example/port.html", Unsupported},
		{"Hallam handled 4 million tonnes in 2022", "https://a.example/port.html", Unsupported},
		{"Hallam handled 4,123 tonnes of cargo in 2023", "https://a.example/port.html", Unsupported},
		{"In 2022 Hallam handled 4,000 thousand tonnes", "https://a.example/port.html", Holds},
		{"In Hallam the quay is 12.5 metres deep", "http://old.example/port#depth", Holds},
		{"Hallam handled 4,124 thousand tonnes in 2023", "https://a.example/port.html", Unsupported},
		{"Marrow handled 4,123 thousand tonnes in 2023", "https://a.example/port.html", Unsupported},
		{"Hallam handled 5,000 thousand tonnes in 2023", "https://b.example/", Unsupported},
		{"Marrow handled 5,000 thousand tonnes in 2023", "https://b.example/", Holds},
		{"Hallam handled 9,999 thousand tonnes", "https://a.example/port.html", Unsupported},
		{"The port of Hallam has 77 cranes", "https://c.example/dead.html", Unreachable},
		{"The port of Hallam has 77 cranes", "https://made.example/up", Unreachable},
	} {
		m := Measure(w, q, Answer{Text: c.claim + " [citation:x](" + c.url + ").", Opened: opened})
		if len(m.Citations) != 1 || m.Citations[0].Verdict != c.want {
			t.Errorf("%s by %s: %+v, want %s", c.claim, c.url, m.Citations, c.want)
		}
	}
	m := Measure(w, q, Answer{Text: "The quay of Hallam is 12.5 metres deep [x](https://a.example/port.html), and the port of Marrow handled 5,000 thousand tonnes [y](https://b.example).",
		Opened: opened[:1]})
	if m.Citations[0].Verdict != Holds || m.Citations[1].Verdict != NotOpened || !m.Citations[0].Allowed || m.Citations[1].Allowed {
		t.Errorf("two in a sentence: %+v", m.Citations)
	}
	if covered, all := m.Coverage(); covered != 3 || all != 4 || len(m.Forbidden) != 0 {
		t.Errorf("coverage %v of %v, %v", covered, all, m.Forbidden)
	}
	m = Measure(w, q, Answer{Text: "It is 4,123.", Reports: map[string]string{"r.md": "# R\n\nHallam handled 4,123 thousand tonnes. It handled 9,999 thousand tonnes."}})
	if covered, _ := m.Coverage(); covered != 1 || len(m.Forbidden) != 1 || len(m.Uncited) != 3 {
		t.Errorf("a report: %+v", m)
	}
	m = Measure(w, q, Answer{Text: "That it handled 9,999 thousand tonnes is wrong."})
	if len(m.Forbidden) != 0 {
		t.Errorf("%+v", m.Forbidden)
	}
}

// TestFalseStatementsDoNotHold that are made of true parts: what stands before a link in the midst of a sentence, and figures
// of several sentences of a page.
func TestFalseStatementsDoNotHold(t *testing.T) {
	t.Parallel()
	w := webOf(t, map[string]string{
		"a.example/tarnby.html": "<title>Tarnby</title><h1>Tarnby</h1><p>Tarnby is a town. On 31 December 2018 Tarnby had 160,001 inhabitants. On 31 December 2023 it had 165,690 inhabitants.</p>" +
			"<table><tr><th>Town<th>Inhabitants in 2024</tr><tr><td>Tarnby<td>166,001</tr></table><table><tr><td>2010<td>150,001</tr><tr><td>2011<td>151,002</tr></table>",
		"b.example/welden.html": "<title>Welden</title><p>In 2023 the town of Welden had 5,000 inhabitants.</p>",
	})
	opened := []Opened{{"https://a.example/tarnby.html", true}, {"https://b.example/welden.html", true}}
	const tarnby, welden = "(https://a.example/tarnby.html)", "(https://b.example/welden.html)"
	for text, want := range map[string]string{
		"In 2023, [Tarnby]" + tarnby + " had 999,999 inhabitants.":                                                           "unsupported",
		"In 2023, [Tarnby]" + tarnby + " had 165,690 inhabitants.":                                                           "holds",
		"On 31 December 2018 Tarnby had 165,690 inhabitants [1]" + tarnby + ".":                                              "unsupported",
		"In 2024 Tarnby had 166,001 inhabitants [1]" + tarnby + ".":                                                          "holds",
		"In 2010 Tarnby had 151,002 inhabitants [1]" + tarnby + ".":                                                          "unsupported",
		"On 31 December 2018 Tarnby had 160,001 inhabitants [1]" + tarnby + ".":                                              "holds",
		"In 2023, [Tarnby]" + tarnby + " had 999,999 inhabitants, and [Welden]" + welden + " had 5,000 inhabitants.":         "unsupported holds",
		"In 2023, [Tarnby]" + tarnby + " had 165,690 inhabitants, and [Welden]" + welden + " had 5,001 inhabitants.":         "holds unsupported",
		"In 2023, [Tarnby]" + tarnby + " and [Welden]" + welden + " had 999,999 inhabitants each.":                           "unsupported unsupported",
		"Tarnby had 165,690 inhabitants in 2023 [1]" + tarnby + ", and Welden had 5,000 inhabitants then [2]" + welden + ".": "holds holds",
		"Tarnby had 165,690 inhabitants [1]" + tarnby + " while Welden had 5,000 inhabitants [2]" + welden + " and 7 ports.": "holds unsupported",
	} {
		text = strings.NewReplacer("[1]", "[citation:x]", "[2]", "[citation:y]").Replace(text)
		m := Measure(w, Question{}, Answer{Text: text, Opened: opened})
		var got []string
		for _, c := range m.Citations {
			got = append(got, string(c.Verdict))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s: %+v", text, got, want, m.Citations)
		}
	}
}

// TestPagesOfThisMachineMayChange without all answers being asked again: only those that opened them.
func TestPagesOfThisMachineMayChange(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	now := func(text string) *Web {
		must.Do(t, put(filepath.Join(docs, "README"), []byte(text)))
		return webOf(t, map[string]string{"a.example/index.html": "<p>A", "web.yaml": "folders: {https://docs.example: " + docs + "}\n"})
	}
	a, b := now("one"), now("two")
	own, read := []Opened{{"https://a.example", true}}, []Opened{{"https://docs.example/README", true}}
	if a.own != b.own || a.Sum() == b.Sum() || a.sumOf(own) != b.sumOf(own) || a.sumOf(read) == b.sumOf(read) {
		t.Error("what a folder of this machine says counts for too much or too little")
	}
}

// withoutFolders leaves out the documentation of this machine, which takes a minute to read.
func withoutFolders(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(at)
		if err != nil || !bytes.Contains(b, []byte(debianFiles)) {
			return err
		}
		n++
		return os.WriteFile(at, bytes.ReplaceAll(b, []byte(debianFiles), []byte("/none")), 0o600)
	})
	if err != nil || n != 1 {
		t.Fatalf("%d files name a folder of this machine: %v", n, err)
	}
}

// TestSampleCanBeAnswered: its pages are many, the same for a seed, found by search, moved and gone.
func TestSampleCanBeAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, err := WriteSample(dir, 1)
	if err != nil || made.Pages < 300 || made.Questions < 12 {
		t.Fatalf("%+v %v", made, err)
	}
	if _, err := WriteSample(dir, 1); err == nil {
		t.Error("a folder that is not empty was written to")
	}
	withoutFolders(t, dir)
	s, err := Open(dir)
	must.Do(t, err)
	again, other := t.TempDir(), t.TempDir()
	for seed, at := range map[uint64]string{1: again, 2: other} {
		if _, err := WriteSample(at, seed); err != nil {
			t.Fatal(err)
		}
		withoutFolders(t, at)
	}
	a, err1 := Open(again)
	b, err2 := Open(other)
	if err1 != nil || err2 != nil || a.Web.Sum() != s.Web.Sum() || b.Web.Sum() == s.Web.Sum() {
		t.Errorf("%v %v: pages of a seed", err1, err2)
	}
	for _, q := range s.Questions {
		if slices.ContainsFunc(q.Needs, func(at string) bool { return s.Web.page(at) == nil }) {
			continue
		}
		found := s.Web.Search(q.Question, 10)
		if len(q.Sources) > 0 && !slices.ContainsFunc(found, func(h community.Hit) bool { return q.Allows(s.Web.Resolve(h.URL)) }) {
			t.Errorf("%s: no allowed source is found, but %v", q.ID, found)
		}
	}
	for at, want := range map[string]int{"https://www.hallam.example/": 200, "https://www.hallam.example/harbour.html": 301,
		"https://www.brevik.example/council/2024-03-quay.html": 410, "https://www.hallam.example/none": 404} {
		req, err := http.NewRequest(http.MethodGet, at, nil)
		must.Do(t, err)
		res, err := s.Web.RoundTrip(req)
		if err != nil || res.StatusCode != want {
			t.Errorf("%s: %v %v, want %d", at, res.StatusCode, err, want)
		}
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Error(err)
		}
	}
	webtest.Same(t, "http://ministry.varland.example/harbour-fees/", s.Web.Resolve("http://ministry.varland.example/harbour-fees/"), "https://ministry.varland.example/fees/2024.html")
}

func TestMistakesOfSuitesAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"question: x\n":                                  "points is empty",
		"points: [{point: a}]\n":                         "question is empty",
		"question: x\npoints: [{any: [a]}]\n":            "points[0].point is empty",
		"question: x\npoints: [{point: a}]\nsource: [b]": "source",
		"question: [":                                    "a.yaml",
	} {
		dir := t.TempDir()
		must.Do(t, put(filepath.Join(dir, "questions", "a.yaml"), []byte(text)))
		must.Do(t, put(filepath.Join(dir, "web", "a.example", "index.html"), []byte("x")))
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "fawn eval make") {
		t.Error(err)
	}
}

// FuzzReadAnswer: whatever a model says, it is taken apart.
func FuzzReadAnswer(f *testing.F) {
	f.Add("It is 5 [[1]](https://a.example/x). [2]\n\n## Sources\n1. https://b.example\n| a | https://c |\n```\nx")
	f.Add("5年3月. \U000F0000 [a](http://[::1]) <https://x> 1,2,3 4.5.6 百万 5百万")
	f.Fuzz(func(t *testing.T, text string) {
		r := readAnswer(text)
		for _, c := range r.cited {
			if c.URL == "" || strings.ContainsFunc(c.Claim, mark) {
				t.Errorf("%+v", c)
			}
		}
		claimOf(text, namesOf(text))
	})
}
