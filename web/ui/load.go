package ui

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/web/ui/input"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// pageRuns is how many of the newest runs are looked at for the newest turns.
const pageRuns = 120

// everything as a cursor means all that is stored.
const everything = math.MaxInt64

// conversation is a thread as a page shows it: stored turns, and on top of them the run
// under way as far as its events go.
type conversation struct {
	thread     store.Thread
	title      string
	stateTitle string // as of the events in turns; a newer title is in the thread's row first
	artifacts  []string
	told       []agent.ToldFile
	turns      *turns.Builder
	base       int                   // turns of the builder that were there before the run
	part       bool                  // the newest turns and the run are left out
	gaps       map[string]*views.Gap // in front of these turns
	behind     *views.Gap            // after the last turn
	resumable  bool                  // a run without input would do something
	asking     bool                  // the stored thread waits for the answer to a question
	todos      []views.Todo
	suggests   bool // follow-ups are offered

	run    store.Run // the run followed; ID "" when there is none
	reader *runs.Reader
	seq    int64 // the events of the run up to here are in turns
	ended  bool  // the run's last event is among them

	queue []views.Queued
	later []views.Attachment // files of the messages in the queue
	short agent.View         // how the model reads the conversation
	asks  []views.NetworkQuestion
	stale bool // an event changed what is asked since asks were read

	hidden  int    // messages that short hides
	shortAt string // the checkpoint with a newer short; "" is none
}

// load reads the newest turns of a thread, and those around message at unless that is "".
// With run "" it follows the one under way, if any; events past until are left out.
// Errors: store.ErrNotFound.
func (u *UI) load(ctx context.Context, thread, run string, until int64, at string) (*conversation, error) {
	return u.read(ctx, thread, run, until, extent{at: at})
}

// read is load for any extent.
func (u *UI) read(ctx context.Context, thread, run string, until int64, e extent) (*conversation, error) {
	v := &conversation{part: e.part(), gaps: map[string]*views.Gap{}}
	var err error
	if v.thread, err = u.OwnThread(ctx, thread); err != nil {
		return nil, err
	}
	var events []runs.Event
	switch {
	case v.part:
	case run != "":
		events, err = u.follow(ctx, v, run, until)
	default:
		events, err = u.followActive(ctx, v)
	}
	if err != nil {
		return nil, err
	}
	checkpoint := v.thread.Head
	if v.run.FirstSeq > 0 {
		checkpoint = v.run.BaseCheckpoint
	} else if from := runs.From(v.run); from != "" {
		checkpoint = from
	}
	v.turns = turns.New(thread, u.describer(thread))
	v.turns.Model = u.ModelLabel
	if !v.part { // what is past says nothing about now
		if v.turns.Window = u.Window; v.turns.Window == nil {
			v.turns.Window = u.Config.Current().WindowOf
		}
	}
	v.title = v.thread.Title
	if checkpoint != "" {
		if err := u.loadStored(ctx, v, checkpoint, e); err != nil {
			return nil, err
		}
	}
	v.base = len(v.turns.Turns)
	if v.run.ID != "" {
		v.start()
		for _, ev := range events {
			v.fold(ev)
		}
		v.turns.Sync()
	}
	if err := u.reread(ctx, v); err != nil {
		return nil, err
	}
	v.stale = false
	v.suggests = !v.part && u.Aside != nil && u.Config.Current().File.Suggestions.Enabled
	v.queue, v.later = u.queue(thread)
	v.asks, err = u.asks(ctx, thread)
	return v, err
}

// followActive follows the run under way.
func (u *UI) followActive(ctx context.Context, v *conversation) ([]runs.Event, error) {
	for {
		run := u.Runs.Active(v.thread.ID)
		if run == "" { // one may have ended since the thread was read
			var err error
			v.thread, err = u.OwnThread(ctx, v.thread.ID)
			return nil, err
		}
		events, err := u.follow(ctx, v, run, everything)
		if err == nil && v.run.ID == "" { // not stored yet, or gone already: there is nothing to show, nor to wait for
			v.thread, err = u.OwnThread(ctx, v.thread.ID)
			return nil, err
		}
		if err != nil || !runs.Done(v.run.Status) && !over(events) {
			return events, err
		}
		// It ended just now: what it wrote is stored, and a queued one may be next.
		v.run, v.reader = store.Run{}, nil
		if _, err := u.Runs.Wait(ctx, run); err != nil {
			return nil, err
		}
	}
}

// over tells whether the end of the run is among its events: its row, which was read before
// them, may not know yet.
func over(events []runs.Event) bool {
	return slices.ContainsFunc(events, func(ev runs.Event) bool { return ev.Kind == runs.KindEnd })
}

// follow opens a run and reads its events up to a cursor. A run of another thread, or one
// that is gone, is none.
func (u *UI) follow(ctx context.Context, v *conversation, run string, until int64) ([]runs.Event, error) {
	for {
		reader, err := u.Runs.Follow(ctx, run)
		if errors.Is(err, runs.ErrNotFound) {
			return nil, nil
		}
		if err != nil || reader.Run().ThreadID != v.thread.ID {
			return nil, err
		}
		events, err := readyUntil(ctx, reader, until)
		if err != nil {
			return nil, err
		}
		// The head of now belongs to a run that has not begun.
		if v.thread, err = u.OwnThread(ctx, v.thread.ID); err != nil {
			return nil, err
		}
		if reader.Run().FirstSeq == 0 {
			row, err := u.DB.Run(ctx, run)
			if err != nil {
				return nil, err
			}
			if row.FirstSeq > 0 {
				continue // it began in between: where it began is in its row now
			}
		}
		v.run, v.reader = reader.Run(), reader
		return events, nil
	}
}

// readyUntil reads what is there of a run up to a cursor.
func readyUntil(ctx context.Context, reader *runs.Reader, until int64) ([]runs.Event, error) {
	var all []runs.Event
	for after := int64(0); after < until; {
		evs, err := reader.Ready(ctx, after)
		if err != nil || len(evs) == 0 {
			return all, err
		}
		for _, ev := range evs {
			if ev.To > until {
				return all, nil
			}
			all = append(all, ev)
		}
		after = evs[len(evs)-1].To
	}
	return all, nil
}

// loadStored builds the turns of a checkpoint.
func (u *UI) loadStored(ctx context.Context, v *conversation, checkpoint string, e extent) error {
	snap, err := u.DB.Snapshot(ctx, v.thread.ID, checkpoint)
	if err != nil {
		return err
	}
	next := snap.Checkpoint.Next
	v.resumable = len(next) > 0 && next[0] != agent.NodeInterrupt
	v.asking = len(next) > 0 && next[0] == agent.NodeInterrupt && !v.part
	v.plan(snap.Fields["todos"])
	if err := decodeField(snap, "artifacts", &v.artifacts); err != nil {
		return err
	}
	if err := decodeField(snap, "told_files", &v.told); err != nil {
		return err
	}
	var title string
	if err := decodeField(snap, "title", &title); err != nil {
		return err
	}
	v.stateTitle = title
	if err := v.hide(snap); err != nil {
		return err
	}
	if v.title == "" {
		v.title = title
	}
	spans, err := v.fill(snap.Messages, e)
	if err != nil {
		return err
	}
	if err := u.relieve(ctx, v, snap); err != nil {
		return err
	}
	return u.settleTurns(ctx, v, snap, spans, e != extent{})
}

// fill adds the turns that are wanted, and says where they begin.
func (v *conversation) fill(rows []store.MessageRow, e extent) ([]turns.Span, error) {
	list, behind, err := e.choose(rows)
	if err != nil {
		return nil, err
	}
	v.behind = behind
	var spans []turns.Span
	for _, s := range list {
		first := len(v.turns.Turns)
		if s.from > 0 { // runs of turns that are left out belong to none of those shown
			spans = append(spans, turns.Span{Turn: "", Start: s.from - 1})
		}
		for i, row := range rows[s.from:s.to] {
			m, err := agent.ParseMessage(row.Body)
			if err != nil {
				return nil, err
			}
			n := len(v.turns.Turns)
			v.turns.Add(m)
			if len(v.turns.Turns) > n {
				spans = append(spans, turns.Span{Turn: v.turns.Turns[n].ID, Start: s.from + i})
			}
		}
		if s.gap != nil && len(v.turns.Turns) > first {
			v.gaps[v.turns.Turns[first].ID] = s.gap
		}
		if s.to < len(rows) {
			spans = append(spans, turns.Span{Turn: "", Start: s.to})
		}
	}
	return spans, nil
}

// cutOff tells whether there are turns before the first one.
func (v *conversation) cutOff() bool {
	return len(v.turns.Turns) > 0 && v.gaps[v.turns.Turns[0].ID] != nil
}

func decodeField(s store.Snapshot, name string, into any) error {
	body, ok := s.Fields[name]
	if !ok {
		return nil
	}
	return json.Unmarshal(body, into)
}

// start shows the run under way before its first event: the message it was started with,
// or that the last turn goes on.
func (v *conversation) start() {
	b := v.turns
	b.Since = v.run.CreatedAt
	in := input.Of(v.run)
	for _, m := range in.Messages {
		if !m.Human() || m.ID == "" {
			continue
		}
		if msg, err := agent.ParseMessage(m.Raw); err == nil {
			b.Add(msg)
		}
	}
	if len(b.Turns) == 0 || in.Given && len(b.Turns) == v.base {
		return // a message without an id: its turn comes with the first step
	}
	v.working(views.TurnQueued)
}

// working marks the newest turn as the one the run works on.
func (v *conversation) working(s views.TurnState) {
	t := &v.turns.Turns[len(v.turns.Turns)-1]
	t.State, t.Failure, t.Elapsed, t.Tokens = s, nil, 0, 0
	t.Trail.Since, t.Trail.Elapsed = v.run.CreatedAt, 0
}

// fold takes the next event of the run.
func (v *conversation) fold(ev runs.Event) {
	v.stale = v.stale || aboutHosts(ev)
	v.seq = ev.To
	n := len(v.turns.Turns)
	v.turns.Event(ev)
	switch ev.Kind {
	case runs.KindMeta:
		if n > v.base || n > 0 && !input.Of(v.run).Given {
			v.working(views.TurnRunning)
		}
	case runs.KindEnd:
		v.ended = true
	case runs.KindCustom:
		v.editedPlan(ev)
	case runs.KindStep:
		if turns.OfHelper(ev) { // its steps write nothing of the thread
			break
		}
		if len(v.turns.Turns) > n {
			v.working(views.TurnRunning)
		}
		v.fields(ev.Step.Fields)
		if _, ok := ev.Step.Fields["summary_text"]; ok { // written with what the model reads in its place
			v.shortAt = ev.Step.Checkpoint
		}
	}
}

// fields takes over what a step wrote beside messages.
func (v *conversation) fields(f map[string]json.RawMessage) {
	var title string
	if json.Unmarshal(f["title"], &title) == nil && title != "" {
		v.title, v.stateTitle = title, title
	}
	if todos, ok := f["todos"]; ok {
		v.plan(todos)
	}
	var fresh []string
	if json.Unmarshal(f["artifacts"], &fresh) == nil {
		for _, p := range fresh {
			if !slices.Contains(v.artifacts, p) {
				v.artifacts = append(v.artifacts, p)
			}
		}
	}
}

// running tells whether a run is under way.
func (v *conversation) running() bool { return v.run.ID != "" && !v.ended }

// heading is the title, or the first words that were said while there is none.
func (v *conversation) heading() string {
	if v.title != "" {
		return v.title
	}
	if len(v.turns.Turns) > 0 && v.turns.Turns[0].User != nil && !v.cutOff() {
		return page.FirstWords(v.turns.Turns[0].User.Text)
	}
	return ""
}

// describer describes files of a thread for cards.
func (u *UI) describer(thread string) func(string) views.File {
	return func(virtual string) views.File {
		f := views.File{ThreadID: thread, Path: strings.TrimPrefix(virtual, "/"), Kind: views.KindOf(virtual, ""),
			Unseen: uploads.UnseenPicture(virtual)}
		files, err := u.Dirs.Open(thread)
		if err != nil {
			return f
		}
		defer files.Close()
		if info, err := files.Stat(virtual); err == nil && info.Mode().IsRegular() {
			f.Bytes, f.Modified = info.Size(), info.ModTime()
		}
		return f
	}
}
