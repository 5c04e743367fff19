package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/store/pgtest"
	"fawn/web"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestAServerThatIsCutOffFromItsDatabaseIsReplaced: it ends by itself within its lease and says why; the next one,
// on a folder of its own, goes on with what readers saw.
func TestAServerThatIsCutOffFromItsDatabaseIsReplaced(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	wire := pgtest.NewWire(t, url)
	model := scriptmodel.Start(t)
	conf := scriptedBy(model) + "cluster: {lease: 6}\ndatabase: {url: "
	s := start(t, conf+wire.URL+"}\n")
	stop := s.stop
	s.stop = func() error {
		if err := stop(); !errors.Is(err, web.ErrReplaced) {
			return errors.Join(errors.New("not replaced"), err)
		}
		return nil
	}
	if lease := s.metric(t, "fawn_node_lease_seconds"); lease <= 0 || lease > 6 {
		t.Errorf("a lease for %v s", lease)
	}
	l := s.stream(t, t.Context(), "/threads/t1/runs/stream",
		human(`SCRIPT{"turns": [{"text": "first words, ", "chunk": 6, "gate": "cut", "tokens": 400, "rate": 200}]}`,
			`"stream_mode": ["messages-tuple"]`))
	run := l.res.Header.Get("Content-Location")
	l.until(t, "first words")
	wire.Freeze()
	model.Open("cut")
	cut := time.Now()
	last := ""
	for l.line.Scan() {
		if l.line.Text() == "event: end" {
			t.Error("readers are told an end")
		}
		if id, ok := strings.CutPrefix(l.line.Text(), "id: "); ok {
			last = id
		}
	}
	if took := time.Since(cut); took > 30*time.Second {
		t.Errorf("readers were let go after %v", took)
	}
	if err := stop(); !errors.Is(err, web.ErrReplaced) ||
		strings.Count(s.log.String(), "lost the write lease; shutting down") != 1 {
		t.Errorf("it ended with %v", err)
	}

	next := start(t, conf+url+"}\n")
	wire.Thaw()
	next.send(t, "GET", run+"/stream", "", "Last-Event-ID", last).want(t, "the next server", http.StatusOK, `"attempt":2`, "event: end")
	webtest.Holds(t, "run", next.send(t, "GET", run, "").body, `"success"`)
}

// TestWhileItsDatabaseIsAwayAServerSaysSo, to readers and writers, without its address, and goes on afterwards.
func TestWhileItsDatabaseIsAwayAServerSaysSo(t *testing.T) {
	t.Parallel()
	database := pgtest.Start(t)
	s := start(t, scripted(t)+"cluster: {lease: 60}\ndatabase: {url: "+database.URL+"}\n")
	s.send(t, "POST", "/threads", `{"thread_id": "t1"}`).must(t, "/threads", http.StatusOK)
	database.Crash(t)
	for what, a := range map[string]answer{"reads": s.send(t, "GET", "/threads/t1", ""),
		"writes": s.send(t, "POST", "/threads", `{"thread_id": "t2"}`)} {
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" ||
			!strings.Contains(a.body, "the database can't be reached") || strings.Contains(a.body, "127.0.0.1") {
			t.Errorf("who %s is told %d %s", what, a.status, a.body)
		}
	}
	database.Run(t)
	for _, path := range []string{"/threads/t1", "/threads/t1/state"} {
		s.send(t, "GET", path, "").want(t, path, http.StatusOK)
	}
}

// TestALostConnectionIsNoErrorOfTheServer: who changes the memory while connections to the database break is told to
// come back, and when.
func TestALostConnectionIsNoErrorOfTheServer(t *testing.T) {
	t.Parallel()
	wire := pgtest.NewWire(t, pgtest.URL(t))
	s := start(t, scripted(t)+"cluster: {lease: 60}\ndatabase: {url: "+wire.URL+"}\n")
	var asking sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	until := time.Now().Add(5 * time.Second)
	for i := range 8 {
		asking.Go(func() {
			for n := 0; time.Now().Before(until); n++ {
				a := s.send(t, "POST", "/api/memory/facts", fmt.Sprintf(`{"content": "fact %d of %d"}`, n, i))
				mu.Lock()
				got[a.status]++
				mu.Unlock()
				if a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "" ||
					!slices.Contains([]int{http.StatusOK, http.StatusConflict, http.StatusServiceUnavailable}, a.status) {
					t.Errorf("%d %v %s", a.status, a.header, a.body)
				}
			}
		})
	}
	for time.Now().Before(until) {
		wire.Mute() // what is sent arrives, and nobody is told
		time.Sleep(30 * time.Millisecond)
		wire.Break()
		wire.Thaw()
		time.Sleep(50 * time.Millisecond)
	}
	asking.Wait()
	t.Logf("answers by status: %v", got)
	if got[http.StatusServiceUnavailable] == 0 || got[http.StatusOK] == 0 {
		t.Error("nothing was put to the test")
	}
}
