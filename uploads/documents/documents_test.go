package documents_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
	"fawn/uploads"
	"fawn/uploads/convert"
	"fawn/uploads/documents"
)

// memory is a store without a disk.
type memory struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (m *memory) Values(_ context.Context, prefix string) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := maps.Clone(m.values)
	maps.DeleteFunc(found, func(k string, _ []byte) bool { return !strings.HasPrefix(k, prefix) })
	return found, nil
}

func (m *memory) Put(_ context.Context, key string, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[key] = body; body == nil {
		delete(m.values, key)
	}
	return nil
}

// desk is a thread with uploads and a converter that does as it is told.
type desk struct {
	t     *testing.T
	dirs  files.Dirs
	store *memory
	index *shelf
	docs  *documents.Service
	jobs  chan documents.Job
	out   chan documents.Outcome
	stop  func()
	n     int // documents made to wait for
}

const thread = "t1"

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, dirs: files.Dirs{Root: t.TempDir()}, store: &memory{values: map[string][]byte{}},
		index: &shelf{stamps: map[string]string{}}}
	must.Do(t, d.dirs.Create(thread))
	d.start()
	return d
}

// start makes a service on what is stored, as a server does.
func (d *desk) start() {
	jobs, out := make(chan documents.Job), make(chan documents.Outcome)
	d.jobs, d.out = jobs, out
	d.docs = documents.New(documents.Config{Store: d.store, Index: d.index, Cache: filepath.Join(d.dirs.Root, "shown"),
		Log:  slog.New(slog.DiscardHandler),
		Open: func(thread string) (documents.Dir, error) { return d.dirs.Open(thread) },
		Convert: func(ctx context.Context, j documents.Job) (documents.Outcome, error) {
			select {
			case jobs <- j:
			case <-ctx.Done():
				return documents.Outcome{}, ctx.Err()
			}
			select {
			case o := <-out:
				return o, nil
			case <-ctx.Done():
				return documents.Outcome{}, ctx.Err()
			}
		}})
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { d.docs.Run(ctx) })
	d.stop = func() { cancel(); work.Wait() }
	d.t.Cleanup(d.stop)
}

func (d *desk) put(name, text string) {
	d.t.Helper()
	must.Do(d.t, os.WriteFile(filepath.Join(d.dirs.Root, "threads", thread, "user-data", "uploads", name),
		[]byte(text), 0o600))
}

func (d *desk) add(names ...string) {
	d.t.Helper()
	for _, n := range names {
		d.put(n, "x")
	}
	must.Do(d.t, d.docs.Add(d.t.Context(), thread, names...))
}

func (d *desk) await() {
	d.t.Helper()
	must.Do(d.t, d.docs.Await(d.t.Context(), thread))
}

// files are the uploads with their states and texts.
func (d *desk) files() (all []string) {
	d.t.Helper()
	dir := must.Get(d.dirs.Open(thread))(d.t)
	defer dir.Close()
	list := must.Get(d.docs.Files(d.t.Context(), dir, thread))(d.t)
	for _, f := range list.Files {
		s := f.Filename
		if f.Conversion != nil {
			s += " " + f.Conversion.State + f.Conversion.Reason
		}
		if f.MarkdownFile != "" {
			s += " " + f.MarkdownFile
		}
		all = append(all, s)
	}
	return all
}

func (d *desk) want(items ...string) {
	d.t.Helper()
	if got := d.files(); !slices.Equal(got, items) {
		d.t.Errorf("files are %q, want %q", got, items)
	}
}

func TestDocumentsGetAText(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf", "b.py", "c.docx")
	j := <-d.jobs
	if b, err := io.ReadAll(j.File); j.Name != "a.pdf" || err != nil || string(b) != "x" {
		t.Errorf("job %q with %q: %v", j.Name, b, err)
	}
	d.want("a.pdf pending", "b.py", "c.docx pending")
	d.out <- documents.Outcome{Text: []byte("# A")}
	<-d.jobs
	d.out <- documents.Outcome{Text: []byte("# C"), Reason: convert.Long}
	d.await()
	d.want("a.pdf converted a.pdf.md", "b.py", "c.docx partiallong c.docx.md")
	dir := must.Get(d.dirs.Open(thread))(t)
	defer dir.Close()
	if b, err := dir.ReadFile(t.Context(), files.Uploads+"/a.pdf.md", 100); string(b) != "# A" || err != nil {
		t.Errorf("the text is %q: %v", b, err)
	}
	must.Do(t, errors.Join(uploads.Delete(dir, "a.pdf"), d.docs.Remove(t.Context(), dir, thread, "a.pdf")))
	d.want("b.py", "c.docx partiallong c.docx.md")
}

func TestAFailureIsTold(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf")
	<-d.jobs
	d.out <- documents.Outcome{Reason: convert.Encrypted}
	d.await()
	d.want("a.pdf failedencrypted")
}

func TestAnEmptyDocumentIsOne(t *testing.T) {
	d := newDesk(t)
	d.put("a.pdf", "")
	must.Do(t, d.docs.Add(t.Context(), thread, "a.pdf"))
	<-d.jobs
	d.out <- documents.Outcome{Reason: convert.Damaged}
	d.await()
	d.want("a.pdf faileddamaged")
}

func TestTheFilesOfPeopleAreNeverOverwritten(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf.md", "a.pdf")
	<-d.jobs
	d.out <- documents.Outcome{Text: []byte("one")}
	d.await()
	d.want("a.pdf converted a.pdf_1.md", "a.pdf.md")
	d.put("a.pdf_1.md", "mine")
	d.add("a.pdf_1.md")
	<-d.jobs
	d.out <- documents.Outcome{Text: []byte("two")}
	d.await()
	d.want("a.pdf converted a.pdf_2.md", "a.pdf.md", "a.pdf_1.md")
}

func TestAReplacedDocumentIsConvertedAnew(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf")
	<-d.jobs
	d.add("a.pdf")
	d.out <- documents.Outcome{Text: []byte("old")}
	<-d.jobs
	d.want("a.pdf pending")
	d.out <- documents.Outcome{Text: []byte("new")}
	d.await()
	d.want("a.pdf converted a.pdf.md")
}

// TestAConversionGoesOnAfterAStop: once, and to the same place, wherever the first server ended.
func TestAConversionGoesOnAfterAStop(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf")
	<-d.jobs
	d.stop()
	d.put("a.pdf.md", "what the first server had written when it ended")
	d.start()
	<-d.jobs
	d.out <- documents.Outcome{Text: []byte("whole")}
	d.await()
	d.want("a.pdf converted a.pdf.md")
	d.stop()
	d.start()
	d.add("b.pdf")
	if j := <-d.jobs; j.Name != "b.pdf" {
		t.Errorf("%s is converted again", j.Name)
	}
	d.out <- documents.Outcome{Text: []byte("b")}
	d.await()
}

// kill ends the server, which does not say so, and starts the next one.
func (d *desk) kill() {
	d.t.Helper()
	left := must.Get(d.store.Values(d.t.Context(), ""))(d.t)
	d.stop()
	d.store.values = left
	d.start()
}

// TestADocumentThatEndsServersIsGivenUp, soon where nothing of it is read, and later where it gets no further or isn't
// even looked into.
func TestADocumentThatEndsServersIsGivenUp(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf")
	for range 3 {
		j := <-d.jobs
		j.Progress(0, 0)
		d.kill()
	}
	d.await()
	d.want("a.pdf failedcrashed")

	d.add("b.pdf")
	for range 11 {
		j := <-d.jobs
		j.Progress(7, 100)
		d.kill()
	}
	d.await()
	d.want("a.pdf failedcrashed", "b.pdf failedcrashed")

	d.add("c.pdf")
	for range 10 {
		<-d.jobs
		d.kill()
	}
	d.await()
	d.want("a.pdf failedcrashed", "b.pdf failedcrashed", "c.pdf failedcrashed")
}

// TestADocumentIsNotToBlameForKills as long as more of it is read than ever before.
func TestADocumentIsNotToBlameForKills(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf")
	for page := range 20 {
		j := <-d.jobs
		j.Progress(page+1, 100)
		d.kill()
	}
	for range 2 { // and as long as those before it were not many
		j := <-d.jobs
		j.Progress(0, 0)
		d.kill()
	}
	for range 8 { // and whatever happens before it is looked into
		<-d.jobs
		d.kill()
	}
	<-d.jobs
	d.out <- documents.Outcome{Text: []byte("a")}
	d.await()
	d.want("a.pdf converted a.pdf.md")
}

func TestStopsAreNotTheFaultOfADocument(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf")
	for range 5 {
		j := <-d.jobs
		j.Progress(0, 0)
		d.stop()
		d.start()
	}
	<-d.jobs
	d.out <- documents.Outcome{Text: []byte("a")}
	d.await()
	d.want("a.pdf converted a.pdf.md")
}

func TestDocumentsThatNobodyAddedAreFound(t *testing.T) {
	d := newDesk(t)
	d.put("a.pdf", "x")
	d.put("b.txt", "plain")
	must.Do(t, d.docs.Adopt(t.Context(), thread))
	<-d.jobs
	d.out <- documents.Outcome{Text: []byte("a")}
	d.await()
	d.want("a.pdf converted a.pdf.md", "b.txt")
	must.Do(t, d.docs.Adopt(t.Context(), thread))
	d.want("a.pdf converted a.pdf.md", "b.txt")
}

func TestACopyOfAThreadKnowsItsDocuments(t *testing.T) {
	d := newDesk(t)
	d.add("a.pdf")
	<-d.jobs
	d.out <- documents.Outcome{Text: []byte("a")}
	d.await()
	must.Do(t, errors.Join(d.dirs.Copy(t.Context(), thread, "t2"), d.docs.Copy(t.Context(), thread, "t2")))
	dir := must.Get(d.dirs.Open("t2"))(t)
	defer dir.Close()
	list, err := d.docs.Files(t.Context(), dir, "t2")
	if err != nil || list.Count != 1 || list.Files[0].MarkdownVirtualPath != "/mnt/user-data/uploads/a.pdf.md" ||
		list.Files[0].MarkdownArtifactURL != "/api/threads/t2/artifacts/mnt/user-data/uploads/a.pdf.md" {
		t.Errorf("%+v: %v", list, err)
	}
}
