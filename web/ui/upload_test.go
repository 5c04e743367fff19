package ui_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// multipartBody makes a form of name, value pairs; a name with "@" before it is a file.
func multipartBody(t *testing.T, pairs ...string) (*bytes.Buffer, string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := strings.CutPrefix(pairs[i], "@"); ok {
			part, err := m.CreateFormFile("files", name)
			must.Do(t, err)
			if _, err := part.Write([]byte(pairs[i+1])); err != nil {
				t.Fatal(err)
			}
		} else if err := m.WriteField(pairs[i], pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, m.Close())
	return &b, m.FormDataContentType()
}

func TestPlainFormSendsTextWithFiles(t *testing.T) {
	model := &agenttest.Script{}
	w := open(t, model)
	body, kind := multipartBody(t, "thread", "t1", "@a.csv", "x,y\n1,2\n", "@", "", "text", "Look\r\nhere")
	a := w.do(http.MethodPost, "/ui/threads", body, "Content-Type", kind)
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/chats/t1" {
		t.Fatal(a.StatusCode, a.body)
	}
	w.settle("t1")
	msg := model.Requests()[0].Messages[0]
	files, _ := msg.Kwargs["files"].([]any)
	if !strings.HasSuffix(msg.Content.String(), "Look\nhere") || len(files) != 1 ||
		files[0].(map[string]any)["path"] != "/mnt/user-data/uploads/a.csv" {
		t.Fatalf("the model got %q with %v", msg.Content.String(), msg.Kwargs)
	}
	page := w.page("/workspace/chats/t1")
	webtest.Holds(t, "the file is not with its message, or still waits in the box", page, "a.csv", `!data-name="a.csv"`)
}

func TestUploadedFilesGoWithTheNextMessageOnce(t *testing.T) {
	model := &agenttest.Script{}
	w := open(t, model)
	body, kind := multipartBody(t, "@one.txt", "1")
	w.do(http.MethodPost, "/ui/threads/t1/uploads", body, append(script(), "Content-Type", kind)...).must(t, "the answer", http.StatusOK, `"chip":"<li`)
	webtest.Holds(t, "the file is not in the box of the new chat", w.page("/workspace/chats/new?thread=t1"), `data-name="one.txt"`)
	w.begin("t1", "first")
	w.settle("t1")
	w.begin("t1", "second")
	w.settle("t1")
	var got []int
	for _, m := range model.Requests()[1].Messages {
		if m.Type == agent.TypeHuman {
			files, _ := m.Kwargs["files"].([]any)
			got = append(got, len(files))
		}
	}
	if len(got) != 2 || got[0] != 1 || got[1] != 0 {
		t.Errorf("files of the two messages: %v", got)
	}
}

func TestUploadsOverALimitAreRefusedByName(t *testing.T) {
	w := open(t, &agenttest.Script{})
	body, kind := multipartBody(t, "@big.bin", strings.Repeat("x", 1<<16+1))
	a := w.do(http.MethodPost, "/ui/threads/t1/uploads", body, append(script(), "Content-Type", kind)...)
	a.want(t, "with script", http.StatusRequestEntityTooLarge, `big.bin`)
	body, kind = multipartBody(t, "thread", "t1", "text", "keep me", "@big.bin", strings.Repeat("x", 1<<16+1))
	a = w.do(http.MethodPost, "/ui/threads", body, "Content-Type", kind)
	a.want(t, "plain", http.StatusRequestEntityTooLarge, "big.bin", "keep me")
	body, kind = multipartBody(t, "@../../x", "1", "@a\\b", "2")
	a = w.do(http.MethodPost, "/ui/threads/t1/uploads", body, append(script(), "Content-Type", kind)...)
	if a.StatusCode >= 500 || strings.Contains(a.body, "..") {
		t.Errorf("odd names: %d %s", a.StatusCode, a.body)
	}
}

func TestRemovingAnUploadKeepsTheText(t *testing.T) {
	w := open(t, &agenttest.Script{})
	w.writeFile("t1", "uploads/a b.txt", "1")
	a := w.post("/ui/threads/t1/uploads/a%20b.txt/delete", url.Values{"text": {"my words"}})
	if a.StatusCode != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "q=my+words") {
		t.Fatal(a.StatusCode, a.Header.Get("Location"))
	}
	page := w.page(a.Header.Get("Location"))
	webtest.Holds(t, "the file is there, or the text", page, "!a b.txt", "my words")
	w.post("/ui/threads/t1/uploads/none/delete", nil, script()...).want(t, "/ui/threads/t1/uploads/none/delete", http.StatusOK)
	if a := w.post("/ui/threads/t1/uploads/..%2F..%2Ffawn.db/delete", nil); a.StatusCode < 400 {
		t.Error(a.StatusCode)
	}
}
