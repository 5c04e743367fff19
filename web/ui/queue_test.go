package ui_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/web/webtest"
)

// queued are the runs whose messages wait on a page, oldest first.
func queued(page string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`<li class="row nowrap" id="w-([^"]+)"`).FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestMessagesDuringARunWaitForIt(t *testing.T) {
	hold := make(chan struct{})
	first := agenttest.Say("One.")
	first.Before = hold
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{first, agenttest.Say("Two."), agenttest.Say("Three.")}})
	w.begin("t1", "Go")
	r := w.reader("t1")
	w.post("/ui/threads/t1/messages", url.Values{"text": {"my next <b>thought</b>"}}).must(t, "the answer", http.StatusSeeOther)
	f := decodeFrame(t, w.post("/ui/threads/t1/messages", url.Values{"text": {"and another"}}, script()...).body)
	if err := r.dom.apply(f); err != nil || !f.Running || f.Error != "" {
		t.Fatal(err, f)
	}
	page := w.page("/workspace/chats/t1")
	if len(queued(page)) != 2 || !strings.Contains(page, "my next &lt;b&gt;thought&lt;/b&gt;") ||
		strings.Contains(page, `id="t-`+queued(page)[0]) {
		t.Fatal(page)
	}
	w.post("/ui/threads/t1/messages", url.Values{"resume": {"1"}}).want(t, "to go on with what works", http.StatusConflict)
	close(hold)
	r.read(0) // the stream follows from run to run
	w.settle("t1")
	r.equalsPage()
	if s := r.dom.section("turns"); !strings.Contains(s, "Three.") || len(queued(w.page("/workspace/chats/t1"))) > 0 {
		t.Fatal(r.kinds, s)
	}
}

func TestQueueWaitsAfterAStop(t *testing.T) {
	model := &agenttest.Script{Replies: []agenttest.Reply{{Chunks: []agent.Chunk{{Text: "a"}}, Hang: true},
		agenttest.Say("Sent.")}}
	w := open(t, model)
	w.begin("t1", "Go")
	body, kind := multipartBody(t, "@a.csv", "x,y\n", "text", "with a file")
	a := w.do(http.MethodPost, "/ui/threads/t1/messages", body, "Content-Type", kind)
	a.must(t, "the answer", http.StatusSeeOther)
	for _, text := range []string{"second", "third"} {
		w.post("/ui/threads/t1/messages", url.Values{"text": {text}})
	}
	webtest.Until(t, "the model is asked", func() bool { return len(model.Requests()) > 0 }) // or a later run gets its reply
	page := w.page("/workspace/chats/t1")
	if strings.Count(page, ">a.csv</span>") != 1 {
		t.Error("the file of a waiting message is not shown once", page)
	}
	r := w.reader("t1")
	if a := w.post("/ui/threads/t1/stop", url.Values{"text": {"a draft"}}); a.StatusCode != http.StatusSeeOther ||
		!strings.Contains(a.Header.Get("Location"), "q=a+draft") {
		t.Errorf("stop: %d %s", a.StatusCode, a.Header.Get("Location"))
	}
	r.read(0)
	r.equalsPage()
	page = w.page("/workspace/chats/t1")
	ids := queued(page)
	if w.runs.Active("t1") != "" || len(ids) != 3 || !strings.Contains(page, "Your queue is paused") {
		t.Fatal(ids, page)
	}
	if a := w.post("/ui/threads/t1/queue/"+ids[1]+"/edit", nil); a.StatusCode != http.StatusSeeOther ||
		!strings.Contains(a.Header.Get("Location"), "q=second") {
		t.Errorf("edit: %d %v", a.StatusCode, a.Header)
	}
	f := decodeFrame(t, w.post("/ui/threads/t1/queue/"+ids[2]+"/remove", nil, script()...).body)
	if len(f.Swap) != 1 || strings.Contains(f.Swap[0].HTML, "third") ||
		!strings.Contains(f.Swap[0].HTML, "with a file") {
		t.Errorf("%+v", f)
	}
	for _, action := range []string{"edit", "remove", "send"} {
		w.post("/ui/threads/t1/queue/"+ids[2]+"/"+action, nil, script()...).want(t, fmt.Sprintf("%s of what is gone", action), http.StatusConflict, "already been sent")
	}
	w.post("/ui/threads/t1/queue/"+ids[0]+"/send", nil).must(t, "the answer", http.StatusSeeOther)
	w.settle("t1")
	page = w.page("/workspace/chats/t1")
	if len(queued(page)) > 0 || !strings.Contains(page, "Sent.") || len(turnIDs(page)) != 2 {
		t.Error(page)
	}
	files, _ := model.Requests()[1].Messages[len(model.Requests()[1].Messages)-1].Kwargs["files"].([]any)
	if len(files) != 1 {
		t.Errorf("the message came with %v", files)
	}
}

func TestQueueWaitsForAnAnswerAndAfterAFailure(t *testing.T) {
	asks, fails := asking(tariffs).Replies[0], agenttest.Reply{Err: errors.New("the model broke")}
	for name, first := range map[string]agenttest.Reply{"question": asks, "failure": fails} {
		hold := make(chan struct{})
		first.Before = hold
		w := open(t, &agenttest.Script{Replies: []agenttest.Reply{first}})
		w.begin("t1", "Go")
		w.post("/ui/threads/t1/messages", url.Values{"text": {"next"}})
		close(hold)
		w.settle("t1")
		if page := w.page("/workspace/chats/t1"); len(queued(page)) != 1 || len(turnIDs(page)) != 1 {
			t.Errorf("%s: %s", name, page)
		}
	}
}
