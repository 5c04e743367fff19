package web_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store/objects/objectstest"
	"fawn/store/pgtest"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/webtest"
)

// bucketed is the configuration of a server whose files are in a store of objects.
func bucketed(t *testing.T, s3 *objectstest.Server, more string) string {
	t.Helper()
	return scripted(t) + fmt.Sprintf("files: {url: %q, endpoint: %q, path_style: true, access_key: %q, "+
		"secret_key: %q}\nsandbox: {provider: off}\n", s3.URL(), s3.Endpoint(), objectstest.Key,
		objectstest.Secret) + more
}

// writes has the model write a file, which it reads first as one that is there must be, and then speak.
func writes(path, text string) string {
	args, err := json.Marshal(map[string]string{"description": "d", "path": path, "content": text})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`SCRIPT{"turns": [{"tool_calls": [{"name": "read_file", "args": {"description": "d", "path": %q}}]},
		{"tool_calls": [{"name": "write_file", "args": %s}]}, {"text": "done"}]}`, path, args)
}

// run has a run of t1 end, and returns what its stream said.
func (s *server) run(t *testing.T, thread, text string, more ...string) string {
	t.Helper()
	got := s.send(t, "POST", "/threads/"+thread+"/runs/stream", human(text, more...))
	got.must(t, "got", http.StatusOK)
	return got.body
}

// artifact is what a server shows of a file.
func (s *server) artifact(t *testing.T, thread, path string) string {
	t.Helper()
	got := s.send(t, "GET", "/api/threads/"+thread+"/artifacts/mnt/user-data/"+path, "")
	if got.status != http.StatusOK {
		return fmt.Sprint(got.status)
	}
	return got.body
}

func (s *server) has(t *testing.T, thread string, files ...string) {
	t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		if got := s.artifact(t, thread, files[i]); got != files[i+1] {
			t.Errorf("%s of %s is %q, want %q", files[i], thread, got, files[i+1])
		}
	}
}

func (s *server) uploads(t *testing.T, thread, name, content string) answer {
	t.Helper()
	body, kind := webtest.Form(t, "files", name, content)
	return s.send(t, "POST", "/api/threads/"+thread+"/uploads", body, "Content-Type", kind)
}

// head is the newest checkpoint of a thread.
func (s *server) head(t *testing.T, thread string) string {
	t.Helper()
	return decoded[struct {
		Checkpoint struct {
			ID string `json:"checkpoint_id"`
		}
	}](t, s.send(t, "GET", "/threads/"+thread+"/state", "")).Checkpoint.ID
}

const out = "/mnt/user-data/outputs/"

// TestServersTakeTurnsOnFilesInAnObjectStore: what one has made or was given is at the other, and runs go on from it.
func TestServersTakeTurnsOnFilesInAnObjectStore(t *testing.T) {
	t.Parallel()
	conf := bucketed(t, objectstest.Start(t), fmt.Sprintf("cluster: {enabled: true, lease: 60}\ndatabase: {url: %q}\n",
		pgtest.URL(t)))
	a, b := start(t, conf), start(t, conf)
	a.run(t, "t1", writes(out+"one.md", "# by a"))
	b.has(t, "t1", "outputs/one.md", "# by a")
	b.uploads(t, "t1", "up.txt", "what was sent").want(t, "t1", http.StatusOK)
	a.has(t, "t1", "uploads/up.txt", "what was sent")
	b.run(t, "t1", writes(out+"one.md", "# by b"))
	a.has(t, "t1", "outputs/one.md", "# by b", "uploads/up.txt", "what was sent")
	a.run(t, "t1", writes(out+"two.md", "by a again"))
	b.has(t, "t1", "outputs/one.md", "# by b", "outputs/two.md", "by a again", "uploads/up.txt", "what was sent")
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	b.send(t, "DELETE", "/threads/t1", "").want(t, "deleted", http.StatusNoContent)
	c := start(t, conf)
	c.has(t, "t1", "outputs/one.md", "404")
}

// TestFilesGoBackWithTheirThread: a run from an earlier checkpoint, a branch and a copy have the files of that state.
func TestFilesGoBackWithTheirThread(t *testing.T) {
	t.Parallel()
	s := start(t, bucketed(t, objectstest.Start(t), ""))
	s.run(t, "t1", writes(out+"a.md", "first"))
	first := s.head(t, "t1")
	s.run(t, "t1", writes(out+"a.md", "second"))
	s.run(t, "t1", writes(out+"b.md", "third"))
	s.uploads(t, "t1", "up.txt", "sent later").want(t, "t1", http.StatusOK)
	copied := decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/threads/t1/copy", "")).ID
	s.has(t, copied, "outputs/a.md", "second", "outputs/b.md", "third", "uploads/up.txt", "sent later")
	for _, thread := range []string{copied, "t1"} {
		s.run(t, thread, `SCRIPT{"turns": [{"text": "without tools"}]}`, `"checkpoint_id": "`+first+`"`)
		s.has(t, thread, "outputs/a.md", "first", "outputs/b.md", "404", "uploads/up.txt", "sent later")
	}
	s.run(t, "t1", writes(out+"c.md", "fourth"))
	s.has(t, "t1", "outputs/a.md", "first", "outputs/b.md", "404", "outputs/c.md", "fourth")
}

// TestFilesGoBackBeforeTheFirstMessage when that is written anew: the thread had none then.
func TestFilesGoBackBeforeTheFirstMessage(t *testing.T) {
	t.Parallel()
	s := start(t, bucketed(t, objectstest.Start(t), ""))
	s.uploads(t, "t1", "up.txt", "sent before").want(t, "t1", http.StatusOK)
	s.run(t, "t1", writes(out+"a.md", "first"))
	history := decoded[[]struct {
		Checkpoint struct {
			ID string `json:"checkpoint_id"`
		}
	}](t, s.send(t, "POST", "/threads/t1/history", `{"limit": 100}`))
	empty := history[len(history)-1].Checkpoint.ID
	s.run(t, "t1", writes(out+"b.md", "anew"), `"checkpoint_id": "`+empty+`"`)
	s.has(t, "t1", "outputs/a.md", "404", "outputs/b.md", "anew", "uploads/up.txt", "sent before")
}

// TestFilesGoBackWithAWrittenState: a write to an earlier state has the thread go on from there, with its files.
func TestFilesGoBackWithAWrittenState(t *testing.T) {
	t.Parallel()
	s := start(t, bucketed(t, objectstest.Start(t), ""))
	s.run(t, "t1", writes(out+"a.md", "first"))
	first := s.head(t, "t1")
	s.run(t, "t1", writes(out+"a.md", "second"))
	second := s.head(t, "t1")
	write := func(body string) {
		t.Helper()
		s.send(t, "POST", "/threads/t1/state", body).must(t, "/threads/t1/state", http.StatusOK)
	}
	write(`{"values": {"title": "a name"}}`)
	s.has(t, "t1", "outputs/a.md", "second")
	write(`{"values": {"title": "another"}, "checkpoint_id": "` + first + `"}`)
	s.has(t, "t1", "outputs/a.md", "first")
	write(`{"values": null, "checkpoint_id": "` + second + `"}`)
	s.has(t, "t1", "outputs/a.md", "second")
	s.run(t, "t1", writes(out+"b.md", "behind it"))
	s.has(t, "t1", "outputs/a.md", "second", "outputs/b.md", "behind it")
}

// TestARollbackTakesFilesBack: to what they were when the run began, but for uploads.
func TestARollbackTakesFilesBack(t *testing.T) {
	t.Parallel()
	s := start(t, bucketed(t, objectstest.Start(t), ""))
	s.run(t, "t1", writes(out+"a.md", "first"))
	first := s.head(t, "t1")
	s.run(t, "t1", writes(out+"a.md", "second"))
	write, _, _ := strings.Cut(writes(out+"b.md", "for a moment"), `, {"text"`)
	for _, from := range []string{`"multitask_strategy": "reject"`, `"checkpoint_id": "` + first + `"`} {
		run := decoded[struct {
			ID string `json:"run_id"`
		}](t, s.send(t, "POST", "/threads/t1/runs", human(write+`, {"hang": true}]}`, from))).ID
		for end := time.Now().Add(patience); s.artifact(t, "t1", "outputs/b.md") != "for a moment"; {
			if time.Now().After(end) {
				t.Fatal("the run wrote nothing")
			}
			time.Sleep(20 * time.Millisecond)
		}
		s.uploads(t, "t1", "up.txt", "sent meanwhile").want(t, "t1", http.StatusOK)
		if got := s.send(t, "POST", "/threads/t1/runs/"+run+"/cancel?wait=1&action=rollback", ""); got.status/100 != 2 {
			t.Fatalf("%d %s", got.status, got.body)
		} else if note := got.header.Get("X-Fawn-Note"); note != "" {
			t.Errorf("it is said that %s", note)
		}
		s.has(t, "t1", "outputs/a.md", "second", "outputs/b.md", "404", "uploads/up.txt", "sent meanwhile")
	}
}

// TestAnObjectStoreThatIsDown fails what would lose files, says so, and leaves all else alone.
func TestAnObjectStoreThatIsDown(t *testing.T) {
	t.Parallel()
	s3 := objectstest.Start(t)
	s := start(t, bucketed(t, s3, ""))
	s.run(t, "t1", writes(out+"a.md", "first"))
	s3.Stop()
	webtest.Holds(t, "a chat without files", s.run(t, "t2", "count 3"), "!event: error", "event: end")
	s.has(t, "t1", "outputs/a.md", "first")
	got := s.run(t, "t1", writes(out+"b.md", "lost?"))
	webtest.Holds(t, "a file that can't be stored", got, "event: error", "the object store for files is failing")
	if got := s.uploads(t, "t1", "up.txt", "sent"); got.status < 500 {
		t.Errorf("an upload: %d %s", got.status, got.body)
	}
	s3.Again()
	s.run(t, "t1", writes(out+"c.md", "again"))
	s.has(t, "t1", "outputs/a.md", "first", "outputs/b.md", "lost?", "outputs/c.md", "again")
}

// TestAnObjectStoreThatDoesNotWorkIsRefused at the start.
func TestAnObjectStoreThatDoesNotWorkIsRefused(t *testing.T) {
	t.Parallel()
	s3 := objectstest.Start(t)
	good := bucketed(t, s3, "")
	for _, c := range []struct{ conf, want string }{
		{strings.Replace(good, objectstest.Secret, "wrong", 1), "SignatureDoesNotMatch"},
		{strings.Replace(good, "s3://files", "s3://other", 1), "NoSuchBucket"},
		{"files: {url: 's3://files'}", "needs files.access_key"},
		{"files: {url: 'https://files'}", "s3://bucket/prefix"},
		{strings.Replace(good, "files: {", "files: {dir: /tmp, ", 1), "both set"},
	} {
		s := &server{conf: t.TempDir() + "/config.yaml"}
		s.configure(t, c.conf)
		app, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: s.conf})
		if err == nil {
			app.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), objectstest.Secret) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

// TestFilesOfBeforeComeToAnObjectStore: threads that had files in their folders are stored at the next start.
func TestFilesOfBeforeComeToAnObjectStore(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	in := func(o *web.Options) { o.Data = data }
	conf := scripted(t) + "sandbox: {provider: off}\n"
	before := start(t, conf, in)
	before.run(t, "t1", writes(out+"a.md", "of before"))
	must.Do(t, before.stop())
	s3 := objectstest.Start(t)
	s := start(t, bucketed(t, s3, ""), in)
	s.has(t, "t1", "outputs/a.md", "of before")
	for end := time.Now().Add(patience); s3.Objects() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing was stored")
		}
	}
}

// TestRequestsToAnObjectStoreAreCounted, with those that fail.
func TestRequestsToAnObjectStoreAreCounted(t *testing.T) {
	t.Parallel()
	s3 := objectstest.Start(t)
	s := start(t, bucketed(t, s3, "metrics: {enabled: true}\n"))
	s.run(t, "t1", writes(out+"a.md", "first"))
	said := func(words ...string) {
		t.Helper()
		body := s.send(t, "GET", "/metrics", "").body
		webtest.Holds(t, "no … in the metrics", body, words...)
	}
	probe := len("fawn probe-" + rand.Text()) // which the start has put
	said(`fawn_object_requests_total{outcome="error",request="put"} 0`,
		`fawn_object_requests_total{outcome="ok",request="put"} 2`,
		fmt.Sprintf(`fawn_object_bytes_total{request="put"} %d`, probe+len("first")))
	s3.Stop()
	if got := s.uploads(t, "t1", "up.txt", "sent"); got.status < 500 {
		t.Errorf("an upload: %d %s", got.status, got.body)
	}
	said(`fawn_object_requests_total{outcome="error",request="put"} 3`)
}

// TestTheDoctorTriesAnObjectStore, and never tells its keys.
func TestTheDoctorTriesAnObjectStore(t *testing.T) {
	t.Parallel()
	s3 := objectstest.Start(t)
	conf := bucketed(t, s3, "")
	for _, want := range []string{"ok    files", "FAIL  files"} {
		var said bytes.Buffer
		s := &server{conf: t.TempDir() + "/config.yaml"}
		s.configure(t, conf)
		if _, err := cli.Doctor(t.Context(), web.Options{Data: t.TempDir(), Config: s.conf, Out: &said}); err != nil {
			t.Error(err)
		}
		webtest.Holds(t, fmt.Sprintf("%q is missing, or the key is there", want), said.String(), want, "!"+objectstest.Secret)
		s3.Stop()
	}
}
