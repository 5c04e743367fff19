package conversation

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
)

const (
	pageTurns = 30 // turns read at a time
	pageLead  = 20 // turns before a given message
)

// Extent selects the stored turns of a conversation to read. The zero value selects the newest.
type Extent struct {
	At string // a message: also read the turns around it

	before string // a turn: in place of the newest turns, some before it
	after  string // with before: only turns after this one
	down   bool   // with before: the first of them, not the last
}

// part reports whether the newest turns are left out, and so the run under way.
func (e Extent) part() bool { return e.before != "" }

// stretch is a range of rows with whole turns. The gap in front of it is nil if no turn is left out
// there.
type stretch struct {
	from, to int
	gap      *views.Gap
}

// choose picks the stretches of a conversation, and the gap after them.
func (e Extent) choose(rows []store.MessageRow) ([]stretch, *views.Gap, error) {
	if e.At == "" && !e.part() {
		return newest(rows), nil, nil
	}
	l := ledger{rows: rows, starts: turnStarts(rows, len(rows))}
	if e.part() {
		return l.between(e)
	}
	return l.around(e.At), nil, nil
}

// newest returns the end of a conversation without reading the rest.
func newest(rows []store.MessageRow) []stretch {
	starts := turnStarts(rows, pageTurns+1)
	if len(starts) <= pageTurns {
		return []stretch{{0, len(rows), nil}}
	}
	gap := &views.Gap{Before: rows[starts[1]].ID, Prev: rows[starts[0]].ID}
	return []stretch{{starts[1], len(rows), gap}}
}

// turnStarts returns the rows where the last turns begin, at most limit of them, in order.
func turnStarts(rows []store.MessageRow, limit int) []int {
	var starts []int
	for i := len(rows) - 1; i >= 0 && len(starts) < limit; i-- {
		if !bytes.HasPrefix(rows[i].Body, []byte(`{"type":"human"`)) {
			continue
		}
		m, err := agent.ParseMessage(rows[i].Body)
		if err == nil && m.Genuine() && !m.Flag("hide_from_ui") {
			starts = append(starts, i)
		}
	}
	slices.Reverse(starts)
	return starts
}

// ledger numbers the turns of a whole conversation. Rows before the first person's message
// belong to the first turn.
type ledger struct {
	rows   []store.MessageRow
	starts []int
}

// begin returns the first row of turn k, or the end of the rows.
func (l ledger) begin(k int) int {
	switch {
	case k <= 0:
		return 0
	case k >= len(l.starts):
		return len(l.rows)
	}
	return l.starts[k]
}

func (l ledger) id(k int) string { return l.rows[l.starts[k]].ID }

// find returns the number of the turn with a message, -1 for none.
func (l ledger) find(message string) int {
	row := slices.IndexFunc(l.rows, func(r store.MessageRow) bool { return r.ID == message })
	if row < 0 || len(l.starts) == 0 {
		return -1
	}
	k, ok := slices.BinarySearch(l.starts, row)
	if !ok {
		k--
	}
	return max(0, k)
}

// gap represents the turns from..to-1, nil for none.
func (l ledger) gap(from, to int) *views.Gap {
	if from >= to {
		return nil
	}
	g := &views.Gap{Prev: l.id(to - 1)}
	if to < len(l.starts) {
		g.Before = l.id(to)
	}
	if from > 0 {
		g.After, g.Next = l.id(from-1), l.id(from)
	}
	return g
}

// around returns the turns around a message and the newest. A small gap between the two is filled.
func (l ledger) around(message string) []stretch {
	n, k := len(l.starts), l.find(message)
	tail := max(0, n-pageTurns)
	from, to := max(0, k-pageLead), k+pageTurns-pageLead
	switch {
	case k < 0 || from >= tail:
		return []stretch{{l.begin(tail), len(l.rows), l.gap(0, tail)}}
	case to+pageTurns >= tail:
		return []stretch{{l.begin(from), len(l.rows), l.gap(0, from)}}
	}
	return []stretch{{l.begin(from), l.begin(to), l.gap(0, from)}, {l.begin(tail), len(l.rows), l.gap(to, tail)}}
}

// between returns turns that fill a gap, and the remaining gap.
func (l ledger) between(e Extent) ([]stretch, *views.Gap, error) {
	from, to := 0, l.find(e.before)
	if e.after != "" {
		from = l.find(e.after) + 1
		if from == 0 {
			return nil, nil, store.ErrNotFound
		}
	}
	switch {
	case to < 0:
		return nil, nil, store.ErrNotFound
	case from >= to:
		return nil, nil, nil
	case e.down:
		end := min(to, from+pageTurns)
		return []stretch{{l.begin(from), l.begin(end), nil}}, l.gap(end, to), nil
	}
	first := max(from, to-pageTurns)
	return []stretch{{l.begin(first), l.begin(to), l.gap(from, first)}}, nil, nil
}

// earlier handles GET /ui/threads/:id/turns: turns that a page has left out, before one it shows.
func (h *Handlers) earlier(c echo.Context, thread store.Thread) error {
	id := thread.ID
	e := Extent{before: c.QueryParam("before"), after: c.QueryParam("after"), down: c.QueryParam("down") != ""}
	if !page.WantsFragment(c.Request()) || !e.part() {
		return c.Redirect(http.StatusSeeOther, views.AtURL(id, e.before))
	}
	v, err := h.read(c.Request().Context(), id, "", Everything, e)
	if err != nil {
		return err
	}
	t := v.Page(v.Scene(false))
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.TurnList(t)))
}
