// Package hostrules stores the owners' decisions about hosts that agents ask to reach, and open questions.
package hostrules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"fawn/agent"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
	"fawn/store"
)

// Types of the events a run shows.
const (
	TypeQuestion = "network_question"
	TypeAnswer   = "network_answer"
)

// Spaces of the key-value table.
const (
	decisionSpace = "egress_decision" // key: host
	questionSpace = "egress_question" // key: thread and host
)

// maxQuestions limits a thread's open questions; further hosts are refused without one.
const maxQuestions = 64

// askTime limits the storing of a question, which a connection of a sandbox waits for.
const askTime = 10 * time.Second

// ErrAnswer means that an answer isn't once, thread, always or no.
var ErrAnswer = errors.New("unknown answer")

// Decisions holds questions and answers in the database. It is safe for concurrent use.
type Decisions struct {
	db       *store.DB
	announce func(thread string, event json.RawMessage)
	log      *slog.Logger

	// Patience returns a thread's active run, and how long a connection may wait for an answer; 0 doesn't wait, like a
	// nil Patience. Set it before use.
	Patience func(ctx context.Context, thread string) (run string, d time.Duration)

	waits waits

	mu sync.Mutex // serializes read-modify-write changes
}

// New returns Decisions. announce shows an event to the readers of a thread's run, if one is active.
func New(db *store.DB, announce func(thread string, event json.RawMessage), log *slog.Logger) *Decisions {
	return &Decisions{db: db, announce: announce, log: log}
}

// Lookup implements egress.Decisions.
func (d *Decisions) Lookup(ctx context.Context, thread, host string) (egress.Answer, bool, error) {
	about, err := d.about(ctx, host)
	if err != nil {
		return "", false, err
	}
	answer, ok := egress.Decide(about, thread, d.db.Now())
	return answer, ok, nil
}

// Remember implements egress.Decisions. The questions that it answers are gone with it.
func (d *Decisions) Remember(ctx context.Context, one egress.Decision) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	about, err := d.about(ctx, one.Host)
	if err != nil {
		return err
	}
	about = slices.DeleteFunc(about, func(o egress.Decision) bool {
		return o.Thread == one.Thread || o.Answer == egress.Once && one.At.Sub(o.At) >= egress.OnceFor
	})
	batch, err := decisionBatch(one.Host, append(about, one))
	if err != nil {
		return err
	}
	open, err := d.questions(ctx, "")
	if err != nil {
		return err
	}
	for _, q := range open {
		if q.Host == one.Host && (q.Thread == one.Thread || one.Answer == egress.Always) {
			batch.KV = append(batch.KV, store.KV{Space: questionSpace, Key: questionKey(q)})
		}
	}
	return d.db.Commit(ctx, batch)
}

// decisionBatch stores the decision about a host.
func decisionBatch(host string, about []egress.Decision) (store.Batch, error) {
	kv := store.KV{Space: decisionSpace, Key: host}
	if len(about) > 0 {
		body, err := agent.Encode(about)
		if err != nil {
			return store.Batch{}, err
		}
		kv.Body = body
	}
	return store.Batch{KV: []store.KV{kv}}, nil
}

func (d *Decisions) about(ctx context.Context, host string) ([]egress.Decision, error) {
	body, err := d.db.KV(ctx, store.Global, decisionSpace, host)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	var about []egress.Decision
	if err == nil {
		err = json.Unmarshal(body, &about)
	}
	if err != nil {
		return nil, fmt.Errorf("read the answers about %s: %w", host, err)
	}
	return about, nil
}

// Ask stores that a thread asks to reach an undecided host, and shows it to the readers of the thread's run.
func (d *Decisions) Ask(q egress.Question) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if err := d.ask(ctx, q); err != nil {
		d.log.Error("couldn't store a question about a host", "thread", q.Thread, "host", q.Host, "err", err)
	}
}

func (d *Decisions) ask(ctx context.Context, q egress.Question) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.db.Thread(ctx, q.Thread); errors.Is(err, store.ErrNotFound) {
		return nil // deleted meanwhile
	} else if err != nil {
		return err
	}
	open, err := d.questions(ctx, q.Thread)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(open, func(o egress.Question) bool { return o.Host == q.Host })
	if !known && len(open) >= maxQuestions {
		return nil
	}
	body, err := agent.Encode(q)
	if err != nil {
		return err
	}
	if err := d.db.Commit(ctx, store.Batch{KV: []store.KV{{Space: questionSpace, Key: questionKey(q),
		Body: body}}}); err != nil {
		return err
	}
	d.log.Warn("an agent wants to connect to a host that isn't allowed; answer in the chat, or add it to sandbox.network.allow",
		"thread", q.Thread, "host", q.Host, "port", q.Port)
	return d.show(q.Thread, map[string]any{"type": TypeQuestion, "thread_id": q.Thread, "host": q.Host, "port": q.Port,
		"at": q.At})
}

// show notifies the readers of a run.
func (d *Decisions) show(thread string, event map[string]any) error {
	data, err := agent.Encode(event)
	if err != nil {
		return err
	}
	d.announce(thread, data)
	return nil
}

func questionKey(q egress.Question) string { return q.Thread + " " + q.Host }

// Questions returns a thread's unanswered questions, oldest first.
func (d *Decisions) Questions(ctx context.Context, thread string) ([]egress.Question, error) {
	return d.questions(ctx, thread)
}

// questions returns the questions of one thread, or of all with "".
func (d *Decisions) questions(ctx context.Context, thread string) ([]egress.Question, error) {
	prefix := ""
	if thread != "" {
		prefix = thread + " "
	}
	rows, err := d.db.KVs(ctx, store.Global, questionSpace, prefix)
	if err != nil {
		return nil, fmt.Errorf("read questions about hosts: %w", err)
	}
	out := []egress.Question{}
	for _, kv := range rows {
		var q egress.Question
		if err := json.Unmarshal(kv.Body, &q); err != nil {
			return nil, fmt.Errorf("read question %s: %w", kv.Key, err)
		}
		q.Thread, q.Host, _ = strings.Cut(kv.Key, " ")
		out = append(out, q)
	}
	slices.SortStableFunc(out, func(a, c egress.Question) int { return a.At.Compare(c.At) })
	return out, nil
}

// Answer decides about a host for a thread. It holds for the next connection; a host that
// was never asked about can be decided too. Errors wrap netguard.ErrHost or ErrAnswer.
func (d *Decisions) Answer(ctx context.Context, thread, host string, answer egress.Answer) error {
	host, err := netguard.Host(host)
	if err != nil {
		return err
	}
	switch answer {
	case egress.Once, egress.Thread, egress.Always, egress.No:
	default:
		return fmt.Errorf("%w %.20q: want once, thread, always or no", ErrAnswer, answer)
	}
	if err := d.Remember(ctx, egress.Decision{Thread: thread, Host: host, Answer: answer,
		At: d.db.Now().UTC()}); err != nil {
		return err
	}
	d.waits.answer(thread, host, answer)
	return d.show(thread, map[string]any{"type": TypeAnswer, "thread_id": thread, "host": host, "answer": answer})
}

// Decisions returns all answers that hold now, by host. With a thread only its own.
func (d *Decisions) Decisions(ctx context.Context, thread string) ([]egress.Decision, error) {
	rows, err := d.db.KVs(ctx, store.Global, decisionSpace, "")
	if err != nil {
		return nil, fmt.Errorf("read answers about hosts: %w", err)
	}
	out, now := []egress.Decision{}, d.db.Now()
	for _, kv := range rows {
		var about []egress.Decision
		if err := json.Unmarshal(kv.Body, &about); err != nil {
			return nil, fmt.Errorf("read the answers about %s: %w", kv.Key, err)
		}
		for _, o := range about {
			if (thread == "" || o.Thread == thread) && (o.Answer != egress.Once || now.Sub(o.At) < egress.OnceFor) {
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// Always returns the answers that open a host to every thread, one for each host.
func (d *Decisions) Always(ctx context.Context) ([]egress.Decision, error) {
	all, err := d.Decisions(ctx, "")
	all = slices.DeleteFunc(all, func(d egress.Decision) bool { return d.Answer != egress.Always })
	return slices.CompactFunc(all, func(a, c egress.Decision) bool { return a.Host == c.Host }), err
}

// Forget takes back that a host is open to every thread. It reports whether it was.
func (d *Decisions) Forget(ctx context.Context, host string) (bool, error) {
	return d.change(ctx, host, func(o egress.Decision) bool { return o.Answer == egress.Always })
}

// change deletes decisions about a host.
func (d *Decisions) change(ctx context.Context, host string, gone func(egress.Decision) bool) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	about, err := d.about(ctx, host)
	if err != nil {
		return false, err
	}
	left := slices.DeleteFunc(slices.Clone(about), gone)
	if len(left) == len(about) {
		return false, nil
	}
	batch, err := decisionBatch(host, left)
	if err != nil {
		return false, err
	}
	return true, d.db.Commit(ctx, batch)
}

// Drop deletes a thread's questions and its own decisions.
func (d *Decisions) Drop(ctx context.Context, thread string) error {
	own, err := d.Decisions(ctx, thread)
	if err != nil {
		return err
	}
	for _, one := range own {
		if _, err := d.change(ctx, one.Host,
			func(o egress.Decision) bool { return o.Thread == thread && o.Answer != egress.Always }); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	open, err := d.questions(ctx, thread)
	if err != nil || len(open) == 0 {
		return err
	}
	var batch store.Batch
	for _, q := range open {
		batch.KV = append(batch.KV, store.KV{Space: questionSpace, Key: questionKey(q)})
	}
	return d.db.Commit(ctx, batch)
}
