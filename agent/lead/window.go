package lead

import (
	"context"
	"sync"
	"time"

	"fawn/agent/config"
	"fawn/agent/llm"
)

const (
	windowWait  = time.Second     // the first run of a model waits this long for its window
	windowFresh = time.Minute     // a server is queried again after this time
	windowAgain = 5 * time.Minute // retry interval after no response
	refusedFor  = time.Hour       // duration of the limit after a refusal: the server's window may change
)

// windows caches models' windows as reported by their servers. The zero value is ready.
type windows struct {
	mu sync.Mutex
	of map[string]*window // by address and model; the configuration names them, so there are few
}

type window struct {
	told    int // reported by the server; 0 if unspecified
	refused int // the limit that a refused request named; 0 is none
	refusal time.Time
	written int // configured window at that time
	at      time.Time
	asking  chan struct{} // closed when the server has answered; nil without a query
}

func windowKey(m config.Model) string {
	return m.Use + "\x00" + m.BaseURL + "\x00" + m.Model + "\x00" + m.Name
}

// limit returns the window named by a refusal, unless that is long ago or the owner has written another window since.
func (w *window) limit(m config.Model) int {
	if w.refused > 0 && (time.Since(w.refusal) > refusedFor || w.written != m.ContextWindow) {
		w.refused = 0
	}
	return w.refused
}

// tokens returns the smaller of the reported and the refused size; 0 is unknown.
func (w *window) tokens(m config.Model) int {
	if limit := w.limit(m); w.told > 0 && limit > 0 {
		return min(w.told, limit)
	}
	return max(w.told, w.refused)
}

// get returns the record of a model. The caller holds mu.
func (l *windows) get(m config.Model) *window {
	if l.of == nil {
		l.of = map[string]*window{}
	}
	key := windowKey(m)
	if l.of[key] == nil {
		l.of[key] = &window{}
	}
	return l.of[key]
}

// refuse records the window named in a refusal.
func (l *windows) refuse(m config.Model, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.get(m)
	w.refused, w.refusal, w.written = tokens, time.Now(), m.ContextWindow
}

// record records a server's report. A changed window means another server, for which earlier refusals don't count.
func (l *windows) record(m config.Model, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.get(m)
	if tokens > 0 && w.told > 0 && tokens != w.told {
		w.refused = 0
	}
	if tokens > 0 {
		w.told = tokens
	}
	w.at = time.Now()
	close(w.asking)
	w.asking = nil
}

// window returns a model's context window: the configured one, unless the model refused that much, else its server's; 0
// is unknown. The query runs in the background; only the first run of a model on the local network waits for it.
func (b *Builder) window(ctx context.Context, m config.Model) int {
	l := &b.windows
	l.mu.Lock()
	w := l.get(m)
	known := w.tokens(m)
	if m.ContextWindow > 0 {
		defer l.mu.Unlock()
		if limit := w.limit(m); limit > 0 {
			return min(m.ContextWindow, limit)
		}
		return m.ContextWindow
	}
	rest := windowFresh
	if w.told == 0 {
		rest = windowAgain
	}
	if b.ask == nil || w.asking == nil && !w.at.IsZero() && time.Since(w.at) < rest {
		l.mu.Unlock()
		return known
	}
	if w.asking == nil {
		w.asking = make(chan struct{})
		if !b.background(func(ctx context.Context) { l.record(m, b.ask(ctx, m)) }) {
			close(w.asking)
			w.asking = nil
			l.mu.Unlock()
			return known
		}
	}
	answered := w.asking
	l.mu.Unlock()
	if known > 0 || !llm.Near(m.BaseURL) {
		return known
	}
	late := make(chan struct{})
	defer b.after(windowWait, func() { close(late) })()
	select {
	case <-answered:
	case <-late:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.tokens(m)
}

// WindowOf returns the known context window, without a query, of the model that wrote an answer: name and provider are
// as for [config.Snapshot.WindowOf].
func (b *Builder) WindowOf(name, provider string) int {
	snap := b.config()
	window := snap.WindowOf(name, provider)
	m, ok := snap.Model(name)
	if !ok {
		return window
	}
	b.windows.mu.Lock()
	defer b.windows.mu.Unlock()
	switch w := b.windows.get(m); {
	case window == 0:
		return w.tokens(m)
	case w.limit(m) > 0:
		return min(window, w.refused)
	}
	return window
}
