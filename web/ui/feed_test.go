package ui_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/web/webtest"
)

// dictated is a model that says a word each time it is told to.
type dictated struct {
	words int
	next  chan struct{}
}

func (m *dictated) Stream(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		for i := range m.words {
			select {
			case <-m.next:
			case <-ctx.Done():
				return
			}
			if !yield(agent.Chunk{Text: word(i) + " "}, nil) {
				return
			}
		}
		yield(agent.Chunk{Finish: "stop"}, nil)
	}
}

// noFeeds waits until nobody follows a thread: the server may learn later than a tab that it has left.
func (w *world) noFeeds() {
	w.Helper()
	webtest.Until(w.T, "no feeds are left over", func() bool { return w.ui.Feeds() == 0 })
}

func word(i int) string { return fmt.Sprintf("word%03d", i) }

// tab is a page that is open while the model is told what to say.
type tab struct {
	*reader
	mu   sync.Mutex
	said strings.Builder // the data of all events
}

func (w *world) tab(thread string) *tab {
	t := &tab{reader: w.reader(thread)}
	t.heard = func(data string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.said.WriteString(data)
	}
	return t
}

// hears tells whether a word has come.
func (t *tab) hears(word string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Contains(t.said.String(), word)
}

// dictate has the model say words, each when all tabs have got the one before.
func (m *dictated) dictate(t *testing.T, from, to int, tabs ...*tab) {
	t.Helper()
	for i := from; i < to; i++ {
		m.next <- struct{}{}
		for _, tab := range tabs {
			webtest.Until(t, "a tab has "+word(i), func() bool { return tab.hears(word(i)) })
		}
	}
}

// drawnFor is how many changes were worked out for a number of tabs that followed a run of
// so many words.
func drawnFor(t *testing.T, tabs, words int) int64 {
	t.Helper()
	m := &dictated{words: words, next: make(chan struct{})}
	w := open(t, m)
	w.begin("t1", "Count")
	var list []*tab
	for range tabs {
		list = append(list, w.tab("t1"))
	}
	var reading sync.WaitGroup
	for _, tab := range list {
		reading.Go(func() { tab.read(0) })
	}
	m.dictate(t, 0, words, list...)
	reading.Wait()
	w.settle("t1")
	for i, tab := range list {
		if tab.resets > 0 || !tab.dom.done {
			t.Errorf("tab %d of %d saw %v", i, tabs, tab.kinds)
		}
		tab.equalsPage()
	}
	w.noFeeds()
	return w.ui.Drawn()
}

func TestTenTabsAreDrawnOnce(t *testing.T) {
	const words = 50
	one, ten := drawnFor(t, 1, words), drawnFor(t, 10, words)
	if one < words {
		t.Errorf("one tab was drawn %d times for %d words", one, words)
	}
	if ten > one+3*9 { // each of the others is brought to where the first one is
		t.Errorf("ten tabs were drawn %d times, one %d times", ten, one)
	}
}

func TestTabsOfOneThreadMayComeAndGo(t *testing.T) {
	w := open(t, journey(2*time.Millisecond))
	w.begin("t1", "Compare")
	var list []*reader
	var reading sync.WaitGroup
	for seed := range uint64(10) {
		r := w.reader("t1")
		list = append(list, r)
		reading.Go(func() { r.stroll(rand.New(rand.NewPCG(seed, 7)), 5) })
	}
	for range 2 {
		r := w.readerIn("t1", "zh-CN")
		list = append(list, r)
		reading.Go(func() { r.read(0) })
	}
	reading.Wait()
	w.settle("t1")
	for _, r := range list {
		if !r.dom.done {
			t.Errorf("a tab saw %v", r.kinds)
		}
		r.equalsPage()
	}
	w.noFeeds()
}

func TestTabsGoOnWithTheNextRun(t *testing.T) {
	m := &dictated{words: 3, next: make(chan struct{})}
	w := open(t, m)
	w.begin("t1", "Count")
	list := []*tab{w.tab("t1"), w.tab("t1"), w.tab("t1")}
	var reading sync.WaitGroup
	for _, tab := range list {
		reading.Go(func() { tab.read(0) })
	}
	m.dictate(t, 0, 2, list...)
	w.post("/ui/threads/t1/messages", url.Values{"text": {"And again"}}, script()...).must(t, "the answer", http.StatusOK)
	m.next <- struct{}{} // the last word of the first answer
	for _, tab := range list {
		webtest.Until(t, "a tab has the next question", func() bool { return tab.hears("And again") })
	}
	for range 3 {
		m.next <- struct{}{}
	}
	reading.Wait()
	w.settle("t1")
	for _, tab := range list {
		if tab.resets != 1 {
			t.Errorf("a tab saw %v", tab.kinds)
		}
		tab.equalsPage()
	}
}

// stuck is a browser that takes nothing after the first bytes, which say what has changed since its page, until it is let go.
type stuck struct {
	*httptest.ResponseRecorder
	writes  int
	reached chan struct{}
	goOn    chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	if s.writes++; s.writes == 1 {
		return s.ResponseRecorder.Write(b)
	}
	if s.writes == 2 {
		close(s.reached)
	}
	<-s.goOn
	return s.ResponseRecorder.Write(b)
}

func TestALaggardIsReset(t *testing.T) {
	const words = 120 // far more than is kept, which has room for what the end brings
	m := &dictated{words: words, next: make(chan struct{})}
	w := open(t, m)
	w.ui.SetFeedMemory(8 << 10)
	w.begin("t1", "Count")
	quick, slow := w.tab("t1"), w.reader("t1")
	browser := &stuck{ResponseRecorder: httptest.NewRecorder(), reached: make(chan struct{}), goOn: make(chan struct{})}
	var reading sync.WaitGroup
	reading.Go(func() { quick.read(0) })
	reading.Go(func() {
		path := "/ui/threads/t1/stream?v=" + url.QueryEscape(slow.cursor)
		w.handler.ServeHTTP(browser, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	})
	m.dictate(t, 0, 1, quick)
	<-browser.reached
	m.dictate(t, 1, words-1, quick) // a reader that takes nothing holds nobody up
	close(browser.goOn)
	m.dictate(t, words-1, words, quick)
	reading.Wait()
	w.settle("t1")
	slow.apply(t.Context(), bytes.NewReader(browser.Body.Bytes()), 0)
	if slow.resets != 1 || !slow.dom.done {
		t.Errorf("the laggard saw %v", slow.kinds)
	}
	slow.equalsPage()
	quick.equalsPage()
}
