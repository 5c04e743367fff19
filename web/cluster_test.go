package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat/chattest"
	"fawn/store/pgtest"
	"fawn/web"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// clustered is the configuration of each of several servers. Their leases last, however slow the machine is.
func clustered(t *testing.T, slots int) string {
	t.Helper()
	return clusteredWith(t, scriptmodel.Start(t), slots)
}

// clusteredWith is clustered for a model that the test has in its hands.
func clusteredWith(t *testing.T, model *scriptmodel.Server, slots int) string {
	t.Helper()
	return scriptedBy(model) + fmt.Sprintf("cluster: {enabled: true, lease: 60, slots: %d}\nfiles: {dir: %q}\n"+
		"database: {url: %q}\nsandbox: {provider: off}\n", slots, t.TempDir(), pgtest.URL(t))
}

// slowly is what a model says for about a minute, unless it is told to stop.
const slowly = `SCRIPT{"turns": [{"text": "first words, ", "chunk": 6, "tokens": 6000, "rate": 100}]}`

// TestEveryServerServesAll: a run that one began is read, cancelled and deleted at another, and files are the same.
func TestEveryServerServesAll(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	a, b := start(t, conf), start(t, conf)
	follow := a.stream(t, t.Context(), "/threads/t1/runs/stream", human(slowly, `"stream_mode": ["messages-tuple"]`))
	run := follow.res.Header.Get("Content-Location")
	follow.until(t, "first")
	for _, at := range []string{run + "/stream", "/ui/threads/t1/stream"} {
		res, err := b.request(t.Context(), "GET", at, nil)
		must.Do(t, err)
		defer res.Body.Close()
		seen, part := "", make([]byte, 4096)
		for !strings.Contains(seen, "lorem") {
			n, err := res.Body.Read(part)
			if seen += string(part[:n]); err != nil {
				t.Fatalf("%s at the other server ends with %v: %.2000s", at, err, seen)
			}
		}
	}
	b.send(t, "POST", run+"/cancel?wait=1", "").want(t, "cancelled at the other server", http.StatusNoContent)
	a.send(t, "GET", run, "").holds(t, "after that", `"interrupted"`)

	sent := a.sendFile(t, "/api/threads/t1/uploads", "what was sent")
	got := b.send(t, "GET", "/api/threads/t1/artifacts/mnt/user-data/uploads/up.txt", "")
	if sent.status != http.StatusOK || got.body != "what was sent" {
		t.Errorf("a file sent to one (%d %s) is %d %s at the other", sent.status, sent.body, got.status, got.body)
	}
	b.send(t, "DELETE", "/threads/t1", "").want(t, "deleted at the other", http.StatusNoContent)
	a.send(t, "GET", "/threads/t1", "").want(t, "after that", http.StatusNotFound)
}

// TestARunThatIsHandedOverHasNotEnded: a server that stops cuts off the stream of such a run. The reader gets the rest
// at the other server, and everything once.
func TestARunThatIsHandedOverHasNotEnded(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	conf := clusteredWith(t, model, 200)
	a := start(t, conf, web.Patient(patience))
	var turns strings.Builder // so many that some of them end while the server stops
	for i := range 60 {
		gate := ""
		if i == 2 {
			gate = "stop"
		}
		fmt.Fprintf(&turns, `{"text": "step %d. ", "first_byte_ms": 200, "gate": %q,
			"tool_calls": [{"name": "look", "args": {"n": %d}}]},`, i, gate, i)
	}
	l := a.stream(t, t.Context(), "/threads/t1/runs/stream",
		human(`SCRIPT{"turns": [`+turns.String()+`{"text": "the last", "gate": "end", "tokens": 3}]}`,
			`"stream_mode": ["messages-tuple", "updates", "values"]`))
	run := l.res.Header.Get("Content-Location")
	before := framesUntil(t, l.line, "step 1. ")
	b := start(t, conf)
	stopped := make(chan error, 1)
	go func() { stopped <- a.stop() }()
	model.Open("stop")
	before = append(before, framesUntil(t, l.line, "")...)
	if !errors.Is(l.line.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("the stream is not cut off: %v", l.line.Err())
	}
	for _, f := range before {
		if f.event == "end" || f.event == "error" {
			t.Errorf("the server that stops says %+v", f)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	model.Open("end")

	read := func(after string) []streamed {
		res, err := b.request(t.Context(), "GET", run+"/stream", nil, "Last-Event-ID", after)
		must.Do(t, err)
		defer res.Body.Close()
		line := bufio.NewScanner(res.Body)
		line.Buffer(nil, 16<<20)
		list := framesUntil(t, line, "")
		if err := line.Err(); err != nil || len(list) == 0 || list[len(list)-1].event != "end" {
			t.Fatalf("the other server: %v after %d frames", err, len(list))
		}
		return list
	}
	rest := read(before[len(before)-1].id)
	if got, want := append(before, rest...), read("-1"); !slices.Equal(got, want) {
		t.Errorf("read at two servers:\n%v\nat one:\n%v", got, want)
	}
	webtest.Same(t, "runs were handed over", b.metric(t, `fawn_takeovers_total{cause="drain"}`), 1)
}

// streamed is a frame of a stream.
type streamed struct{ event, data, id string }

// framesUntil reads the frames of a stream up to the first one that contains what, those that are whole up to where it
// ends when that is "".
func framesUntil(t *testing.T, line *bufio.Scanner, what string) (list []streamed) {
	t.Helper()
	var f streamed
	for line.Scan() {
		name, value, _ := strings.Cut(line.Text(), ": ")
		switch name {
		case "event":
			f.event = value
		case "data":
			f.data = value
		case "id":
			f.id = value
		case "":
			if f == (streamed{}) { // behind a heartbeat
				continue
			}
			list = append(list, f)
			if what != "" && strings.Contains(f.data, what) {
				return list
			}
			f = streamed{}
		}
	}
	if what != "" {
		t.Fatalf("the stream ended without %q: %v", what, line.Err())
	}
	return list
}

// TestRunsWaitForAServerWithRoom: where as many are at work as slots says, the next one waits for another server.
func TestRunsWaitForAServerWithRoom(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 1)
	a := start(t, conf)
	a.stream(t, t.Context(), "/threads/t1/runs/stream", human(slowly)).until(t, "metadata")
	next := decoded[struct {
		ID string `json:"run_id"`
	}](t, a.send(t, "POST", "/threads/t2/runs", human(slowly))).ID
	status := func() string {
		return decoded[struct{ Status string }](t, a.send(t, "GET", "/threads/t2/runs/"+next, "")).Status
	}
	time.Sleep(1500 * time.Millisecond) // in which it is looked at for runs that wait
	webtest.Same(t, "at a server that is full", status(), "pending")
	start(t, conf)
	for deadline := time.Now().Add(patience); status() != "running"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a server with room does not take it: %s", status())
		}
	}
}

// TestServersDoNotShareWhatTheyCannot: a start that would lose files or rows is refused, and says what to do.
func TestServersDoNotShareWhatTheyCannot(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	start(t, conf)
	database := conf[strings.Index(conf, "database:"):]
	for _, c := range []struct{ conf, want string }{
		{"cluster: {enabled: true}", "set database.url"},
		{"cluster: {enabled: true}\n" + database, "set it to a folder that all servers share"},
		{"cluster: {enabled: true}\nfiles: {dir: shared}\n" + database, "must be an absolute path"},
		{fmt.Sprintf("cluster: {enabled: true}\nfiles: {dir: %q}\n", t.TempDir()) + database, "is not the folder that has"},
		{database, "it lives"},
	} {
		s := &server{conf: t.TempDir() + "/config.yaml"}
		s.configure(t, c.conf)
		app, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: s.conf})
		if err == nil {
			app.Close()
		}
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.want)) {
			t.Errorf("%s: %v", c.conf, err)
		}
	}
}

// TestOneServerHasTheBots: all of them say that a bot is connected, and another one has it when that server stops.
func TestOneServerHasTheBots(t *testing.T) {
	t.Parallel()
	f := chattest.NewTelegram(t)
	conf := clustered(t, 200) +
		fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q, allowed_users: [7]}}\n",
			chattest.TelegramToken, f.State().URL)
	a := start(t, conf)
	awaitRunning(t, a, true)
	b := start(t, conf)
	awaitRunning(t, b, true)
	if b.app == nil || strings.Contains(b.log.String(), "became leader") {
		t.Fatal("two servers have the duty")
	}
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "say hello to the bridge"})
	shows(t, a, f, "7", "Scripted reply.")
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "/new"})
	shows(t, b, f, "7", "new conversation")
	awaitRunning(t, b, true)
	webtest.Holds(t, "the log does not say who has the bots", b.log.String(), "became leader")
}
