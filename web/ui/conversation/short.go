package conversation

import (
	"context"
	"errors"
	"slices"

	"fawn/agent"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
)

// isGone reports whether a row is no longer stored.
func isGone(err error) bool { return errors.Is(err, store.ErrNotFound) }

// hide takes over how the model reads the conversation of a snapshot.
func (v *View) hide(snap store.Snapshot) error {
	v.Short, v.Hidden = agent.View{}, 0
	if err := DecodeField(snap, "view", &v.Short); err != nil {
		return err
	}
	if v.Short.From != "" {
		first := func(r store.MessageRow) bool { return r.ID == v.Short.From }
		v.Hidden = max(0, slices.IndexFunc(snap.Messages, first))
	}
	return nil
}

// cut returns the line after which the model reads verbatim.
func (v *View) cut() views.Shortened {
	if v.Short.From != "" {
		turn := v.Turns.Owner[v.Short.From]
		if turn == "" || v.Hidden == 0 {
			return views.Shortened{}
		}
		text := v.Short.Plain
		if text == "" {
			text = v.Short.Summary
		}
		return views.Shortened{Turn: turn, Inside: turn != v.Short.From, Summary: text}
	}
	for _, id := range slices.Backward(v.Short.Cut) {
		if turn := v.Turns.Owner[id]; turn != "" {
			return views.Shortened{Turn: turn, Outputs: true}
		}
	}
	return views.Shortened{}
}

// reread reads how the model reads the conversation after a step that changed it.
func (h *Handlers) reread(ctx context.Context, v *View) error {
	at := v.shortAt
	if v.shortAt = ""; at == "" {
		return nil
	}
	snap, err := h.DB.Snapshot(ctx, v.Thread.ID, at)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return v.hide(snap)
}

// cut brings the line up to date from which on the model reads word for word.
func (d *screen) cut(was, s Scene) error {
	if was.cut == s.cut {
		return nil
	}
	if was.cut.Turn != "" && was.cut.Turn != s.cut.Turn {
		d.frame.Do(views.SwapInner, "cut-"+was.cut.Turn, "")
	}
	if s.cut.Turn == "" {
		return nil
	}
	return d.put(views.SwapInner, "cut-"+s.cut.Turn, chat.Cut(s.Thread, s.cut))
}
