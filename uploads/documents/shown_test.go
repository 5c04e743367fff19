package documents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
	"fawn/uploads/convert"
	"fawn/uploads/documents"
)

// shows is what a reader of a file gets: its state, a space and the text.
func (d *desk) shows(name string) string {
	d.t.Helper()
	dir := must.Get(d.dirs.Open(thread))(d.t)
	defer dir.Close()
	c, text := must.Get2(d.docs.Show(d.t.Context(), dir, thread, files.Outputs+"/"+name))(d.t)
	if c == nil {
		return "no document"
	}
	return fmt.Sprintf("%s%s %d/%d %s", c.State, c.Reason, c.Done, c.Pages, text)
}

func (d *desk) make(name, text string) {
	d.t.Helper()
	must.Do(d.t, os.WriteFile(filepath.Join(d.dirs.Root, "threads", thread, "user-data", "outputs", name),
		[]byte(text), 0o600))
}

func (d *desk) wantShown(name, want string) {
	d.t.Helper()
	if got := d.shows(name); got != want {
		d.t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// answer is what the next conversion comes to. It returns when another one has begun or, when
// more is empty, when a document asked for to that end has.
func (d *desk) answer(out documents.Outcome) {
	d.t.Helper()
	d.out <- out
	d.n++
	d.make(fmt.Sprintf("z%d.docx", d.n), fmt.Sprint("another one ", d.n))
	d.shows(fmt.Sprintf("z%d.docx", d.n))
	<-d.jobs
}

func TestDocumentsThatAnAgentMadeAreConvertedWhenTheyAreShown(t *testing.T) {
	d := newDesk(t)
	d.make("a.docx", "one")
	d.make("notes.txt", "plain")
	d.wantShown("notes.txt", "no document")
	d.wantShown("a.docx", "pending 0/0 ")
	j := <-d.jobs
	j.Progress(3, 9)
	d.wantShown("a.docx", "pending 3/9 ")
	d.make("same.docx", "one") // the same content under another name is not read again
	d.wantShown("same.docx", "pending 3/9 ")
	d.answer(documents.Outcome{Text: []byte("# One")})
	d.wantShown("a.docx", "converted 0/0 # One")
	d.wantShown("same.docx", "converted 0/0 # One")
	d.answer(documents.Outcome{Reason: convert.Encrypted})
	d.wantShown("z1.docx", "failedencrypted 0/0 ")

	// What is written over is another document, and one that changes while it is read is read again.
	d.make("a.docx", "two")
	d.wantShown("a.docx", "pending 0/0 ")
	d.out <- documents.Outcome{Text: []byte("# Two of z")}
	if j := <-d.jobs; j.Name != "a.docx" {
		t.Fatalf("reads %s", j.Name)
	}
	d.make("a.docx", "three")
	d.answer(documents.Outcome{Text: []byte("# Three")})
	d.wantShown("a.docx", "pending 0/0 ")
	d.make("a.docx", "two")
	d.wantShown("a.docx", "pending 0/0 ")
	d.make("a.docx", "one")
	d.wantShown("a.docx", "converted 0/0 # One")

	// A folder that was cleared, and a thread that is gone.
	kept := filepath.Join(d.dirs.Root, "shown", thread)
	if list, err := os.ReadDir(kept); err != nil || len(list) != 2 {
		t.Errorf("%d texts are kept: %v", len(list), err)
	}
	must.Do(t, os.RemoveAll(kept))
	d.wantShown("a.docx", "pending 0/0 ")
	must.Do(t, d.docs.Forget(thread))
	d.out <- documents.Outcome{Text: []byte("# Of a thread that is gone")}
	d.wantShown("same.docx", "pending 0/0 ")
	<-d.jobs
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("its texts are there: %v", err)
	}
}

func TestFewDocumentsWaitToBeShown(t *testing.T) {
	d := newDesk(t)
	for i := range 20 {
		d.make(fmt.Sprintf("%02d.docx", i), fmt.Sprint(i))
		d.wantShown(fmt.Sprintf("%02d.docx", i), "pending 0/0 ")
	}
	for i := range 16 {
		if j := <-d.jobs; j.Name != fmt.Sprintf("%02d.docx", i) {
			t.Fatalf("number %d is %s", i, j.Name)
		}
		d.out <- documents.Outcome{Text: []byte("text")}
	}
	d.wantShown("19.docx", "pending 0/0 ") // asked again, it is heard
	if j := <-d.jobs; j.Name != "19.docx" {
		t.Errorf("then %s", j.Name)
	}
}
