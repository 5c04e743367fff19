package channels

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/channels/chat"
	"fawn/agent/runs"
	"fawn/store"
)

// Origin is the origin of runs that chats start.
const Origin = "channel"

// space is the namespace of all ids derived from a platform's.
var space = uuid.MustParse("6f1f0a5e-6a0e-5d0b-9d2e-3a1c5a8f7c41")

// key derives an id from a platform's, the same each time.
func key(provider, id string) string {
	return uuid.NewSHA1(space, []byte(provider+"\x00"+id)).String()
}

// turn is a run that a line starts or continues.
type turn struct {
	l     *line
	run   string
	batch []*admitted
	kept  *reserved // the stored part, nil before it is stored
}

// reserved holds the thread of a turn and the destination of its answer.
type reserved struct {
	chat  store.ChannelChat
	first store.Outbound
	fresh bool // nothing of the run was stored before
}

// answer turns messages into a turn and returns when its run has ended, or the bot is to stop.
func (l *line) answer(ctx context.Context, batch []*admitted) {
	t := &turn{l: l, run: key(l.b.provider, batch[0].u.ID), batch: batch}
	if !l.b.h.slots.Try() {
		t.insist(ctx, func() error { return t.queue(ctx) })
		if l.b.h.slots.Take(ctx) != nil {
			return // another server continues
		}
	}
	defer l.b.h.slots.Give()
	t.insist(ctx, func() error { return t.begin(ctx) })
}

// goOn resumes a turn of the previous server.
func (l *line) goOn(ctx context.Context, run string) {
	t := &turn{l: l, run: run}
	if l.b.h.slots.Take(ctx) != nil {
		return
	}
	defer l.b.h.slots.Give()
	t.insist(ctx, func() error {
		rows, err := l.b.h.cfg.DB.RunInbound(ctx, run)
		if err != nil || len(rows) == 0 {
			return err
		}
		t.batch = nil
		there := true // all senders may still write
		for _, row := range rows {
			u, err := decode(row)
			if err != nil {
				return l.b.h.cfg.DB.SettleInbound(ctx, store.InboundFailed, err.Error(), row.N)
			}
			w, known, err := l.b.who(ctx, u.Sender)
			if err != nil {
				return err
			}
			if !known && u.Group {
				g, err := l.b.h.cfg.DB.ChannelChat(ctx, l.b.provider, u.Chat, "")
				if err != nil && !missing(err) {
					return err
				}
				if host := l.b.host(g); host != nil {
					w, known = *host, true
				}
			}
			there = there && known
			cmd, _ := parseCommand(u.Text)
			a := &admitted{row: row, u: u, who: w}
			if cmd.name == "bootstrap" {
				a.cmd = l.b.known(cmd)
			}
			t.batch = append(t.batch, a)
		}
		if _, err := l.b.h.cfg.DB.Run(ctx, run); err == nil {
			return t.follow(ctx)
		} else if !missing(err) {
			return err
		}
		if !there {
			return t.end(ctx, store.InboundRefused, "stranger")
		}
		return t.begin(ctx)
	})
}

// insist retries an operation until it succeeds or the bot stops.
func (t *turn) insist(ctx context.Context, do func() error) {
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, time.Minute) {
		err := do()
		if err == nil || errors.Is(err, runs.ErrClosed) {
			return
		}
		if ctx.Err() == nil {
			t.l.b.h.cfg.Log.Error("couldn't start a run for a chat", "channel", t.l.b.provider, "run", t.run, "err", err)
		}
		if pause(ctx, wait) != nil {
			return
		}
	}
}

// queue stores the turn and shows in its chat that it waits.
func (t *turn) queue(ctx context.Context) error {
	r, err := t.reserve(ctx)
	if err == nil {
		t.l.b.deliver(r.first, r.fresh)
		t.l.b.waits(t.run, true)
	}
	return err
}

// reserve stores the messages as this run's. It may be repeated.
func (t *turn) reserve(ctx context.Context) (r reserved, err error) {
	if t.kept != nil {
		return *t.kept, nil
	}
	l, last := t.l, t.batch[len(t.batch)-1]
	if err := l.b.h.writes.Take(ctx); err != nil {
		return r, err
	}
	defer l.b.h.writes.Give()
	if r.chat, err = l.chat(ctx, last); err != nil {
		return r, err
	}
	if to := t.batch[0].thread; to != "" { // together with messages written right after it
		r.chat.Thread = to
	}
	if r.chat.Thread, err = t.thread(ctx, r.chat); err != nil {
		return r, err
	}
	now := l.b.h.cfg.DB.Now()
	if r.first, err = firstPiece(t.run, r.chat, last, now); err != nil {
		return r, err
	}
	row, err := newThread(r.chat, last, now)
	if err != nil {
		return r, err
	}
	var numbers []int64
	waited := 0
	for _, a := range t.batch {
		numbers = append(numbers, a.row.N)
		if a.row.State != store.InboundStarted {
			waited++
		}
	}
	turn := store.ChannelTurn{Run: t.run, Numbers: numbers, Chat: r.chat, Thread: &row, Out: r.first}
	if err := l.b.h.cfg.DB.BeginTurn(ctx, turn); err != nil {
		return r, err
	}
	for _, a := range t.batch {
		a.row.State = store.InboundStarted
	}
	if waited > 0 {
		l.b.taken(waited)
	}
	kept := r
	t.kept = &kept
	r.fresh = waited == len(t.batch)
	return r, nil
}

// begin stores the turn, starts its run and follows it. It may be repeated.
func (t *turn) begin(ctx context.Context) error {
	l, cfg := t.l, &t.l.b.h.cfg
	r, err := t.reserve(ctx)
	if err != nil {
		return err
	}
	l.b.deliver(r.first, r.fresh)
	l.b.waits(t.run, false)
	req, err := t.request(ctx, r.chat)
	if err != nil {
		return err
	}
	_, err = cfg.Runs.Start(ctx, req)
	switch {
	case err == nil || errors.Is(err, runs.ErrExists):
		return t.follow(ctx)
	case errors.Is(err, runs.ErrInput):
		return t.end(ctx, store.InboundFailed, err.Error())
	}
	t.kept = nil // the thread may have been deleted
	return err
}

// thread returns the thread a chat continues, or a new id if there is none or it was deleted.
func (t *turn) thread(ctx context.Context, c store.ChannelChat) (string, error) {
	id := key("thread", t.run)
	if c.Thread == "" {
		return id, nil
	}
	th, err := t.l.b.h.cfg.DB.Thread(ctx, c.Thread)
	switch {
	case missing(err) || err == nil && (!th.DeletedAt.IsZero() || th.Owner != c.Owner):
		return id, nil
	case err != nil:
		return "", err
	}
	return c.Thread, nil
}

// newThread returns the row of a thread that a chat begins.
func newThread(c store.ChannelChat, a *admitted, now time.Time) (store.Thread, error) {
	source := map[string]any{"type": "im_channel", "provider": c.Provider, "chat_id": c.Chat}
	if c.Topic != "" {
		source["topic_id"] = c.Topic
	}
	if a.who.connection != "" {
		source["connection_id"] = a.who.connection
	}
	meta := map[string]any{"channel_source": source}
	if a.who.open {
		source["open"] = true
	}
	raw, err := agent.Encode(meta)
	return store.Thread{ID: c.Thread, Owner: c.Owner, Status: runs.Idle, Metadata: raw, CreatedAt: now, UpdatedAt: now,
		StateUpdatedAt: now}, err
}

// request returns the run request of a turn: each message keeps its id.
func (t *turn) request(ctx context.Context, c store.ChannelChat) (runs.Request, error) {
	conf := t.l.b.conf()
	last := t.batch[len(t.batch)-1]
	var messages []any
	for _, a := range t.batch {
		text := a.u.Text
		if a.cmd.name == "bootstrap" {
			text = a.cmd.arg
			if text == "" {
				text = "Let's make an agent."
			}
		}
		if text == "" && t.l.b.listens(a.u) {
			var err error
			if text, err = t.listen(ctx, a.u); err != nil {
				return runs.Request{}, err
			}
		}
		notes, err := t.attach(ctx, c.Thread, a.u)
		if err != nil {
			return runs.Request{}, err
		}
		text = inContext(a.u, text)
		if a.u.Group && a.u.Sender.Name != "" {
			text = "[" + clean(agent.Head(a.u.Sender.Name, 64)) + "] " + text
		}
		for _, n := range notes {
			text += "\n" + n
		}
		messages = append(messages, map[string]any{"type": "human", "id": key(t.l.b.provider, "message "+a.u.ID),
			"content": text})
	}
	options := map[string]any{}
	maps.Copy(options, conf.Context)
	options["channel_name"], options["channel_user_id"] = t.l.b.provider, last.u.Sender.ID
	if last.who.limited() {
		options["channel_guest"] = true
	}
	if m := settingsOf(c).Model; m != "" {
		options["model_name"] = m
	}
	if last.cmd.name == "bootstrap" {
		options["is_bootstrap"] = true
	}
	req := runs.Request{ID: t.run, Thread: c.Thread, Owner: c.Owner, AssistantID: conf.Assistant, Origin: Origin,
		IfNotExists: "reject", Multitask: "enqueue"}
	var err error
	if req.Input, err = agent.Encode(map[string]any{"messages": messages}); err != nil {
		return req, err
	}
	if req.Context, err = agent.Encode(options); err != nil {
		return req, err
	}
	if len(conf.Config) > 0 {
		req.Config, err = agent.Encode(conf.Config)
	}
	return req, err
}

// longestQuote limits the quoted text before a message, in bytes.
const longestQuote = 2000

// inContext prepends the quoted message to a text, and names the author of a forwarded one.
func inContext(u chat.Update, text string) string {
	if u.Forwarded != "" {
		text = fmt.Sprintf(forwarded, clean(agent.Head(u.Forwarded, 64))) + "\n" + text
	}
	if quote := strings.TrimSpace(agent.Head(u.Quote, longestQuote)); quote != "" {
		text = "> " + strings.ReplaceAll(quote, "\n", "\n> ") + "\n\n" + text
	}
	return text
}

// follow waits for the end of the run and marks its messages as handled.
func (t *turn) follow(ctx context.Context) error {
	t.l.b.begun(t.run)
	run, err := t.l.b.h.cfg.Runs.Wait(ctx, t.run)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return t.end(ctx, store.InboundFailed, "the run was deleted")
	case err != nil:
		return err
	case !runs.Done(run.Status): // the server stops; another one continues the run
		return runs.ErrClosed
	}
	return t.end(ctx, store.InboundDone, "")
}

func (t *turn) end(ctx context.Context, state, reason string) error {
	err := t.l.b.h.cfg.DB.EndInbound(ctx, state, reason, t.run)
	if err == nil && state == store.InboundRefused {
		t.l.b.h.cfg.Observer.Refusal(t.l.b.provider, reason)
	}
	t.l.b.begun(t.run) // the run has begun, or never will
	return err
}

// target is the destination of an answer, kept in its first row.
type target struct {
	To     chat.Address `json:"to"`
	Reply  string       `json:"reply,omitempty"`
	Thread string       `json:"thread"`
	Owner  string       `json:"owner,omitempty"`
	Asker  *chat.Person `json:"asker,omitempty"` // must be connected for the answer to be sent; empty sends it always

	Whole  bool   `json:"whole,omitempty"`  // sent when complete, to a chat that didn't ask
	Title  string `json:"title,omitempty"`  // title of a task
	Failed string `json:"failed,omitempty"` // why there is no run
	Lang   string `json:"lang,omitempty"`   // the sender's language, if the app reports it
}

// firstPiece returns the first unsent message of an answer.
func firstPiece(run string, c store.ChannelChat, a *admitted, now time.Time) (store.Outbound, error) {
	to := target{To: a.u.Address, Thread: c.Thread, Owner: c.Owner, Lang: a.u.Sender.Lang}
	if a.u.Group {
		to.Reply = a.u.Message
	}
	if a.who.connection != "" {
		to.Asker = &chat.Person{ID: a.u.Sender.ID, Workspace: a.u.Sender.Workspace}
	}
	raw, err := agent.Encode(to)
	if err != nil {
		return store.Outbound{}, fmt.Errorf("where to answer: %w", err)
	}
	return store.Outbound{Run: run, Piece: "0", Provider: c.Provider, Chat: c.Chat, Topic: c.Topic, Place: raw,
		State: store.OutboundPlanned, At: now}, nil
}
