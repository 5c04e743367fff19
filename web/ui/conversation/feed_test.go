package conversation

import (
	"testing"

	"fawn/views"
	"fawn/web/ui/turns"
)

// A page that reads the thread while its end is worked out may know less than the others,
// a title for example, and nothing follows the end that would tell it.
func TestAPageThatJoinsAtTheEndWaitsForIt(t *testing.T) {
	all := &feeds{open: map[feedKey]*feed{}}
	page := func() *live {
		v := &View{title: "Count", Turns: turns.New("t", func(string) views.File { return views.File{} })}
		return &live{progress: progress{h: &Handlers{}, thread: "t", v: v}}
	}
	f, _ := all.join(page())
	f.v.title = "About: Count"
	f.publish(nil, f.v.Scene(true), false)
	meets := func(want meeting, why string) {
		t.Helper()
		l := page()
		g, first := all.join(l)
		defer g.leave(l)
		if s, _, where, _ := g.meet(l); first || where != want {
			t.Errorf("%s: first %t, met %d with title %q", why, first, where, s.Title)
		}
	}
	meets(metHere, "in the middle")
	if !f.lastCatchUp() {
		t.Error("the others are not told what the page knew")
	}
	meets(metAhead, "while the end is worked out")
	if f.catchUp() {
		t.Error("a page that waits was taken for one that knows more")
	}
	f.publish(nil, f.v.Scene(true), false)
	meets(metHere, "another run has begun")
}
