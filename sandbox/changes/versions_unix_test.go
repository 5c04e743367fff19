//go:build unix

package changes_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/changes"
	"fawn/sandbox/files"
)

// told lists the versions of a file, the oldest first: what made them, and their contents.
func (w *world) versions(name string) string {
	w.Helper()
	list := must.Get(w.history.Versions("t", files.Outputs+"/"+name))(w)
	var out []string
	for i := len(list) - 1; i >= 0; i-- {
		v := list[i]
		text := "lost"
		if data, same, err := w.history.Content("t", files.Outputs+"/"+name, v.ID); err == nil {
			if text = string(data); same.Hash != v.Hash || int64(len(data)) != v.Size || !v.Kept {
				w.Errorf("%+v is %+v, %q", v, same, data)
			}
		}
		out = append(out, strings.TrimSpace(v.Run+" "+v.Tool)+"="+text)
	}
	return strings.Join(out, "; ")
}

// TestAFileHasAVersionAfterEachToolThatChangedIt: by the tool, by what came after the last one, and by people.
func TestAFileHasAVersionAfterEachToolThatChangedIt(t *testing.T) {
	w := open(t)
	note := func(by changes.By) { w.Helper(); must.Do(w, w.history.Note(w.Context(), "t", by)) }
	w.write("outputs/a.md", "zero")
	w.run("r1", func() {
		w.write("outputs/a.md", "one")
		must.Do(w, w.history.Noted(w.Context(), "t", "r1", "c1", "write_file"))
		must.Do(w, w.history.Noted(w.Context(), "t", "r1", "c2", "bash")) // changed nothing
		w.write("outputs/a.md", "two", "outputs/p.bin", "\x00\x01", "outputs/.env", "KEY=1", "workspace/w.txt", "w")
		must.Do(w, w.history.Noted(w.Context(), "t", "r1", "c3", "str_replace"))
		w.write("outputs/a.md", "three")
	})
	w.write("outputs/a.md", "mine")
	note(changes.By{Tool: changes.ByPerson})
	if got, want := w.versions("a.md"), "=zero; r1 write_file=one; r1 str_replace=two; r1=three; person=mine"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := w.versions("p.bin"); got != "r1 str_replace=\x00\x01" {
		t.Errorf("a file that is no text: %q", got)
	}
	for _, name := range []string{".env", "none", "../workspace/w.txt"} {
		if got := w.versions(name); got != "" {
			t.Errorf("%s has versions: %s", name, got)
		}
	}
	if _, _, err := w.history.Content("t", files.Outputs+"/a.md", "../journal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a version of another name: %v", err)
	}
	if list, err := w.history.Versions("other", files.Outputs+"/a.md"); err != nil || len(list) != 0 {
		t.Errorf("a thread without files: %v %v", list, err)
	}
	must.Do(w, os.Remove(filepath.Join(w.at, "outputs/a.md")))
	note(changes.By{})
	w.write("outputs/a.md", "one")
	note(changes.By{Tool: changes.ByRestore})
	if got := w.versions("a.md"); !strings.HasSuffix(got, "person=mine; restore=one") {
		t.Errorf("deleted and restored: %s", got)
	}
}

// TestAFileThatStaysIsReadOnceMore after the moment in which it was noted, and not again.
func TestAFileThatStaysIsReadOnceMore(t *testing.T) {
	w := open(t)
	w.write("outputs/a.md", "one")
	must.Do(w, w.history.Note(w.Context(), "t", changes.By{}))
	root := must.Get(w.dirs.Versions("t"))(w)
	defer root.Close()
	var journal []byte
	for began := time.Now(); bytes.Count(journal, []byte("\n")) < 2; time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("it never settles: %s", journal)
		}
		must.Do(w, w.history.Note(w.Context(), "t", changes.By{}))
		journal = must.Get(root.ReadFile("journal"))(w)
	}
	// Had the file another content than was noted, only who reads it would know.
	other := strings.Repeat("0", 64)
	list := must.Get(w.history.Versions("t", files.Outputs+"/a.md"))(w)
	must.Do(w, root.WriteFile("journal", bytes.ReplaceAll(journal, []byte(list[0].Hash), []byte(other)), 0o600))
	for range 3 {
		must.Do(w, w.history.Note(w.Context(), "t", changes.By{}))
	}
	list = must.Get(w.history.Versions("t", files.Outputs+"/a.md"))(w)
	if len(list) != 1 || list[0].Hash != other {
		t.Errorf("it was read again: %+v", list)
	}
	w.write("outputs/a.md", "two")
	must.Do(w, w.history.Note(w.Context(), "t", changes.By{Tool: "bash"}))
	if got := w.versions("a.md"); got != "=lost; bash=two" {
		t.Errorf("what changes then: %s", got)
	}
}

// TestNumbersOfVersionsStay when there are more than are listed and when the journal drops its older half.
func TestNumbersOfVersionsStay(t *testing.T) {
	w := open(t)
	must.Do(w, w.dirs.CreateVersions("t"))
	root := must.Get(w.dirs.Versions("t"))(w)
	defer root.Close()
	var lines strings.Builder // as they were written without numbers
	for i := range 120 {
		fmt.Fprintf(&lines, `{"path":"/mnt/user-data/outputs/a.md","at":%d,"hash":"%064d"}`+"\n", i+1, i)
	}
	must.Do(w, root.WriteFile("journal", []byte(lines.String()), 0o600))
	newest := func(want int) {
		t.Helper()
		list := must.Get(w.history.Versions("t", files.Outputs+"/a.md"))(w)
		for i, v := range list {
			if v.Number != want-i {
				t.Errorf("version %d from the end has number %d, want %d", i, v.Number, want-i)
			}
		}
		if len(list) == 0 || len(list) > 100 {
			t.Errorf("%d versions", len(list))
		}
	}
	newest(120)
	w.write("outputs/a.md", "one")
	must.Do(w, w.history.Note(w.Context(), "t", changes.By{}))
	newest(121)
	more := must.Get(root.ReadFile("journal"))(w)
	full := strings.Repeat(`{"path":"/mnt/user-data/outputs/b.md","hash":"x"}`+"\n", 21000)
	must.Do(w, root.WriteFile("journal", append([]byte(full), more[bytes.LastIndexByte(more[:len(more)-1], '\n')+1:]...), 0o600))
	w.write("outputs/a.md", "two")
	must.Do(w, w.history.Note(w.Context(), "t", changes.By{}))
	newest(122)
}

// TestTheJournalOfVersionsIsBounded: it drops its older half, whatever stands in it.
func TestTheJournalOfVersionsIsBounded(t *testing.T) {
	w := open(t)
	w.write("outputs/a.md", "one")
	must.Do(w, w.history.Note(w.Context(), "t", changes.By{}))
	root := must.Get(w.dirs.Versions("t"))(w)
	defer root.Close()
	line := `{"path":"/mnt/user-data/outputs/b.md","hash":"x"}` + "\n"
	must.Do(w, root.WriteFile("journal", []byte("not json\n"+strings.Repeat(line, 1<<20/len(line))), 0o600))
	w.write("outputs/a.md", "two")
	must.Do(w, w.history.Note(w.Context(), "t", changes.By{}))
	info := must.Get(root.Stat("journal"))(w)
	if info.Size() > 600<<10 || w.versions("a.md") != "=two" {
		t.Errorf("%d bytes with %s", info.Size(), w.versions("a.md"))
	}
}
