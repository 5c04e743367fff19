package browser_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/sandbox/browser"
)

// TestAPageCannotFillTheDisk checks that a page that downloads without end leaves 20 files, that a large file is not
// kept, and that files which nobody saves go with the next action.
func TestAPageCannotFillTheDisk(t *testing.T) {
	w := newWorld(t, pages{"/": `<button onclick="for (let i = 0; i < 60; i++) setTimeout(() => {
			const a = document.createElement('a'); a.href = window.URL.createObjectURL(new Blob(['x'.repeat(1000)]))
			a.download = 'x' + i; a.click() }, 150 * i)">Fill</button>
		<button onclick="const b = new Blob([new Uint8Array(110 << 20)]), a = document.createElement('a')
			a.href = window.URL.createObjectURL(b); a.download = 'big'; a.click()">Big</button>`}, nil)
	w.open("/")
	v := w.click("Fill")
	time.Sleep(9 * time.Second) // Chromium lets a page begin ten a second
	if n, _ := w.b.Folders("a"); n < 1 || n > 20+len(v.Saved) {
		t.Errorf("%d files are left, %d were given", n, len(v.Saved))
	}
	next := w.act(browser.Action{Kind: browser.Read})
	if len(v.Saved)+len(next.Saved) < 20 || len(v.Saved) > 20 || len(next.Saved) > 20 {
		t.Errorf("given %d, then %d", len(v.Saved), len(next.Saved))
	}
	if !strings.Contains(strings.Join(append(v.Notes, next.Notes...), "\n"), "more than 20 downloads") {
		t.Errorf("notes: %q %q", v.Notes, next.Notes)
	}
	for _, d := range v.Saved {
		if f, err := d.Open(); err == nil {
			t.Errorf("%s is there after the next action", f.Name())
		}
	}
	if err := errors.Join(next.Discard(), next.Discard()); err != nil {
		t.Error(err)
	}
	w.click("Big")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		n, _ := w.b.Folders("a")
		if n == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d files are left", n)
		}
	}
}

// TestTheAllowanceOutlivesTheBrowser checks that a chat which has used up what it may load in a day does not get more by
// closing its browser, and that another chat has its own.
func TestTheAllowanceOutlivesTheBrowser(t *testing.T) {
	w := newWorld(t, pages{"/": "<p>Here", "/big": "<p>" + strings.Repeat("much ", 100_000)},
		func(c *browser.Config) { c.In = 300_000 })
	if v := w.open("/big"); !strings.Contains(strings.Join(v.Notes, " "), "used up") {
		t.Errorf("the allowance isn't used up: %q", v.Notes)
	}
	w.b.End("a")
	v, err := w.b.Act(t.Context(), "a", browser.Action{Kind: browser.Navigate, URL: w.site.URL + "/"})
	if err == nil && v != nil && strings.Contains(v.Text, "Here") {
		t.Fatal("a browser that was opened again loads more")
	}
	if v == nil || !strings.Contains(strings.Join(v.Notes, " "), "used up") {
		t.Errorf("the reason isn't told: %+v, %v", v, err)
	}
	if v, err := w.b.Act(t.Context(), "b", browser.Action{Kind: browser.Navigate, URL: w.site.URL + "/"}); err != nil ||
		!strings.Contains(v.Text, "Here") {
		t.Errorf("another chat: %+v, %v", v, err)
	}
}

// TestAHoldEnds checks that a browser that a person took over and left ends, also where somebody goes on watching.
func TestAHoldEnds(t *testing.T) {
	w := newWorld(t, pages{"/": "<p>Here"}, func(c *browser.Config) {
		c.Idle, c.Watched = func() time.Duration { return 300 * time.Millisecond }, 2*time.Second
	})
	gone := func() time.Duration {
		begin := time.Now()
		for w.b.Open("a") {
			if time.Since(begin) > 20*time.Second {
				t.Fatal("the browser is kept for ever")
			}
			time.Sleep(10 * time.Millisecond)
		}
		return time.Since(begin)
	}
	w.open("/")
	if err := w.b.TakeOver(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	gone()
	w.open("/")
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := w.b.Watch(context.Background(), "a", func(browser.Frame) error { return nil }); err != nil {
			t.Error(err)
		}
	})
	if err := w.b.TakeOver(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if took := gone(); took < time.Second {
		t.Errorf("a browser that is watched was ended after %s", took)
	}
	watching.Wait()
}

// TestAnOwnerLeavesRoom checks that one person cannot have all browsers, and that their own make room for each other.
func TestAnOwnerLeavesRoom(t *testing.T) {
	w := newWorld(t, pages{"/": "<p>Here"}, func(c *browser.Config) {
		c.Most = func() int { return 3 }
		c.Owner = func(thread string) string { return thread[:1] }
	})
	open := func(thread string) error {
		_, err := w.b.Act(t.Context(), thread, browser.Action{Kind: browser.Navigate, URL: w.site.URL, Quiet: true})
		return err
	}
	for _, thread := range []string{"a1", "a2", "a3"} {
		if err := open(thread); err != nil {
			t.Fatal(err)
		}
	}
	if w.b.Open("a1") || !w.b.Open("a2") || !w.b.Open("a3") {
		t.Error("the oldest of the owner did not make room")
	}
	for _, thread := range []string{"a2", "a3"} {
		if err := w.b.TakeOver(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
	}
	if err := open("a4"); !errors.Is(err, browser.ErrFull) {
		t.Errorf("one more of an owner who holds all of theirs: %v", err)
	}
	if err := open("b1"); err != nil || !w.b.Open("a2") || !w.b.Open("a3") {
		t.Errorf("another owner: %v", err)
	}
}

// TestAnUploadStaysInItsFolder checks that a file is not written to where a link in place of the folder leads.
func TestAnUploadStaysInItsFolder(t *testing.T) {
	w := newWorld(t, pages{"/": `<label>File <input type=file></label>`}, nil)
	w.open("/")
	_, ups := w.b.Folders("a")
	out := t.TempDir()
	if err := errors.Join(os.Rename(ups, ups+"-old"), os.Symlink(out, ups)); err != nil {
		t.Fatal(err)
	}
	_, err := w.b.Act(t.Context(), "a", browser.Action{Kind: browser.Type, Element: "File",
		File: strings.NewReader("secret"), FileName: "in.txt"})
	if list, failed := os.ReadDir(out); failed != nil || len(list) > 0 {
		t.Errorf("written outside: %v %v, the action: %v", list, failed, err)
	}
}
