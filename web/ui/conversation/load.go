package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/request"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// pageRuns limits the newest runs read for the newest turns.
const pageRuns = 120

// Everything as a cursor means all that is stored.
const Everything = math.MaxInt64

// View is a thread as shown on a page: stored turns followed by the active run's events so far.
type View struct {
	Thread     store.Thread
	title      string
	stateTitle string // title according to the events in turns; a newer title is in the thread's row first
	Artifacts  []string
	told       []agent.ToldFile
	Turns      *turns.Builder
	base       int                   // turns of the builder that were there before the run
	before     Scene                 // state of the last of them, before the run
	part       bool                  // the newest turns and the run are left out
	Gaps       map[string]*views.Gap // before these turns
	behind     *views.Gap            // after the last turn
	resumable  bool                  // a run without input would do something
	asking     bool                  // the stored thread waits for the answer to a question
	todos      []views.Todo
	suggests   bool // follow-ups are offered

	run    store.Run // the followed run; ID "" for none
	reader *eventlog.Reader
	seq    int64 // the events of the run up to here are in turns
	ended  bool  // the run's last event is among them

	queue []views.Queued
	later []views.Attachment // files of the messages in the queue
	Short agent.View         // how the model reads the conversation
	asks  []views.NetworkQuestion
	stale bool // an event changed the questions since asks were read

	retitled bool // an event changed the title since the thread was read, whose own title counts

	Hidden  int    // messages that short hides
	shortAt string // the checkpoint with a newer short; "" is none
}

// Load reads the newest turns of a thread, and those around message at unless it is "". With run "" it follows the
// active one, if any; events after until are ignored. Errors: store.ErrNotFound.
func (h *Handlers) Load(ctx context.Context, thread, run string, until int64, at string) (*View, error) {
	return h.read(ctx, thread, run, until, Extent{At: at})
}

// read is load for any extent.
func (h *Handlers) read(ctx context.Context, thread, run string, until int64, e Extent) (*View, error) {
	v := &View{part: e.part(), Gaps: map[string]*views.Gap{}}
	var err error
	if v.Thread, err = h.OwnThread(ctx, thread); err != nil {
		return nil, err
	}
	var events []runevent.Event
	switch {
	case v.part:
	case run != "":
		events, err = h.follow(ctx, v, run, until)
	default:
		events, err = h.followActive(ctx, v)
	}
	if err != nil {
		return nil, err
	}
	checkpoint := v.Thread.Head
	if v.run.FirstSeq > 0 {
		checkpoint = v.run.BaseCheckpoint
	} else if from := request.From(v.run.Kwargs, v.run.ThreadID); from != "" {
		checkpoint = from
	}
	v.Turns = turns.New(thread, h.Describer(thread))
	v.Turns.Model = h.ModelLabel
	if !v.part { // past states don't apply now
		if v.Turns.Window = h.Window; v.Turns.Window == nil {
			v.Turns.Window = h.Config.Current().WindowOf
		}
	}
	v.title = v.Thread.Title
	if checkpoint != "" {
		if err := h.loadStored(ctx, v, checkpoint, e); err != nil {
			return nil, err
		}
	}
	v.base = len(v.Turns.Turns)
	if v.run.ID != "" {
		v.keepBefore()
		v.start()
		for _, ev := range events {
			v.fold(ev)
		}
		v.Turns.Sync()
	}
	if err := h.reread(ctx, v); err != nil {
		return nil, err
	}
	v.stale, v.retitled = false, false
	v.title = cmp.Or(v.Thread.Title, v.title)
	v.suggests = !v.part && h.Suggests && h.Config.Current().File.Suggestions.Enabled
	v.queue, v.later = h.Queue(thread)
	v.asks, err = h.Asks(ctx, thread)
	return v, err
}

// followActive follows the run under way.
func (h *Handlers) followActive(ctx context.Context, v *View) ([]runevent.Event, error) {
	for {
		run := h.Runs.Active(v.Thread.ID)
		if run == "" { // one may have ended since the thread was read
			var err error
			v.Thread, err = h.OwnThread(ctx, v.Thread.ID)
			return nil, err
		}
		events, err := h.follow(ctx, v, run, Everything)
		if err == nil && v.run.ID == "" { // not stored yet, or gone already: there is nothing to show, nor to wait for
			v.Thread, err = h.OwnThread(ctx, v.Thread.ID)
			return nil, err
		}
		if err != nil || !runs.Done(v.run.Status) && !over(events) {
			return events, err
		}
		// It ended just now: its output is stored, and a queued one may follow.
		v.run, v.reader = store.Run{}, nil
		if _, err := h.Runs.Wait(ctx, run); err != nil {
			return nil, err
		}
	}
}

// over reports whether the run's end is among its events: its row, read before them, may be outdated.
func over(events []runevent.Event) bool {
	return slices.ContainsFunc(events, func(ev runevent.Event) bool { return ev.Kind == runevent.KindEnd })
}

// follow opens a run and reads its events up to a cursor. A run of another thread, or a missing one, is ignored.
func (h *Handlers) follow(ctx context.Context, v *View, run string, until int64) ([]runevent.Event, error) {
	for {
		reader, err := h.Runs.Follow(ctx, run)
		if errors.Is(err, runs.ErrNotFound) {
			return nil, nil
		}
		if err != nil || reader.Run().ThreadID != v.Thread.ID {
			return nil, err
		}
		events, err := ReadyUntil(ctx, reader, until)
		if err != nil {
			return nil, err
		}
		// The head of now belongs to a run that has not begun.
		if v.Thread, err = h.OwnThread(ctx, v.Thread.ID); err != nil {
			return nil, err
		}
		if reader.Run().FirstSeq == 0 {
			row, err := h.DB.Run(ctx, run)
			if err != nil {
				return nil, err
			}
			if row.FirstSeq > 0 {
				continue // it began in between: its row has the position now
			}
		}
		v.run, v.reader = reader.Run(), reader
		return events, nil
	}
}

// ReadyUntil reads available events of a run up to a cursor.
func ReadyUntil(ctx context.Context, reader *eventlog.Reader, until int64) ([]runevent.Event, error) {
	var all []runevent.Event
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
func (h *Handlers) loadStored(ctx context.Context, v *View, checkpoint string, e Extent) error {
	snap, err := h.DB.Snapshot(ctx, v.Thread.ID, checkpoint)
	if err != nil {
		return err
	}
	next := snap.Checkpoint.Next
	v.resumable = len(next) > 0 && next[0] != agent.NodeInterrupt
	v.asking = len(next) > 0 && next[0] == agent.NodeInterrupt && !v.part
	v.plan(snap.Fields["todos"])
	if err := DecodeField(snap, "artifacts", &v.Artifacts); err != nil {
		return err
	}
	if err := DecodeField(snap, "told_files", &v.told); err != nil {
		return err
	}
	var title string
	if err := DecodeField(snap, "title", &title); err != nil {
		return err
	}
	v.stateTitle = title
	if err := v.hide(snap); err != nil {
		return err
	}
	if v.title == "" {
		v.title = title
	}
	spans, err := v.Fill(snap.Messages, e)
	if err != nil {
		return err
	}
	if err := h.relieve(ctx, v, snap); err != nil {
		return err
	}
	return h.settleTurns(ctx, v, snap, spans, e != Extent{})
}

// Fill adds the selected turns and returns their start.
func (v *View) Fill(rows []store.MessageRow, e Extent) ([]turns.Span, error) {
	list, behind, err := e.choose(rows)
	if err != nil {
		return nil, err
	}
	v.behind = behind
	var spans []turns.Span
	for _, s := range list {
		first := len(v.Turns.Turns)
		if s.from > 0 { // runs of omitted turns belong to no shown turn
			spans = append(spans, turns.Span{Turn: "", Start: s.from - 1})
		}
		for i, row := range rows[s.from:s.to] {
			m, err := agent.ParseMessage(row.Body)
			if err != nil {
				return nil, err
			}
			n := len(v.Turns.Turns)
			v.Turns.Add(m)
			if len(v.Turns.Turns) > n {
				spans = append(spans, turns.Span{Turn: v.Turns.Turns[n].ID, Start: s.from + i})
			}
		}
		if s.gap != nil && len(v.Turns.Turns) > first {
			v.Gaps[v.Turns.Turns[first].ID] = s.gap
		}
		if s.to < len(rows) {
			spans = append(spans, turns.Span{Turn: "", Start: s.to})
		}
	}
	return spans, nil
}

// CutOff reports whether there are turns before the first one.
func (v *View) CutOff() bool {
	return len(v.Turns.Turns) > 0 && v.Gaps[v.Turns.Turns[0].ID] != nil
}

// DecodeField reads a field of a snapshot, if it has that.
func DecodeField(s store.Snapshot, name string, into any) error {
	body, ok := s.Fields[name]
	if !ok {
		return nil
	}
	return json.Unmarshal(body, into)
}

// start shows the active run before its first event: the message it was started with, or the last turn that it
// continues.
func (v *View) start() {
	b := v.Turns
	b.Since = v.run.CreatedAt
	in := request.StartOf(v.run)
	for _, m := range in.Messages {
		if !m.Human() || m.ID == "" {
			continue
		}
		if msg, err := agent.ParseMessage(m.Raw); err == nil {
			b.Add(msg)
		}
	}
	if len(b.Turns) == 0 || in.Given && len(b.Turns) == v.base {
		return // a message without an id: its turn is added with the first step
	}
	v.working(views.TurnQueued)
}

// working marks the newest turn as the one the run works on.
func (v *View) working(s views.TurnState) {
	t := &v.Turns.Turns[len(v.Turns.Turns)-1]
	t.State, t.Failure, t.Elapsed, t.Tokens = s, nil, 0, 0
	t.Trail.Since, t.Trail.Elapsed = v.run.CreatedAt, 0
}

// fold takes the next event of the run.
func (v *View) fold(ev runevent.Event) {
	v.stale = v.stale || aboutHosts(ev)
	v.seq = ev.To
	n := len(v.Turns.Turns)
	v.Turns.Event(ev)
	switch ev.Kind {
	case runevent.KindMeta:
		if n > v.base || n > 0 && !request.StartOf(v.run).Given {
			v.working(views.TurnRunning)
		}
	case runevent.KindEnd:
		v.ended = true
	case runevent.KindCustom:
		v.editedPlan(ev)
	case runevent.KindStep:
		if turns.OfHelper(ev) { // its steps write nothing of the thread
			break
		}
		if len(v.Turns.Turns) > n {
			v.working(views.TurnRunning)
		}
		v.fields(ev.Step.Fields)
		if _, ok := ev.Step.Fields["summary_text"]; ok { // written with the summary that replaces it for the model
			v.shortAt = ev.Step.Checkpoint
		}
	}
}

// fields applies a step's state fields besides messages.
func (v *View) fields(f map[string]json.RawMessage) {
	var title string
	if json.Unmarshal(f["title"], &title) == nil && title != "" {
		v.title, v.stateTitle, v.retitled = title, title, true
	}
	if todos, ok := f["todos"]; ok {
		v.plan(todos)
	}
	var fresh []string
	if json.Unmarshal(f["artifacts"], &fresh) == nil {
		for _, p := range fresh {
			if !slices.Contains(v.Artifacts, p) {
				v.Artifacts = append(v.Artifacts, p)
			}
		}
	}
}

// Running reports whether a run is under way.
func (v *View) Running() bool { return v.run.ID != "" && !v.ended }

// Heading returns the title, or the first words of the conversation without one.
func (v *View) Heading() string {
	if v.title != "" {
		return v.title
	}
	if len(v.Turns.Turns) > 0 && v.Turns.Turns[0].User != nil && !v.CutOff() {
		return page.FirstWords(v.Turns.Turns[0].User.Text)
	}
	return ""
}

// Describer describes files of a thread for cards.
func (h *Handlers) Describer(thread string) func(string) views.File {
	return func(virtual string) views.File {
		f := views.File{ThreadID: thread, Path: strings.TrimPrefix(virtual, "/"), Kind: views.KindOf(virtual, ""),
			Unseen: uploads.UnseenPicture(virtual)}
		files, err := h.Dirs.Open(thread)
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

// ErrBusy means that something waits for the end of a run.
var ErrBusy = errors.New("a run is in progress")
