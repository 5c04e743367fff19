package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// TestDocumentsThatAnAgentMadeAreShown: the panel says that one is being read, without waiting,
// and then shows it, with the text of what it has become when it is written anew. A restarted
// server does it again.
func TestDocumentsThatAnAgentMadeAreShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	s.tool(t, "made", "ls", `{"path":"/mnt/user-data"}`)
	outputs := filepath.Join(dir, "threads", "made", "user-data", "outputs")
	put := func(name, content string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(outputs, name), []byte(content), 0o600))
	}
	panel := func(name string) string {
		t.Helper()
		deadline := time.Now().Add(patience)
		for {
			a := s.send(t, "GET", "/ui/threads/made/panel/mnt/user-data/outputs/"+name, "", "X-Fawn", "1")
			a.must(t, "the answer", http.StatusOK)
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
		webtest.Holds(t, "the panel shows", got, "It costs 400 francs.", ">Offer</h2>")
		webtest.Holds(t, "the panel shows", panel("broken.docx"), "Damaged")
		must.Do(t, s.stop())
		s = start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	}
	put("broken.docx", letter(t))
	webtest.Holds(t, "written anew", panel("broken.docx"), "It costs 400 francs.")
	s.send(t, "DELETE", "/threads/made", "").must(t, "delete", http.StatusNoContent)
	if found := mentions(t, filepath.Join(dir, "shown"), "400 francs"); len(found) > 0 {
		t.Errorf("its text is still in %q", found)
	}
}
