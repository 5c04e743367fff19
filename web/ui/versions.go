package ui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/views"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// version handles POST /ui/threads/:id/version: the thread continues from another version of one of its turns, up to
// that version's end.
func (u *UI) version(c echo.Context, t store.Thread) error {
	return u.act(c, t, func(ctx context.Context, id string, form url.Values) error {
		tip, err := u.DB.Tip(ctx, id, form.Get("checkpoint"))
		if err != nil {
			return err
		}
		_, err = u.Runs.UpdateState(ctx, id, runs.Update{Checkpoint: tip})
		if errors.Is(err, runs.ErrBusy) {
			return conversation.ErrBusy
		}
		return err
	})
}

// regenerate handles POST /ui/threads/:id/regenerate: a message is answered once more. The former answer stays as
// another version of the turn.
func (u *UI) regenerate(c echo.Context, t store.Thread) error {
	return u.act(c, t, func(ctx context.Context, id string, form url.Values) error {
		return u.replay(c, id, form, func(m map[string]json.RawMessage) error { return nil })
	})
}

// edit handles POST /ui/threads/:id/edit: it sends a message again with other words, and puts later messages aside.
func (u *UI) edit(c echo.Context, t store.Thread) error {
	return u.act(c, t, func(ctx context.Context, id string, form url.Values) error {
		text := page.PlainText(form.Get("text"))
		if err := u.fits(text); err != nil {
			return err
		}
		return u.replay(c, id, form, func(m map[string]json.RawMessage) error { return rewrite(m, text) })
	})
}

// act runs an action on a thread's conversation, and answers with its changes.
func (u *UI) act(c echo.Context, t store.Thread, do func(ctx context.Context, id string, form url.Values) error) error {
	ctx, id := c.Request().Context(), t.ID
	was, err := u.Load(ctx, id, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	form, err := page.ReadForm(c.Request(), u.Config.Current().File.Server.MaxBodyBytes)
	if err == nil {
		err = do(ctx, id, form)
	}
	if err != nil {
		return u.refuse(c, err, page.PlainText(form.Get("text")))
	}
	if page.Scripted(c.Request()) {
		return u.sent(c, was)
	}
	return c.Redirect(http.StatusSeeOther, views.ThreadURL(id)+"#q")
}

// replay sends a message of the thread again from its original place, as changed by change.
func (u *UI) replay(c echo.Context, id string, form url.Values, change func(map[string]json.RawMessage) error) error {
	if u.Runs.Active(id) != "" {
		return conversation.ErrBusy
	}
	base, row, err := threads.Before(c.Request().Context(), u.DB, id, form.Get("message"))
	if err != nil {
		return err
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(row.Body, &m); err != nil {
		return err
	}
	if err := change(m); err != nil {
		return err
	}
	// A new id distinguishes the runs of both versions.
	if m["id"], err = agent.Encode(uuid.Must(uuid.NewV7()).String()); err != nil {
		return err
	}
	input, err := agent.Encode(map[string]any{"messages": []any{m}})
	if err != nil {
		return err
	}
	_, err = u.begin(c, runs.Request{Thread: id, Input: input, CheckpointID: base}, form)
	return err
}

// rewrite puts other words into a message; pictures in it and files stay.
func rewrite(m map[string]json.RawMessage, text string) error {
	var kwargs struct {
		Files []json.RawMessage `json:"files"`
	}
	if raw := m["additional_kwargs"]; raw != nil {
		if err := json.Unmarshal(raw, &kwargs); err != nil {
			return err
		}
	}
	var blocks []map[string]json.RawMessage
	var content any = text
	if json.Unmarshal(m["content"], &blocks) == nil {
		kept := []any{map[string]string{"type": "text", "text": text}}
		for _, b := range blocks {
			if string(b["type"]) != `"text"` {
				kept = append(kept, b)
			}
		}
		content = kept
	}
	if turns.Blank(text) && len(kwargs.Files) == 0 {
		return errEmpty
	}
	var err error
	m["content"], err = agent.Encode(content)
	return err
}
