package ask_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/clusterstate"
	"fawn/agent/mcp/ask"
	"fawn/store"
	"fawn/store/pgtest"
)

// patience is how long something may take on a busy machine.
const patience = time.Minute

// node is a server of a cluster.
type node struct {
	*ask.Board
	db *store.DB
}

func open(t *testing.T, url, wake string) node {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Schema: "ask", Cluster: true,
		Wake: wake, Log: log}))(t)
	t.Cleanup(func() { _ = db.Close() }) // some have ended before
	keys := must.Get(clusterstate.ParseKeys("the key of all who are here which is long"))(t)
	rows := must.Get(clusterstate.Open(t.Context(), db, keys, log))(t)
	return node{ask.NewBoard(rows, log), db}
}

func question(t *testing.T, thread string, patience time.Duration) *ask.Question {
	t.Helper()
	q := must.Get(ask.New(ask.Sent{Thread: thread, Server: "s", Message: "Which size?", Patience: patience,
		Now:  time.Now(),
		Veil: func(s string) string { return s }, Schema: map[string]any{"type": "object", "required": []string{"size"},
			"properties": map[string]any{"size": map[string]any{"type": "string", "enum": []string{"s", "m"}}}}}))(t)
	return q
}

type outcome struct {
	reply ask.Reply
	err   error
}

// asks begins to wait for an answer, and returns when others can see the question.
func (n node) asks(t *testing.T, ctx context.Context, q *ask.Question) <-chan outcome {
	t.Helper()
	shown, done := make(chan struct{}), make(chan outcome, 1)
	go func() {
		r, err := n.Ask(ctx, q, func() { close(shown) })
		done <- outcome{r, err}
	}()
	select {
	case <-shown:
	case o := <-done:
		select {
		case <-shown: // and over since, on a busy machine
			done <- o
		default:
			t.Fatalf("the question is over: %+v", o)
		}
	}
	return done
}

func (n node) open(t *testing.T, thread string) []*ask.Question {
	t.Helper()
	list := must.Get(n.Open(t.Context(), thread))(t)
	return list
}

func got(t *testing.T, done <-chan outcome) ask.Reply {
	t.Helper()
	select {
	case o := <-done:
		if o.err != nil {
			t.Error(o.err)
		}
		return o.reply
	case <-time.After(patience):
		t.Fatal("the call waits on")
		return ask.Reply{}
	}
}

// TestAQuestionIsAnsweredAtAnotherServer, by one of those who try, whether servers are woken up or look.
func TestAQuestionIsAnsweredAtAnotherServer(t *testing.T) {
	for _, wake := range []string{"notify", "poll"} {
		t.Run(wake, func(t *testing.T) {
			url := pgtest.URL(t)
			a, b := open(t, url, wake), open(t, url, wake)
			q := question(t, "t", patience)
			done := a.asks(t, t.Context(), q)
			for _, n := range []node{a, b} {
				list := n.open(t, "t")
				if len(list) != 1 || list[0].ID != q.ID || list[0].Message != "Which size?" ||
					len(list[0].Fields) != 1 || len(list[0].Fields[0].Options) != 2 || !list[0].Fields[0].Required {
					t.Fatalf("the questions are %+v", list)
				}
				if list := n.open(t, "other"); len(list) != 0 {
					t.Errorf("another thread has %+v", list)
				}
			}
			for _, bad := range []map[string]any{nil, {"size": "xl"}, {"size": strings.Repeat("m", 300<<10)}} {
				err := b.Answer(t.Context(), "t", q.ID, ask.Reply{Action: ask.Accept, Content: bad})
				if !errors.Is(err, ask.ErrContent) {
					t.Errorf("it takes %.40v: %v", bad, err)
				}
			}
			if err := b.Answer(t.Context(), "other", q.ID, ask.Reply{Action: ask.Decline}); err != ask.ErrNoQuestion {
				t.Errorf("another thread answers: %v", err)
			}
			var work sync.WaitGroup
			m := ask.Reply{Action: ask.Accept, Content: map[string]any{"size": "m"}}
			errs := make([]error, 8)
			for i := range errs {
				n := []node{a, b}[i%2]
				work.Go(func() { errs[i] = n.Answer(t.Context(), "t", q.ID, m) })
			}
			work.Wait()
			taken := 0
			for _, err := range errs {
				if err == nil {
					taken++
				} else if err != ask.ErrAnswered {
					t.Error(err)
				}
			}
			if taken != 1 {
				t.Errorf("%d answers were taken", taken)
			}
			if list := b.open(t, "t"); len(list) != 0 {
				t.Errorf("it is still open: %+v", list)
			}
			if r := got(t, done); r.Action != ask.Accept || r.Content["size"] != "m" {
				t.Errorf("the call goes on with %+v", r)
			}
			if err := b.Answer(t.Context(), "t", q.ID, ask.Reply{Action: ask.Decline}); err != ask.ErrAnswered {
				t.Errorf("a second answer later: %v", err)
			}
		})
	}
}

// TestAQuestionGoesWithItsCall: when nobody needs the answer, when there was none in time, and when the server that has
// the call is gone without having taken the question back.
func TestAQuestionGoesWithItsCall(t *testing.T) {
	url := pgtest.URL(t)
	a, b := open(t, url, "notify"), open(t, url, "notify")
	ctx, cancel := context.WithCancel(t.Context())
	q := question(t, "t", patience)
	done := a.asks(t, ctx, q)
	cancel()
	if r := got(t, done); r.Action != ask.Cancel {
		t.Errorf("the call goes on with %+v", r)
	}
	short := question(t, "t", 50*time.Millisecond)
	if r := got(t, a.asks(t, t.Context(), short)); r.Action != ask.Cancel {
		t.Errorf("without an answer the call goes on with %+v", r)
	}
	for _, o := range []*ask.Question{q, short} {
		if err := b.Answer(t.Context(), "t", o.ID, ask.Reply{Action: ask.Decline}); err != ask.ErrNoQuestion {
			t.Errorf("it is answered all the same: %v", err)
		}
	}
	lost := question(t, "t", patience)
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	done = a.asks(t, ctx, lost)
	must.Do(t, a.db.Close()) // later writes fail, as after a kill
	cancel()
	<-done
	if list := b.open(t, "t"); len(list) != 0 {
		t.Errorf("the question of a server that is gone is open: %+v", list)
	}
	if err := b.Answer(t.Context(), "t", lost.ID, ask.Reply{Action: ask.Decline}); err != ask.ErrNoQuestion {
		t.Errorf("it is answered: %v", err)
	}
}

// TestAThreadHasSoManyQuestions at a time, at a server that is alone, too.
func TestAThreadHasSoManyQuestions(t *testing.T) {
	n := node{Board: ask.NewBoard(clusterstate.NotesIn(nil), slog.New(slog.DiscardHandler))}
	ctx, cancel := context.WithCancel(t.Context())
	var all []<-chan outcome
	for range 8 {
		all = append(all, n.asks(t, ctx, question(t, "t", patience)))
	}
	if _, err := n.Ask(ctx, question(t, "t", patience), func() { t.Error("it is shown") }); err != ask.ErrMany {
		t.Errorf("one more: %v", err)
	}
	list := n.open(t, "t")
	if len(list) != 8 {
		t.Fatalf("%d are open", len(list))
	}
	must.Do(t, n.Answer(ctx, "t", list[0].ID, ask.Reply{Action: ask.Decline}))
	if r := got(t, all[0]); r.Action != ask.Decline {
		t.Errorf("the oldest goes on with %+v", r)
	}
	again := n.asks(t, ctx, question(t, "t", patience))
	cancel()
	for _, done := range append(all[1:], again) {
		if r := got(t, done); r.Action != ask.Cancel {
			t.Errorf("one goes on with %+v", r)
		}
	}
	if list := n.open(t, "t"); len(list) != 0 {
		t.Errorf("%d are left", len(list))
	}
}
