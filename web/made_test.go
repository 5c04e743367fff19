package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/web"
)

// TestDocumentsThatAnAgentMadeAreShown: the panel says that one is being read, without waiting,
// and then shows it, with the text of what it has become when it is written anew. A restarted
// server does it again.
func TestDocumentsThatAnAgentMadeAreShown(t *testing.T) {
	dir := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	s.tool(t, "made", "ls", `{"path":"/mnt/user-data"}`)
	outputs := filepath.Join(dir, "threads", "made", "user-data", "outputs")
	put := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(outputs, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	panel := func(name string) string {
		t.Helper()
		deadline := time.Now().Add(patience)
		for {
			a := s.send(t, "GET", "/ui/threads/made/panel/mnt/user-data/outputs/"+name, "", "X-Fawn", "1")
			if a.status != http.StatusOK {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if !strings.Contains(a.body, "data-wait") {
				return a.body
			}
			if !strings.Contains(a.body, "Reading…") || time.Now().After(deadline) {
				t.Fatalf("it waits with %s", a.body)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	put("offer.docx", letter(t))
	put("broken.docx", "PK\x03\x04 nothing")
	for range 2 {
		got := panel("offer.docx")
		if !strings.Contains(got, "It costs 400 francs.") || !strings.Contains(got, ">Offer</h2>") {
			t.Errorf("the panel shows %s", got)
		}
		if got := panel("broken.docx"); !strings.Contains(got, "Damaged") {
			t.Errorf("the panel shows %s", got)
		}
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
		s = start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	}
	put("broken.docx", letter(t))
	if got := panel("broken.docx"); !strings.Contains(got, "It costs 400 francs.") {
		t.Errorf("written anew: %s", got)
	}
	if a := s.send(t, "DELETE", "/threads/made", ""); a.status != http.StatusNoContent {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	if found := mentions(t, filepath.Join(dir, "shown"), "400 francs"); len(found) > 0 {
		t.Errorf("its text is still in %q", found)
	}
}
