package web_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// TestServersThatShareADatabaseMeasureWhatTheyDo: their metrics say what became of a run that is read at another
// server, and each line of their logs says whose it is.
func TestServersThatShareADatabaseMeasureWhatTheyDo(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	log := &agenttest.Log{}
	a := start(t, conf)
	b := start(t, conf+"logging: {enhance: {enabled: true}}\n", func(o *web.Options) { o.Log = web.NewLog(log) })
	follow := a.stream(t, t.Context(), "/threads/t1/runs/stream", human(slowly, `"stream_mode": ["messages-tuple"]`))
	run := follow.res.Header.Get("Content-Location")
	follow.until(t, "first")
	res, err := b.request(t.Context(), "GET", run+"/stream", nil)
	must.Do(t, err)
	defer res.Body.Close()
	go func() { // until the run ends
		for part := make([]byte, 4096); err == nil; {
			_, err = res.Body.Read(part)
		}
	}()
	until(t, func() bool {
		return a.metric(t, "fawn_wake_seconds_count") > 0 && b.metric(t, `fawn_readers{run="remote"}`) == 1 &&
			a.metric(t, `fawn_readers{run="local"}`) == 1
	})
	a.send(t, "POST", run+"/cancel?wait=1", "").want(t, run+"/cancel?wait=1", http.StatusNoContent)
	for _, series := range []string{"fawn_group_commit_seconds_count", "fawn_group_items_count",
		"fawn_token_durable_seconds_count", "fawn_node_lease_seconds"} {
		if a.metric(t, series) <= 0 {
			t.Errorf("%s is missing", series)
		}
	}
	all := b.send(t, "GET", "/metrics", "").body
	for _, series := range []string{"fawn_claim_seconds_count ", "fawn_wakes_missed_total ", "fawn_fenced_total 0",
		`fawn_takeovers_total{cause="eviction"} 0`, `fawn_takeovers_total{cause="drain"} 0`, "fawn_orphans 0",
		"fawn_pool_wait_seconds ", "fawn_claims_paused 0", "fawn_tail_lag_seconds{node="} {
		webtest.Holds(t, fmt.Sprintf("%s is missing", series), all, "\n"+series)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "msg=request") && !strings.Contains(line, " node=") {
			t.Errorf("no node in %s", line)
		}
	}
	webtest.Holds(t, "no request in the log", log.String(), "msg=request")
}

// TestRunsAreRefusedWhileTooManyWait with a status that asks to come back, and taken when there is room again.
func TestRunsAreRefusedWhileTooManyWait(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+"runs: {max_pending: 1}\nsandbox: {provider: off}\n", func(o *web.Options) {
		o.Log = slog.New(slog.DiscardHandler)
	})
	run := s.stream(t, t.Context(), "/threads/t1/runs/stream", human(slowly, `"stream_mode": ["messages-tuple"]`))
	run.until(t, "first")
	put := func() answer {
		return s.send(t, "POST", "/threads/t1/runs", human("and then?", `"multitask_strategy":"enqueue"`))
	}
	a := put()
	a.must(t, "the answer", http.StatusOK)
	until(t, func() bool { // the count may be some moments old
		a = put()
		return a.status != http.StatusOK
	})
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" ||
		!strings.Contains(a.body, "too many runs are waiting") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	s.send(t, "POST", run.res.Header.Get("Content-Location")+"/cancel?wait=1", "").fine(t, "POST it")
	until(t, func() bool { return put().status == http.StatusOK })
}
