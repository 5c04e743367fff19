package conversation

import (
	"context"
	"slices"
	"strings"

	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/views/layout"
	"fawn/views/markdown"
	"fawn/web/ui/turns"
)

// screen is the state of a reader's page, and computes changes to it: the rules of the live protocol in one place. It
// belongs to one connection. Its work for a change depends on the turns a run touches, never on the thread.
type screen struct {
	ctx     context.Context // speaks the reader's language
	lang    string
	now     Scene
	differs map[string]*markdown.Differ // differs of the texts that still grow, by element

	patches []views.Patch
	frame   views.Frame
}

// NewScreen returns a page that was rendered from s.
func NewScreen(ctx context.Context, s Scene) *screen {
	d := &screen{ctx: ctx, lang: i18n.Lang(ctx), now: s, differs: map[string]*markdown.Differ{}}
	for i := range s.Turns {
		d.watch(&s.Turns[i])
	}
	return d
}

// Show returns the changes from the page's state to s, in any order: a frame, and patches of growing texts.
func (d *screen) Show(s Scene) ([]views.Patch, views.Frame, error) {
	d.patches, d.frame = nil, views.Frame{}
	was := d.now
	d.now = s
	if err := d.turns(was, s); err != nil {
		return nil, views.Frame{}, err
	}
	if err := d.around(was, s); err != nil {
		return nil, views.Frame{}, err
	}
	return d.patches, d.frame, nil
}

// around updates everything around the turns.
func (d *screen) around(was, s Scene) error {
	if s.Title != was.Title {
		d.frame.Title = layout.Title(d.ctx, s.Title)
		if err := d.frame.Put(d.ctx, views.SwapOuter, "title", chat.Heading(s.Title)); err != nil {
			return err
		}
	}
	if s.Title != was.Title || s.Row.State != was.Row.State {
		if err := d.frame.Put(d.ctx, views.SwapOuter, "tl-"+s.Thread, layout.ThreadRow(s.Row, true)); err != nil {
			return err
		}
	}
	if s.files != was.files {
		if err := d.frame.Put(d.ctx, views.SwapOuter, "files-button", chat.FilesButton(s.Thread, s.files)); err != nil {
			return err
		}
	}
	if s.browser && !was.browser {
		if err := d.frame.Put(d.ctx, views.SwapOuter, "browser-button", chat.BrowserButton(s.Thread, true)); err != nil {
			return err
		}
	}
	if !views.SameAsks(s.asks, was.asks) {
		if n := len(s.asks); n > 0 && !slices.ContainsFunc(was.asks, s.asks[n-1].Same) {
			if f := s.asks[n-1].Form; f != nil {
				d.frame.Say = i18n.T(d.lang, "mcp.asks", f.Server)
			} else {
				d.frame.Say = i18n.T(d.lang, "network.ask", s.asks[n-1].Host)
			}
		}
		if err := d.frame.Put(d.ctx, views.SwapOuter, "network", chat.Asks(s.asks)); err != nil {
			return err
		}
	}
	if !slices.Equal(s.queue, was.queue) || len(s.queue) > 0 && s.Running != was.Running {
		if err := d.frame.Put(d.ctx, views.SwapOuter, "queue", chat.Queue(s.Thread, s.queue, s.Running)); err != nil {
			return err
		}
	}
	if !slices.Equal(s.todos, was.todos) {
		if err := d.frame.Put(d.ctx, views.SwapOuter, "todos", chat.Plan(s.Thread, s.todos)); err != nil {
			return err
		}
	}
	if s.gauge != was.gauge {
		if err := d.put(views.SwapOuter, "gauge", chat.Gauge(s.Thread, s.gauge)); err != nil {
			return err
		}
	}
	if err := d.cut(was, s); err != nil {
		return err
	}
	d.frame.File = turns.Growth(was.writing, s.writing)
	if s.Running != was.Running {
		return d.frame.Put(d.ctx, views.SwapOuter, "send", chat.SendButton(s.Thread, s.Running, false))
	}
	return nil
}

func (d *screen) turns(was, s Scene) error {
	for i := range was.Turns {
		if id := was.Turns[i].ID; IndexTurn(s.Turns, id) < 0 {
			d.frame.Do(views.SwapRemove, "t-"+id, "")
			d.forget(&was.Turns[i])
		}
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		k := IndexTurn(was.Turns, t.ID)
		if k < 0 {
			if err := d.frame.Put(d.ctx, views.SwapAppend, "turns", chat.Turn(s.Thread, *t)); err != nil {
				return err
			}
			d.watch(t)
			continue
		}
		if err := d.turn(&was.Turns[k], t); err != nil {
			return err
		}
	}
	return nil
}

// sameApps reports whether two trails show the same apps and pictures.
func sameApps(was, now []views.Step) bool {
	shown := func(list []views.Step) (out []string) {
		for _, s := range list {
			if s.App != nil || s.Made != nil {
				out = append(out, s.ID)
			}
		}
		return out
	}
	return slices.Equal(shown(was), shown(now))
}

// IndexTurn returns the place of a turn in a list, -1 without it.
func IndexTurn(list []views.Turn, id string) int {
	return slices.IndexFunc(list, func(t views.Turn) bool { return t.ID == id })
}

// turn changes one turn part by part, or as a whole if that isn't possible.
func (d *screen) turn(was, t *views.Turn) error {
	if busy(t.State) && !busy(was.State) || !sameUser(was.User, t.User) || !sameOrder(was.Trail.Steps, t.Trail.Steps) {
		return d.whole(was, t)
	}
	if err := d.steps(t.ID, was.Trail.Steps, t.Trail.Steps); err != nil {
		return err
	}
	if err := d.answer(was, t); err != nil {
		return err
	}
	if was.State != t.State || was.Last != t.Last {
		d.frame.Do(views.SwapClass, "t-"+t.ID, chat.TurnClass(t.State, t.Last))
	}
	if was.State != t.State || was.Waits() != t.Waits() || was.Paused != t.Paused ||
		len(was.Trail.Steps) != len(t.Trail.Steps) ||
		chat.FailedSteps(was.Trail.Steps) != chat.FailedSteps(t.Trail.Steps) || was.Elapsed != t.Elapsed ||
		was.Trail.Elapsed != t.Trail.Elapsed || !was.Trail.Since.Equal(t.Trail.Since) {
		if err := d.put(views.SwapOuter, "th-"+t.ID, chat.TrailHead(*t)); err != nil {
			return err
		}
	}
	if !sameApps(was.Trail.Steps, t.Trail.Steps) {
		if err := d.put(views.SwapOuter, "apps-"+t.ID, chat.TurnApps(d.now.Thread, *t)); err != nil {
			return err
		}
	}
	if !slices.Equal(was.Files, t.Files) || !slices.Equal(was.Changes, t.Changes) {
		if err := d.put(views.SwapOuter, "files-"+t.ID, chat.TurnFiles(d.now.Thread, *t)); err != nil {
			return err
		}
	}
	if !sameEnd(was, t) {
		if err := d.put(views.SwapOuter, "end-"+t.ID, chat.End(d.now.Thread, *t)); err != nil {
			return err
		}
	}
	if busy(was.State) && !busy(t.State) && (t.Answer == nil || !t.Last) { // the script folds the last answer's
		d.frame.Do(views.SwapClose, "trail-"+t.ID, "")
	}
	return nil
}

func (d *screen) whole(was, t *views.Turn) error {
	d.forget(was)
	if err := d.put(views.SwapOuter, "t-"+t.ID, chat.Turn(d.now.Thread, *t)); err != nil {
		return err
	}
	d.watch(t)
	return nil
}

func (d *screen) steps(turn string, was, now []views.Step) error {
	old, fresh := chat.Nodes(was), chat.Nodes(now)
	same := sameNodes(old, fresh)
	// Remove vanished steps first: a step that joined a group returns inside it.
	for _, n := range old[same:] {
		if indexNode(fresh[same:], n.ID()) < 0 {
			d.frame.Do(views.SwapRemove, n.ID(), "")
			delete(d.differs, textElement(&n.Steps[0]))
		}
	}
	for i, n := range fresh {
		k := i
		if i >= same {
			if k = indexNode(old[same:], n.ID()); k >= 0 {
				k += same
			}
		}
		if k >= 0 {
			if err := d.node(old[k], n); err != nil {
				return err
			}
			continue
		}
		target, how := "steps-"+turn, views.SwapAppend
		for _, next := range fresh[i+1:] {
			if indexNode(old[same:], next.ID()) >= 0 {
				target, how = next.ID(), views.SwapBefore
				break
			}
		}
		if err := d.put(how, target, chat.Trailing(n)); err != nil {
			return err
		}
		d.watchStep(&n.Steps[0])
		if s := n.Steps[0]; s.State == views.StepRun {
			d.frame.Say = chat.Saying(d.ctx, s)
		}
	}
	return nil
}

// node updates a step, or a group that can only gain steps.
func (d *screen) node(was, now chat.Node) error {
	if !now.Grouped() {
		return d.step(&was.Steps[0], &now.Steps[0])
	}
	same := samePrefix(was.Steps, now.Steps)
	if same < len(was.Steps) {
		return d.put(views.SwapOuter, now.ID(), chat.Trailing(now))
	}
	changed := len(now.Steps) > same
	for i := range same {
		changed = changed || !sameCall(&was.Steps[i], &now.Steps[i])
		if err := d.step(&was.Steps[i], &now.Steps[i]); err != nil {
			return err
		}
	}
	first := now.Steps[0].ID
	for _, s := range now.Steps[same:] {
		if err := d.put(views.SwapAppend, "gl-"+first, chat.Step(s)); err != nil {
			return err
		}
	}
	if changed {
		return d.put(views.SwapOuter, "gh-"+first, chat.GroupHead(now))
	}
	return nil
}

func (d *screen) step(was, s *views.Step) error {
	if s.Kind == views.StepTool {
		if sameCall(was, s) {
			return nil
		}
		return d.put(views.SwapOuter, stepElement(s), chat.Step(*s))
	}
	if s.Kind == views.StepRetry {
		if was.Retry == s.Retry {
			return nil
		}
		d.frame.Say = chat.Saying(d.ctx, *s)
		return d.put(views.SwapOuter, stepElement(s), chat.Step(*s))
	}
	fits, err := d.text(textElement(s), was.Text, s.Text, was.Open, s.Open)
	if err != nil {
		return err
	}
	if !fits {
		delete(d.differs, textElement(s))
		if err := d.put(views.SwapOuter, stepElement(s), chat.Step(*s)); err != nil {
			return err
		}
		d.watchStep(s)
		return nil
	}
	if was.State != s.State || !was.Since.Equal(s.Since) {
		d.frame.Do(views.SwapClass, stepElement(s), chat.StepClass(s.Kind, s.State))
		if s.Kind == views.StepReasoning {
			if err := d.put(views.SwapOuter, "rh-"+s.ID, chat.StepHead(*s)); err != nil {
				return err
			}
		}
	}
	if was.Open && !s.Open && s.Kind == views.StepReasoning {
		d.frame.Do(views.SwapClose, "rd-"+s.ID, "")
	}
	return nil
}

func (d *screen) answer(was, t *views.Turn) error {
	a, b := was.Answer, t.Answer
	if a != nil && (b == nil || a.ID != b.ID) {
		d.frame.Do(views.SwapRemove, "m-"+a.ID, "")
		delete(d.differs, "m-"+a.ID)
		a = nil
	}
	switch {
	case b == nil:
		return nil
	case a == nil:
		if err := d.put(views.SwapAppend, "a-"+t.ID, chat.Answer(d.now.Thread, *b)); err != nil {
			return err
		}
		d.watchText("m-"+b.ID, b.Text, b.Open)
		return nil
	}
	fits, err := d.text("m-"+b.ID, a.Text, b.Text, a.Open, b.Open)
	if err != nil || fits {
		return err
	}
	delete(d.differs, "m-"+b.ID)
	if err := d.put(views.SwapOuter, "m-"+b.ID, chat.Answer(d.now.Thread, *b)); err != nil {
		return err
	}
	d.watchText("m-"+b.ID, b.Text, b.Open)
	return nil
}

// text patches an element from one text to the next. It returns false when only the whole
// element can be replaced.
func (d *screen) text(element, was, now string, wasOpen, open bool) (bool, error) {
	if !wasOpen {
		return !open && was == now, nil
	}
	differ := d.differs[element]
	if differ == nil || len(now) < len(was) || !open && !strings.HasPrefix(now, was) {
		return false, nil
	}
	if open && len(now) == len(was) {
		return true, nil
	}
	if ops := differ.Patch(now, !open); len(ops) > 0 {
		d.patches = append(d.patches, views.Patch{Element: element, Ops: views.OpsBelow(views.Base(d.ctx), ops)})
	}
	if !open {
		delete(d.differs, element)
	}
	return true, nil
}
