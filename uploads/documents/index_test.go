package documents_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"fawn/agent/agenttest/must"
	"fawn/uploads"
	"fawn/uploads/documents"
)

// shelf is an index without a disk, which finds texts that contain the words as they are.
type shelf struct {
	mu       sync.Mutex
	stamps   map[string]string // by thread, a space and the file
	passages []held
	added    int   // calls of Add
	fail     error // what Add returns
}

type held struct {
	thread string
	uploads.Passage
}

func (x *shelf) Files(_ context.Context, thread string) (map[string]string, int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	found, size := map[string]string{}, int64(0)
	for k, stamp := range x.stamps {
		if name, ok := strings.CutPrefix(k, thread+" "); ok {
			found[name] = stamp
		}
	}
	for _, p := range x.passages {
		if p.thread == thread {
			size += int64(len(p.Text))
		}
	}
	return found, size, nil
}

func (x *shelf) Threads(context.Context) (all []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for k := range maps.Keys(x.stamps) {
		thread, _, _ := strings.Cut(k, " ")
		all = append(all, thread)
	}
	return all, nil
}

func (x *shelf) Add(_ context.Context, thread, file, stamp string, list []uploads.Passage) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.added++; x.fail != nil {
		return x.fail
	}
	x.stamps[thread+" "+file] = stamp
	for _, p := range list {
		x.passages = append(x.passages, held{thread, p})
	}
	return nil
}

func (x *shelf) Remove(_ context.Context, thread, file string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.stamps, thread+" "+file)
	x.passages = slices.DeleteFunc(x.passages, func(p held) bool { return p.thread == thread && p.File == file })
	return nil
}

func (x *shelf) Find(_ context.Context, thread string, q uploads.Query) (found []uploads.Passage, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.passages {
		if p.thread == thread && strings.Contains(p.Text, q.Words) {
			found = append(found, p.Passage)
		}
	}
	// By name: the order in which texts were indexed varies, as one may be indexed again after another.
	slices.SortStableFunc(found, func(a, b uploads.Passage) int { return strings.Compare(a.File, b.File) })
	return found, nil
}

// search gives what is found as "cite lines", and what was left out.
func (d *desk) search(words string) (found, left []string) {
	d.t.Helper()
	got := must.Get(d.docs.Search(d.t.Context(), thread, uploads.Query{Words: words, Limit: 9}))(d.t)
	for _, p := range got.Passages {
		found = append(found, fmt.Sprintf("%s %d-%d", p.Cite(), p.First, p.Last))
	}
	for _, l := range got.Left {
		left = append(left, l.File+": "+l.Why)
	}
	return found, left
}

func (d *desk) wantFound(words string, want ...string) {
	d.t.Helper()
	if got, _ := d.search(words); !slices.Equal(got, want) {
		d.t.Errorf("%q is found in %q, want %q", words, got, want)
	}
}

func TestTextsOfDocumentsAreSearched(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf", "b.txt", "c.py", "photo.jpg")
	d.put("b.txt", "first\n\nneedle of plain text\n")
	d.put("c.py", "needle = 1")
	d.put("photo.jpg", "\xff\xd8\xff needle")
	<-d.jobs
	found, left := d.search("needle")
	if len(found) != 2 || !slices.Equal(left, []string{"a.pdf: it is still being converted"}) {
		t.Errorf("found %q without %q", found, left)
	}
	d.out <- documents.Outcome{Text: []byte("<!-- page 1 -->\n\n# One\n\nhay\n\n<!-- page 2 -->\n\nhay\nneedle\n")}
	d.await()
	d.wantFound("needle", "a.pdf, p. 2 9-10", "b.txt, l. 1 1-3", "c.py, l. 1 1-1")
	// Replaced, and its text deleted.
	d.put("c.py", "nothing")
	dir := must.Get(d.dirs.Open(thread))(t)
	defer dir.Close()
	must.Do(t, errors.Join(uploads.Delete(dir, "a.pdf"), d.docs.Remove(t.Context(), dir, thread, "a.pdf")))
	d.wantFound("needle", "b.txt, l. 1 1-3")
	// A copy has its own.
	must.Do(t, errors.Join(d.dirs.Copy(t.Context(), thread, "t2"), d.docs.Copy(t.Context(), thread, "t2")))
	if got, err := d.docs.Search(t.Context(), "t2", uploads.Query{Words: "needle", Limit: 9}); err != nil ||
		len(got.Passages) != 1 {
		t.Errorf("the copy finds %+v: %v", got, err)
	}
	// Nothing is left of a thread that is gone.
	must.Do(t, d.dirs.Remove(thread))
	d.wantFound("needle")
	if files, _, err := d.index.Files(t.Context(), thread); err != nil || len(files) != 0 {
		t.Errorf("of a deleted thread %v is left: %v", files, err)
	}
}

// TestTheIndexMendsItself: what a killed server left in part is made again, once, and what it
// left of deleted threads goes.
func TestTheIndexMendsItself(t *testing.T) {
	d := newDesk(t)
	d.put("b.txt", "needle")
	d.stop()
	d.index.stamps = map[string]string{thread + " b.txt": "", "gone x.txt": "s"}
	d.index.passages = []held{{thread, uploads.Passage{File: "b.txt", Text: "half a needle"}},
		{"gone", uploads.Passage{File: "x.txt"}}}
	d.start()
	d.wantFound("needle", "b.txt, l. 1 1-1")
	added := func() int {
		d.index.mu.Lock()
		defer d.index.mu.Unlock()
		return d.index.added
	}
	before := added()
	d.wantFound("needle", "b.txt, l. 1 1-1")
	if added() != before {
		t.Error("a search indexes what has not changed")
	}
	if got, err := d.docs.Search(t.Context(), "gone", uploads.Query{Limit: 9}); err != nil || len(got.Passages) > 0 {
		t.Errorf("of the thread that is gone: %+v: %v", got, err)
	}
	full := errors.New("disk full")
	d.index.mu.Lock()
	d.index.fail = full
	d.index.mu.Unlock()
	d.put("c.txt", "x")
	if _, err := d.docs.Search(t.Context(), thread, uploads.Query{Words: "needle"}); !errors.Is(err, full) {
		t.Errorf("a failure is told as %v", err)
	}
}

// TestPassagesKeepTheirPlaces: none is long, each says where it stands, and together they are
// the text.
func TestPassagesKeepTheirPlaces(t *testing.T) {
	d := newDesk(t)
	long := strings.Repeat("长行没有空格", 20_000)
	lines := []string{"# Top", "", "short", "```", "# no heading", "```", "", strings.Repeat("words and words ", 200),
		"", "## Below", "text", long, "end"}
	d.put("b.md", strings.Join(lines, "\r\n"))
	found := must.Get(d.docs.Search(t.Context(), thread, uploads.Query{Limit: 9}))(t)
	var all strings.Builder
	last := 1
	for _, p := range found.Passages {
		if len(p.Text) > 2100 || !utf8.ValidString(p.Text) || p.First < last || p.Last < p.First {
			t.Errorf("lines %d to %d, %d bytes: %.60q", p.First, p.Last, len(p.Text), p.Text)
		}
		if want := map[bool]string{true: "Top", false: "Below"}[p.First < 10]; p.Heading != want && p.First > 1 {
			t.Errorf("line %d is below %q", p.First, p.Heading)
		}
		last = p.First
		all.WriteString(p.Text)
	}
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if got, want := bare(all.String()), bare(strings.Join(lines, "")); got != want {
		t.Errorf("passages have %d bytes of %d", len(got), len(want))
	}
	if p := found.Passages[len(found.Passages)-1]; p.Last != len(lines) {
		t.Errorf("the last line is %d of %d", p.Last, len(lines))
	}
}
