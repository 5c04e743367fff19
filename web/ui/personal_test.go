package ui_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
)

// TestPersonalTextsAreFiles: saved ones are in USER.md and SOUL.md, and what was written there by
// hand meanwhile is not lost without a word.
func TestPersonalTextsAreFiles(t *testing.T) {
	w := open(t, &agenttest.Script{})
	const section = "/workspace/settings/personal"
	for _, c := range []struct{ name, file string }{{"user", "USER.md"}, {"soul", "SOUL.md"}} {
		file := filepath.Join(w.dirs.Root, c.file)
		seen := func(page string) string {
			return between(page[strings.Index(page, `value="`+c.name+`"`):], `name="seen" value="`, `"`)
		}
		save := func(seen, text string) (int, string) {
			a := w.post("/ui/personal", url.Values{"name": {c.name}, "seen": {seen}, "text": {text}})
			return a.StatusCode, a.body
		}
		first := seen(w.page(section))
		if status, body := save(first, "I <b>sail</b>\r\nand 跑步 "); status != http.StatusSeeOther {
			t.Fatal(c.name, status, body)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != "I <b>sail</b>\nand 跑步" {
			t.Errorf("%s: %q, %v", c.file, b, err)
		}
		page := w.page(section + "?saved=1")
		w.shows(page, "I &lt;b&gt;sail&lt;/b&gt;\nand 跑步</textarea>", "Saved.")

		must.Do(t, os.WriteFile(file, []byte("By hand"), 0o600))
		status, body := save(seen(page), "Mine")
		if status != http.StatusUnprocessableEntity {
			t.Error(c.name, "over a changed file:", status)
		}
		w.shows(body, "The file has changed", "Mine</textarea>")
		if b, err := os.ReadFile(file); err != nil || string(b) != "By hand" {
			t.Errorf("%s: %q, %v", c.file, b, err)
		}
		if status, _ := save(seen(body), "Mine"); status != http.StatusSeeOther {
			t.Error(c.name, "once more:", status)
		}

		if status, body := save(seen(w.page(section)),
			strings.Repeat("x", 65<<10)); status != http.StatusUnprocessableEntity ||
			!strings.Contains(body, "64 KiB") {
			t.Error(c.name, "too long:", status)
		}
		must.Do(t, os.WriteFile(file, []byte("\xff\xfe"), 0o600))
		w.shows(w.page(section), "this is not text in UTF-8")
	}
	if a := w.post("/ui/personal", url.Values{"name": {"../x"}, "text": {"y"}}); a.StatusCode < 400 {
		t.Error("another name:", a.StatusCode)
	}
}
