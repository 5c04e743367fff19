package conversation

import (
	"bytes"
	"slices"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/chat"
	"fawn/views/markdown"
	"fawn/web/ui/turns"
)

func (d *screen) put(how views.How, target string, c templ.Component) error {
	return d.frame.Put(d.ctx, how, target, c)
}

// watch creates a differ for each growing text of a newly rendered turn.
func (d *screen) watch(t *views.Turn) {
	for i := range t.Trail.Steps {
		d.watchStep(&t.Trail.Steps[i])
	}
	if t.Answer != nil {
		d.watchText("m-"+t.Answer.ID, t.Answer.Text, t.Answer.Open)
	}
}

func (d *screen) watchStep(s *views.Step) {
	if e := textElement(s); e != "" {
		d.watchText(e, s.Text, s.Open)
	}
}

func (d *screen) watchText(element, text string, open bool) {
	if !open {
		return
	}
	o := chat.MarkdownOptions(d.lang, d.now.Thread, element)
	o.Uploaded = markdown.UploadsOf(d.ctx, d.now.Thread)
	differ := markdown.NewDiffer(o)
	differ.Patch(text, false)
	d.differs[element] = differ
}

// forget drops the differs of a turn.
func (d *screen) forget(t *views.Turn) {
	for i := range t.Trail.Steps {
		delete(d.differs, textElement(&t.Trail.Steps[i]))
	}
	if t.Answer != nil {
		delete(d.differs, "m-"+t.Answer.ID)
	}
}

// stepElement returns the id of a step's element.
func stepElement(s *views.Step) string { return chat.Node{Steps: []views.Step{*s}}.ID() }

// textElement returns the id of the element with a step's text.
func textElement(s *views.Step) string {
	switch s.Kind {
	case views.StepReasoning:
		return "rt-" + s.ID
	case views.StepNote:
		return "nt-" + s.ID
	}
	return ""
}

func sameStep(a, b *views.Step) bool { return a.Kind == b.Kind && a.ID == b.ID }

// indexStep searches from the end, where the steps that change are.
func indexStep(list []views.Step, s *views.Step) int {
	for i := len(list) - 1; i >= 0; i-- {
		if sameStep(&list[i], s) {
			return i
		}
	}
	return -1
}

// samePrefix returns the length of the lists' common prefix, usually everything so far.
func samePrefix(was, now []views.Step) int {
	n := 0
	for n < len(was) && n < len(now) && sameStep(&was[n], &now[n]) {
		n++
	}
	return n
}

// sameNodes returns the length of the trails' common prefix.
func sameNodes(was, now []chat.Node) int {
	n := 0
	for n < len(was) && n < len(now) && was[n].ID() == now[n].ID() {
		n++
	}
	return n
}

func indexNode(list []chat.Node, id string) int {
	return slices.IndexFunc(list, func(n chat.Node) bool { return n.ID() == id })
}

// sameOrder reports whether the steps that stay keep their order.
func sameOrder(was, now []views.Step) bool {
	same := samePrefix(was, now)
	was, now = was[same:], now[same:]
	from := 0
	for i := range now {
		switch k := indexStep(was[from:], &now[i]); {
		case k >= 0:
			from += k + 1
		case indexStep(was[:from], &now[i]) >= 0:
			return false
		}
	}
	return true
}

func sameCall(a, b *views.Step) bool {
	return a.State == b.State && a.Since.Equal(b.Since) && a.Elapsed == b.Elapsed && a.Tool == b.Tool &&
		bytes.Equal(a.Args, b.Args) &&
		turns.SameHelper(a.Helper, b.Helper) && a.Output == b.Output && slices.Equal(a.Sites, b.Sites) &&
		a.Bytes == b.Bytes &&
		a.Lines == b.Lines && a.Error == b.Error && a.Exit == b.Exit
}

func sameUser(a, b *views.UserMessage) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.ID != b.ID || a.Editing != b.Editing || a.Text != b.Text || len(a.Files) != len(b.Files) {
		return false
	}
	for i := range a.Files {
		if a.Files[i] != b.Files[i] {
			return false
		}
	}
	return true
}

// sameEnd compares the footers of two turns; a running turn has none.
func sameEnd(a, b *views.Turn) bool {
	if busy(a.State) || busy(b.State) {
		return busy(a.State) && busy(b.State)
	}
	answer := func(t *views.Turn) views.Answer {
		if t.Answer == nil {
			return views.Answer{}
		}
		return *t.Answer
	}
	failure := func(t *views.Turn) views.Failure {
		if t.Failure == nil {
			return views.Failure{}
		}
		return *t.Failure
	}
	return a.State == b.State && a.Resume == b.Resume && a.Breakpoint == b.Breakpoint && a.Small == b.Small &&
		a.ReqCut == b.ReqCut && a.Blind == b.Blind && a.Elapsed == b.Elapsed && a.Tokens == b.Tokens &&
		a.Run == b.Run &&
		a.Rating == b.Rating && a.Model == b.Model &&
		a.Last == b.Last && a.Version == b.Version && a.Next.Ask == b.Next.Ask &&
		slices.Equal(a.Next.List, b.Next.List) &&
		answer(a) == answer(b) && failure(a) == failure(b) &&
		slices.EqualFunc(a.Questions, b.Questions, turns.SameQuestion)
}
