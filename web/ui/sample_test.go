package ui_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheSampleFileIsAnalysedInOneClick(t *testing.T) {
	for lang, text := range map[string]string{"en": "Analyse sample-orders.csv", "zh-CN": "分析 sample-orders.csv"} {
		w := open(t, says("It has 180 rows."))
		if page := w.get("/workspace/chats/new",
			"Accept-Language", lang).body; !strings.Contains(page, `<form method="post" action="/ui/sample">`) {
			t.Fatal("the welcome page offers no sample")
		}
		a := w.post("/ui/sample", nil, "Accept-Language", lang)
		id, ok := strings.CutPrefix(a.Header.Get("Location"), "/workspace/chats/")
		if a.StatusCode != http.StatusSeeOther || !ok {
			t.Fatal(a.StatusCode, a.Header)
		}
		w.settle(id)
		page := w.page("/workspace/chats/" + id)
		for _, want := range []string{text, "It has 180 rows.", `sample-orders.csv"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: %q is not in the chat", lang, want)
			}
		}
		b, err := os.ReadFile(filepath.Join(w.dirs.Root, "threads", id, "user-data", "uploads", "sample-orders.csv"))
		if err != nil || strings.Count(string(b), "\n") != 181 {
			t.Error("the file among the uploads:", len(b), err)
		}
	}
}
