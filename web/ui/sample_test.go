package ui_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/web/webtest"
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
		webtest.Holds(t, fmt.Sprintf("%s: is not in the chat", lang), page, text, "It has 180 rows.", `sample-orders.csv"`)
		b, err := os.ReadFile(filepath.Join(w.dirs.Root, "threads", id, "user-data", "uploads", "sample-orders.csv"))
		if err != nil || strings.Count(string(b), "\n") != 181 {
			t.Error("the file among the uploads:", len(b), err)
		}
	}
}
