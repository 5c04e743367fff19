package runs_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/store/pgtest"
)

// placed are the servers of a test, and where the last run has begun.
type placed struct {
	at chan string // the names of servers, in turn
}

func (p placed) build(name string) runs.Build {
	return func(context.Context, runs.Spec) (*agent.Agent, error) {
		p.at <- name
		return parrotAgent(), nil
	}
}

// keepsBox has a server's run begin, start the sandbox of a thread, and end.
func (p placed) keepsBox(t *testing.T, s *server, thread string) {
	t.Helper()
	run := s.start(t, thread, "hang")
	s.until(t, run, text("hang"))
	<-p.at
	if there, err := s.db.TakeBox(t.Context(), thread); !there || err != nil {
		t.Fatalf("its sandbox is written down: %v, %v", there, err)
	}
	must.Do(t, s.m.Cancel(t.Context(), thread, run.ID, true))
}

// begins starts a run at a server and says where it has begun.
func (p placed) begins(t *testing.T, s *server, req runs.Request) string {
	t.Helper()
	req.Input = human("next")
	run := must.Get(s.m.Start(t.Context(), req))(t)
	s.end(t, run, runs.Success)
	return <-p.at
}

// leaveForEver has runs left to the servers with the sandboxes of their threads without end, so that it does not matter
// how slow these are.
func (c cluster) leaveForEver(t *testing.T) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), c.url)
	if err == nil {
		defer conn.Close(context.Background())
		_, err = conn.Exec(t.Context(), `SET search_path TO `+pgtest.Schema(t.Name())+`;
			CREATE FUNCTION for_ever() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN NEW.ready := 1000000000000000; RETURN NEW; END $$;
			CREATE TRIGGER z_made BEFORE INSERT ON run FOR EACH ROW WHEN (NEW.ready > 0) EXECUTE FUNCTION for_ever();
			CREATE TRIGGER z_moved BEFORE UPDATE OF front, node ON run FOR EACH ROW
				WHEN (NEW.node = 0 AND NEW.ready > 0) EXECUTE FUNCTION for_ever();`).ReadAll()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ARunBeginsWhereTheSandboxIs of its thread, wherever it was asked for: at once, and when it was behind another one.
// One with secrets, which are in one server's memory only, begins there.
func (c cluster) ARunBeginsWhereTheSandboxIs(t *testing.T) {
	p := placed{make(chan string, 8)}
	a, b := c.join(t, c.url, 0, p.build("a")), c.join(t, c.url, 0, p.build("b"))
	c.leaveForEver(t)
	p.keepsBox(t, a, "t1")
	if at := p.begins(t, b, runs.Request{Thread: "t1"}); at != "a" {
		t.Errorf("it began at %s, and the sandbox is at a", at)
	}
	secret := runs.Request{Thread: "t1", Secrets: agent.Secrets{"KEY": "value"}}
	if at := p.begins(t, b, secret); at != "b" {
		t.Errorf("with secrets that b has it began at %s", at)
	}

	secret.Input = human("hang")
	first := must.Get(b.m.Start(t.Context(), secret))(t)
	b.until(t, first, text("hang"))
	<-p.at
	behind := b.startAs(t, "t1", "behind", "enqueue")
	if there, err := b.db.TakeBox(t.Context(), "t2"); there || err != nil {
		t.Errorf("the sandbox of a thread without a run is written down: %v, %v", there, err)
	}
	must.Do(t, b.m.Cancel(t.Context(), "t1", first.ID, true))
	b.end(t, behind, runs.Success)
	if at := <-p.at; at != "a" {
		t.Errorf("the run behind it began at %s, and the sandbox is at a", at)
	}

	must.Report(t, b.db.LeaveBox(t.Context(), "t1")) // which b has not
	if box, err := b.db.Box(t.Context(), "t1"); err != nil || box != (store.Box{Node: a.db.Self(), Lives: true}) {
		t.Errorf("the sandbox is at %+v, %v", box, err)
	}
	must.Report(t, a.db.LeaveBox(t.Context(), "t1"))
	if at := p.begins(t, b, runs.Request{Thread: "t1"}); at != "b" {
		t.Errorf("without a sandbox it began at %s, and was asked for at b", at)
	}
	whole(t, a, b)
}

// ARunDoesNotWaitForAServerWithoutRoom: it begins elsewhere, whoever has the sandbox.
func (c cluster) ARunDoesNotWaitForAServerWithoutRoom(t *testing.T) {
	p := placed{make(chan string, 8)}
	a, b := c.join(t, c.url, 1, p.build("a")), c.join(t, c.url, 1, p.build("b"))
	p.keepsBox(t, a, "t1")
	full := a.start(t, "t2", "hang")
	a.until(t, full, text("hang"))
	if at := <-p.at; at != "a" {
		t.Fatalf("the run that fills a is at %s", at)
	}
	for _, s := range []*server{a, b} {
		if at := p.begins(t, s, runs.Request{Thread: "t1"}); at != "b" {
			t.Errorf("it began at %s, which is full", at)
		}
	}
	must.Do(t, a.m.Cancel(t.Context(), "t2", full.ID, true))
	whole(t, a, b)
}

// TheSandboxOfAServerThatIsGoneKeepsNobodyWaiting.
func (c cluster) TheSandboxOfAServerThatIsGoneKeepsNobodyWaiting(t *testing.T) {
	wire := pgtest.NewWire(t, c.url)
	p := placed{make(chan string, 8)}
	a, b := c.joinFor(t, shortLease, wire.URL, 0, p.build("a")), c.join(t, c.url, 0, p.build("b"))
	c.leaveForEver(t)
	p.keepsBox(t, a, "t1")
	wire.Freeze()
	if at := p.begins(t, b, runs.Request{Thread: "t1"}); at != "b" {
		t.Errorf("it began at %s, which is gone", at)
	}
	if box, err := b.db.Box(t.Context(), "t1"); err != nil || box.Lives {
		t.Errorf("the sandbox is at %+v, %v", box, err)
	}
	whole(t, b)
}
