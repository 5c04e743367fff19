package web_test

import (
	"database/sql"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// noise is a PNG that does not get smaller, of about 50 KB.
func noise(t *testing.T) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 128, 128))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 128 * 128 {
		img.Set(i%128, i/128, color.RGBA{uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256)), 255})
	}
	var b strings.Builder
	must.Do(t, png.Encode(&b, img))
	return base64.StdEncoding.EncodeToString([]byte(b.String()))
}

// TestPicturesInMessagesAreStoredOnce: whoever reads them gets them as they were sent, as the
// model does, and they go with the last message that has them.
func TestPicturesInMessagesAreStoredOnce(t *testing.T) {
	t.Parallel()
	model, dir := scriptmodel.Start(t), t.TempDir()
	conf := fmt.Sprintf("title: {model_name: offline}\nmemory: {model_name: offline}\nmodels: [{name: script, use: openai, model: script, base_url: %q, api_key: test, supports_vision: true}]\n",
		model.URL+"/v1")
	s := start(t, conf, func(o *web.Options) { o.Data = dir })
	picture := noise(t)
	url := "data:image/png;base64," + picture
	shapes := []string{
		fmt.Sprintf(`{"type":"image_url","image_url":{"url":%q}}`, url),
		fmt.Sprintf(`{"type":"image","base64":%q,"mime_type":"image/png"}`, picture),
	}
	for i, shape := range shapes {
		body := fmt.Sprintf(`{"input":{"messages":[{"type":"human","id":"m%d","content":[{"type":"text","text":"look"},%s]}]}}`, i, shape)
		a := s.send(t, "POST", "/threads/p/runs/wait", body)
		if a.status != http.StatusOK || strings.Count(a.body, picture) != i+1 {
			t.Fatalf("%d, the picture is there %d times: %.300s", a.status, strings.Count(a.body, picture), a.body)
		}
		if all, _ := sees(t, model); len(all) != i+1 || base64.StdEncoding.EncodeToString(all[i]) != picture {
			t.Errorf("the model sees %d pictures", len(all))
		}
	}
	type storage struct {
		Blobs  struct{ Count, Bytes int64 }
		Values struct {
			Bytes int64
		} `json:"channel_values"`
	}
	stored := func(thread string) storage {
		return decoded[storage](t, s.send(t, "GET", "/threads/"+thread+"/storage", ""))
	}
	size := int64(base64.StdEncoding.DecodedLen(len(picture)) - strings.Count(picture, "="))
	if got := stored("p"); got.Blobs.Count != 1 || got.Blobs.Bytes != size || got.Values.Bytes > 16<<10 {
		t.Errorf("stored: %+v, the picture has %d bytes", got, size)
	}
	for _, path := range []string{"/threads/p/state", "/threads/p"} {
		s.send(t, "GET", path, "").holds(t, fmt.Sprintf("%s has it in another form than it was sent", path), shapes...)
	}
	list := s.send(t, "GET", "/threads/p/runs", "")
	webtest.Same(t, "the requests of the runs have it … times", strings.Count(list.body, picture), 2)

	copied := decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/threads/p/copy", "")).ID
	if got := stored(copied); got.Blobs.Count != 1 || got.Values.Bytes > 16<<10 {
		t.Errorf("the copy: %+v", got)
	}
	s.send(t, "DELETE", "/threads/p", "").must(t, "delete", http.StatusNoContent)
	webtest.Same(t, "the copy has it … times when the first thread is gone", strings.Count(s.send(t, "GET", "/threads/"+copied+"/state", "").body, picture), 2)
	s.send(t, "DELETE", "/threads/"+copied, "").must(t, "delete", http.StatusNoContent)
	must.Do(t, s.stop())
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "fawn.db")+"?mode=ro")
	must.Do(t, err)
	defer db.Close()
	var n int
	err = db.QueryRow(`SELECT (SELECT count(*) FROM blob) + (SELECT count(*) FROM blob_use)`).Scan(&n)
	if err != nil || n != 0 {
		t.Errorf("%d rows are left of the pictures, %v", n, err)
	}
}

// TestAPictureGoesWithAMessageThatIsTakenBack by a rollback.
func TestAPictureGoesWithAMessageThatIsTakenBack(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	picture := noise(t)
	s.send(t, "POST", "/threads/p/runs/wait", human("hello"))
	body := fmt.Sprintf(`{"input":{"messages":[{"type":"human","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]},"after_seconds":3600}`, picture)
	run := decoded[struct {
		ID string `json:"run_id"`
	}](t, s.send(t, "POST", "/threads/p/runs", body)).ID
	blobs := func() int64 {
		return decoded[struct{ Blobs struct{ Count int64 } }](t, s.send(t, "GET", "/threads/p/storage", "")).Blobs.Count
	}
	webtest.Same(t, "blobs of a run that waits", blobs(), 1)
	s.send(t, "POST", "/threads/p/runs/"+run+"/cancel?wait=1&action=rollback", "").fine(t, "rollback")
	webtest.Same(t, "blobs behind the rollback", blobs(), 0)
}

// TestThePageSaysThatAModelSawNoPictures, whether they came inside a message or as files, and
// not below answers of models that see.
func TestThePageSaysThatAModelSawNoPictures(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	entry := func(name, sees string) string {
		return fmt.Sprintf("{name: %s, use: openai, model: script, base_url: %q, api_key: test, supports_vision: %s}", name,
			model.URL+"/v1", sees)
	}
	s := start(t, "title: {model_name: offline}\nmemory: {model_name: offline}\nmodels: ["+entry("blind", "false")+", "+
		entry("seeing", "true")+"]\n")
	picture := noise(t)
	data, err := base64.StdEncoding.DecodeString(picture)
	must.Do(t, err)
	inside := fmt.Sprintf(`[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]`, picture)
	for _, c := range []struct {
		model, content, kwargs string
		says                   int
	}{
		{"blind", inside, "{}", 1},
		{"blind", `"look"`, `{"files":[{"filename":"p.png","path":"/mnt/user-data/uploads/p.png"}]}`, 1},
		{"blind", `"hello"`, "{}", 0},
		{"seeing", inside, "{}", 0},
	} {
		id := decoded[struct {
			ID string `json:"thread_id"`
		}](t, s.send(t, "POST", "/threads", "{}")).ID
		if c.kwargs != "{}" {
			s.uploadAll(t, id, "p.png", string(data))
		}
		body := fmt.Sprintf(`{"context":{"model_name":%q},"input":{"messages":[{"type":"human","content":%s,"additional_kwargs":%s}]}}`,
			c.model, c.content, c.kwargs)
		s.send(t, "POST", "/threads/"+id+"/runs/wait", body).must(t, "/threads/"+id+"/runs/wait", http.StatusOK)
		page := s.send(t, "GET", "/workspace/chats/"+id, "", "Accept", "text/html").body
		webtest.Same(t, fmt.Sprintf("%s, %.20s, %s: the page says it … times", c.model, c.content, c.kwargs), strings.Count(page, "can’t see images"), c.says)
	}
}

// TestAPictureThatCannotBeCleanedGoesToNoModel: it could tell where it was taken. The model and
// the reader are told that it is not seen.
func TestAPictureThatCannotBeCleanedGoesToNoModel(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	s := start(t, fmt.Sprintf("title: {model_name: offline}\nmemory: {model_name: offline}\nmodels: [{name: script, use: openai, model: script, base_url: %q, api_key: test, supports_vision: true}]\n",
		model.URL+"/v1"))
	heic := "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00 Exif GPS 48.8584N"
	s.uploadAll(t, "p", "IMG_1.HEIC", heic)
	packed := base64.StdEncoding.EncodeToString([]byte(heic))
	for _, block := range []string{
		fmt.Sprintf(`{"type":"image_url","image_url":{"url":"data:image/heic;base64,%s"}}`, packed),
		fmt.Sprintf(`{"type":"image","base64":%q,"mime_type":"image/jpeg"}`, packed),
		fmt.Sprintf(`{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,%s"}}`, packed[:len(packed)-2]),
	} {
		body := fmt.Sprintf(`{"input":{"messages":[{"type":"human","content":[{"type":"text","text":"look"},%s],
			"additional_kwargs":{"files":[{"filename":"IMG_1.HEIC","path":"/mnt/user-data/uploads/IMG_1.HEIC"}]}}]}}`, block)
		s.send(t, "POST", "/threads/p/runs/wait", body).must(t, "/threads/p/runs/wait", http.StatusOK)
		_, request := sees(t, model)
		webtest.Holds(t, fmt.Sprintf("%.40s: the model gets", block), request, "!image_url", "!"+packed[:40], "[An image stands here that cannot be shown: ")
		webtest.Holds(t, "the list of uploads does not say that it cannot be seen", request, "A picture in the HEIC format, which cannot be shown to you.")
	}
	page := s.send(t, "GET", "/workspace/chats/p", "", "Accept", "text/html").body
	if n := strings.Count(page, "Models can’t see HEIC images"); n < 3 { // each message has a chip
		t.Errorf("the page says it %d times", n)
	}
}
