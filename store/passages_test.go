package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// add indexes a file of a thread, each text a page.
func add(t testing.TB, db *store.DB, thread, file string, texts ...string) {
	t.Helper()
	var list []store.Passage
	for i, text := range texts {
		list = append(list, store.Passage{File: file, Kind: "page", Page: i + 1, First: 10 * i, Last: 10*i + 9,
			Heading: "Part", Text: text})
	}
	must.Do(t, db.AddPassages(t.Context(), thread, file, "whole", list))
}

// find gives the places of passages as "file/page".
func find(t testing.TB, db *store.DB, thread, query string, files ...string) (places []string) {
	t.Helper()
	list, err := db.FindPassages(t.Context(), thread, query, files, 5)
	if err != nil {
		t.Fatalf("find %q: %v", query, err)
	}
	for _, p := range list {
		places = append(places, fmt.Sprintf("%s/%d", p.File, p.Page))
	}
	return places
}

func (s suite) PassagesAreFoundByTheirWords(t *testing.T) {
	db := s.open(t)
	add(t, db, "t", "lease.pdf",
		"The tenant pays the rent on the first of each month.",
		"Either party may end the lease with three months' notice. The notice period begins with the month.",
		"The period of the lease is five years.", "Cafe\u0301 owners pay a deposit.")
	add(t, db, "t", "vertrag.docx", "Die Kündigungsfrist beträgt drei Monate.", "Der Mieter zahlt die Miete.")
	add(t, db, "t", "契約.pdf", "本契約の解約通知期間は三か月とする。", "賃料は毎月一日に支払う。", "计算机视觉的研究", "구매자는 계약을 해지할 수 있다",
		"สัญญาเช่ามีอายุห้าปี", "किराया हर महीने")
	add(t, db, "other", "secret.pdf", "The tenant pays nothing, and the notice period is a day.")
	for query, want := range map[string]string{
		"paying rents":                     "lease.pdf/1", // by their stems
		"what is the notice period of it?": "lease.pdf/2", // neighbours in this order
		"café":                             "lease.pdf/4",
		"CAFE":                             "lease.pdf/4",
		"kundigung":                        "vertrag.docx/1", // the beginning of a word
		"解約":                               "契約.pdf/1",
		"通知期間":                             "契約.pdf/1",
		"賃料":                               "契約.pdf/2",
		"払":                                "契約.pdf/2",
		"视觉":                               "契約.pdf/3",
		"究":                                "契約.pdf/3", // the last of its run
		"해지":                               "契約.pdf/4",
		"อายุ":                             "契約.pdf/5",
		"किराया":                           "契約.pdf/6",
		"ＲＥＮＴ":                             "lease.pdf/1",
	} {
		if got := find(t, db, "t", query); len(got) == 0 || got[0] != want {
			t.Errorf("%s: found %v, want %s first", query, got, want)
		}
	}
	got := find(t, db, "t", "pays lease miete", "vertrag.docx", "契約.pdf")
	if !slices.Equal(got, []string{"vertrag.docx/2"}) {
		t.Errorf("in some files: %v", got)
	}
	for _, hostile := range []string{"", `"`, `NEAR(a b)`, "words : x", "*", "a* OR", "-", "\x00", "🙂",
		strings.Repeat("rent ", 10_000), "'; DROP TABLE passage; --"} {
		find(t, db, "t", hostile)
	}
	if got := find(t, db, "t", "zebra"); got != nil {
		t.Errorf("found %v for nothing", got)
	}
	checkClean(t, db)
}

// TestRemovedPassagesAreGone: from searches, and from the files on disk, the words of the index
// too.
// TestAShortNameIsFound: a letter or two in capitals, or with a digit, names something.
func (s suite) AShortNameIsFound(t *testing.T) {
	db := s.open(t)
	var texts []string
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "EU", "Q3"} {
		texts = append(texts,
			fmt.Sprintf("Project %s has a budget of its own. The budget is the last word of the plan for it.", name))
	}
	add(t, db, "t", "plan.pdf", texts...)
	for query, page := range map[string]int{"What is the budget of project G?": 7,
		"What is the budget of project A?": 1, "How large is the EU budget?": 8, "Tell me of q3 and its budget.": 9,
		"What did I say of a budget for G?": 7} {
		if want, got := fmt.Sprintf("plan.pdf/%d", page), find(t, db, "t", query); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v first, want %s", query, got, want)
		}
	}
}

func (s suite) RemovedPassagesAreGone(t *testing.T) {
	dir := t.TempDir()
	db := s.openAt(t, dir)
	var pages []string
	for i := range 40 {
		pages = append(pages, fmt.Sprintf("Xylophonebirds number %d sing.", i))
	}
	add(t, db, "t", "gone.pdf", pages...)
	add(t, db, "t", "kept.pdf", "Others sing too.")
	_, err := os.Stat(filepath.Join(dir, store.FileName))
	file := err == nil // else the database's own cleaning decides when what is deleted goes
	holds := func() (names []string) {
		t.Helper()
		must.Do(t, db.Close())
		for _, name := range must.Get(filepath.Glob(filepath.Join(dir, "*")))(t) {
			if bytes.Contains(bytes.ToLower(must.Get(os.ReadFile(name))(t)), []byte("xylophonebird")) {
				names = append(names, filepath.Base(name))
			}
		}
		db = s.openAt(t, dir)
		return names
	}
	if file && holds() == nil {
		t.Fatal("the text cannot be found where it must be: this test proves nothing")
	}
	must.Do(t, db.RemovePassages(t.Context(), "t", "gone.pdf"))
	if got := find(t, db, "t", "xylophonebirds sing"); !slices.Equal(got, []string{"kept.pdf/1"}) {
		t.Errorf("found %v", got)
	}
	stamps, size, err := db.PassageFiles(t.Context(), "t")
	if err != nil || len(stamps) != 1 || stamps["kept.pdf"] != "whole" || size != int64(len("Others sing too.")) {
		t.Errorf("files %v of %d bytes: %v", stamps, size, err)
	}
	if got := holds(); file && got != nil {
		t.Errorf("%v still have the text", got)
	}
	checkClean(t, db)
}

// TestALongFileGoesInSmallCommits: taking words out of the index is slow, and others want to write
// in between.
func (s suite) ALongFileGoesInSmallCommits(t *testing.T) {
	db := s.open(t)
	var pages []string
	for i := range 30 {
		pages = append(pages, fmt.Sprintf("Page %d", i))
	}
	add(t, db, "t", "long.pdf", pages...)
	left, commits := int64(len(pages)), 0
	for more := true; more; commits++ {
		more = must.Get(db.RemoveSomePassages(t.Context(), "t", "long.pdf"))(t)
		now := must.Get(db.Count(t.Context(), `SELECT count(*) FROM passage`))(t)
		if left-now > 4 || more && now == left {
			t.Fatalf("%d of %d passages are left of %d", now, len(pages), left)
		}
		left = now
	}
	if left != 0 || commits != 9 {
		t.Errorf("%d passages are left after %d commits", left, commits)
	}
}
