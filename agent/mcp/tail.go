package mcp

import (
	"strings"
	"sync"
	"time"

	"fawn/agent"
)

// Limits of a server's error output.
const (
	tailLines = 200
	lineBytes = 2000
)

// Line is one line of a server's log.
type Line struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// tail keeps the last lines that a server wrote, without secrets.
type tail struct {
	veil *veil

	mu    sync.Mutex
	lines []Line
}

// add keeps a line.
func (t *tail) add(text string) {
	if len(text) > lineBytes {
		text = text[:lineBytes]
	}
	text = strings.TrimSpace(agent.Visible(strings.ToValidUTF8(t.veil.over(text), "\uFFFD")))
	if text == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, Line{time.Now(), text})
	if len(t.lines) >= 2*tailLines {
		t.lines = append([]Line(nil), t.lines[len(t.lines)-tailLines:]...)
	}
}

// all returns the lines, the oldest first.
func (t *tail) all() []Line {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Line{}, t.lines[max(0, len(t.lines)-tailLines):]...)
}

// since returns the last lines written after a moment, as one text.
func (t *tail) since(at time.Time, most int) string {
	var out []string
	for _, l := range t.all() {
		if !l.At.Before(at) {
			out = append(out, l.Text)
		}
	}
	return strings.Join(out[max(0, len(out)-most):], "\n")
}

// wakeUp wakes the server's loop.
func (s *server) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
