package audit_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/command"
	"fawn/agent/middleware"
	"fawn/sandbox"
	"fawn/store"
	"fawn/web/audit"
	"fawn/web/webtest"
)

func auditStore(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	must.Do(t, err)
	t.Cleanup(func() { db.Close() })
	must.Do(t, db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: "t"}, NewThread: true}))
	return db
}

func ran(call string) sandbox.Record {
	return sandbox.Record{Time: time.Now(), Thread: "t", Provider: "p", Head: "cmd " + call, Exit: 3,
		Origin: sandbox.Origin{Run: "r", ToolCall: call}}
}

// TestACommandIsOneRowHoweverItsHalvesArrive: verdict and outcome are joined, a half that
// stays alone is stored too, and nothing is held for ever.
func TestACommandIsOneRowHoweverItsHalvesArrive(t *testing.T) {
	db := auditStore(t)
	trail := audit.New(db, slog.New(slog.DiscardHandler))
	judged := func(call, verdict string) middleware.AuditRecord {
		return middleware.AuditRecord{Time: time.Now(), Thread: "t", Run: "r", Call: call, Tool: "bash",
			Verdict: command.Level(verdict), Command: "raw", SHA256: "x"}
	}
	trail.Ran(ran("both"))
	trail.Judged(judged("both", "warn"))
	trail.Judged(judged("refused", "block"))
	trail.Ran(ran("alone"))
	trail.Ran(sandbox.Record{Time: time.Now(), Thread: "t", Head: "no call"})
	for i := range 400 { // more than are held
		trail.Ran(ran(fmt.Sprint("many", i)))
	}
	trail.Close()
	rows, err := db.Audit(t.Context(), store.AuditQuery{Thread: "t"})
	if err != nil || trail.Lost() != 0 {
		t.Fatalf("%d are lost, %v", trail.Lost(), err)
	}
	all := ""
	for _, r := range rows {
		all += string(r.Body) + "\n"
	}
	webtest.Same(t, "rows", len(rows), 404)
	for what, n := range map[string]int{`"command":"cmd both"`: 1, `"verdict":"warn"`: 1, `"verdict":"block"`: 1,
		`"command":"raw"`: 1, `"command":"cmd alone"`: 1, `"command":"no call"`: 1, `"exit":3`: 402} {
		webtest.Same(t, fmt.Sprintf("%s is there times", what), strings.Count(all, what), n)
	}
}

// TestAuditRowsThatCannotBeStoredAreCountedAndStopNobody: with a store that takes nothing,
// and after the end.
func TestAuditRowsThatCannotBeStoredAreCountedAndStopNobody(t *testing.T) {
	db := auditStore(t)
	must.Do(t, db.Close())
	var log strings.Builder // handlers write one after the other
	trail := audit.New(db, slog.New(slog.NewTextHandler(&log, nil)))
	for i := range 1000 {
		r := ran(fmt.Sprint(i))
		r.Head = strings.Repeat("x", 400)
		r.Origin.ToolCall = ""
		trail.Ran(r)
	}
	trail.Close()
	trail.Judged(middleware.AuditRecord{Thread: "t", Path: "/etc"})
	webtest.Same(t, "are counted", trail.Lost(), 1001)
	webtest.Same(t, "said … times", strings.Count(log.String(), "lost audit rows"), 1)
}
