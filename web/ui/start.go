package ui

import (
	"encoding/json"
	"errors"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/httpx"
	"fawn/web/once"
	"fawn/web/principal"
	"fawn/web/ui/conversation"
	"fawn/web/ui/turns"
)

// errEmpty means that there is nothing to send.
var errEmpty = errors.New("the message is empty")

// start stores a message and starts its run, with a new thread if none has that id. During another run, the message
// waits.
func (u *UI) start(c echo.Context, thread, text string, form url.Values) (store.Run, error) {
	return u.startAs(c, "", thread, text, form)
}

// startAs is start for a run with a given id.
func (u *UI) startAs(c echo.Context, id, thread, text string, form url.Values) (store.Run, error) {
	req := runs.Request{ID: id, Thread: thread, Hold: u.Runs.Active(thread) != ""}
	if req.Hold && form.Get("resume") != "" {
		return store.Run{}, conversation.ErrBusy
	}
	if form.Get("resume") == "" {
		var err error
		if req.Input, err = u.message(c, thread, text, form); err != nil {
			return store.Run{}, err
		}
	}
	return u.begin(c, req, form)
}

// once starts the run of a form, only once for repeated requests with the same key. earlier means that the run is an
// earlier request's.
func (u *UI) once(c echo.Context, form url.Values, start func(id string) (store.Run, error)) (r store.Run, earlier bool, err error) {
	ctx := c.Request().Context()
	key, err := once.Read(c.Request(), principal.Owner(ctx), []byte(form.Encode()))
	if err != nil {
		return r, false, err
	}
	r, earlier, err = u.keys.Run(ctx, key, start)
	if earlier {
		c.Response().Header().Set(once.Replayed, "true")
	}
	return r, earlier, err
}

// begin starts a run with the reader's choices.
func (u *UI) begin(c echo.Context, req runs.Request, form url.Values) (store.Run, error) {
	ctx := c.Request().Context()
	req.Owner, req.Multitask, req.OnDisconnect, req.Origin = principal.Owner(ctx), "reject", "continue", "ui"
	req.Project = form.Get("project") // of a new chat
	if req.Hold {
		req.Multitask = "enqueue"
	}
	var own *store.Thread
	t, err := u.OwnThread(ctx, req.Thread)
	if err == nil {
		own = &t
	} else if !errors.Is(err, store.ErrNotFound) {
		return store.Run{}, err
	}
	wanted := u.chosen(c, own).with(form)
	with, model := u.talking(ctx, own, form)
	if model != "" {
		wanted.Model = model
	}
	ch, _ := u.possible(c.Request().Context(), wanted)
	options := ch.options()
	with.options(options)
	if !with.Making {
		req.AssistantID = with.Name
	}
	if req.Context, err = agent.Encode(options); err != nil {
		return store.Run{}, err
	}
	also, err := u.alsoSent(ctx, own, req.Thread, req.Owner, form)
	if err != nil {
		return store.Run{}, err
	}
	if form.Has("memory-shown") {
		if err := u.switchMemory(ctx, req.Thread, form.Has("memory")); err != nil {
			return store.Run{}, err
		}
	}
	run, err := u.Runs.StartTelling(ctx, req, also...)
	if errors.Is(err, runs.ErrBusy) {
		return run, conversation.ErrBusy
	}
	if err == nil && also != nil {
		// It is stored, and sent by the next server at the latest.
		if err := u.Bots.Hub.Deliver(ctx, run.ID); err != nil && ctx.Err() == nil {
			u.Log.Error("answer delayed; the next delivery sends it", "thread", req.Thread, "run", run.ID, "err", err)
		}
	}
	chose := form.Has("mode") || form.Has("model") || form.Has("knowledge-shown")
	if err != nil || !chose && with == u.talkOf(ctx, own) {
		return run, err
	}
	if t, err = u.OwnThread(ctx, req.Thread); err != nil {
		return run, err
	}
	if err := u.keepTalk(ctx, t, with); err != nil || !chose {
		return run, err
	}
	return run, u.keepChoice(ctx, t, wanted)
}

// message returns the run input with the text and the files that wait for it.
func (u *UI) message(c echo.Context, thread, text string, form url.Values) (json.RawMessage, error) {
	if err := u.fits(text); err != nil {
		return nil, err
	}
	ctx := c.Request().Context()
	waiting, err := u.waiting(ctx, thread, nil)
	if err != nil {
		return nil, err
	}
	asking, err := u.Asking(ctx, thread)
	if err != nil {
		return nil, err
	}
	var stored *conversation.View // read only for a message that depends on earlier ones
	if len(waiting) > 0 || asking {
		if stored, err = u.LoadStored(ctx, thread); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	if stored != nil {
		waiting = unsent(waiting, stored.Attached())
	}
	text, reply, err := replyTo(stored, text, form)
	if err != nil {
		return nil, err
	}
	if turns.Blank(text) && len(waiting) == 0 {
		return nil, errEmpty
	}
	kwargs := map[string]any{}
	if reply != nil {
		kwargs["human_input_response"] = reply
	}
	if len(waiting) > 0 {
		var files []map[string]any
		for _, f := range waiting {
			file := map[string]any{"filename": f.Filename, "size": f.Size, "path": f.Path, "status": "uploaded"}
			if f.Conversion != nil && f.Conversion.State != uploads.Converted {
				file["conversion"] = f.Conversion.State // the message's chip asks for its state
			}
			files = append(files, file)
		}
		kwargs["files"] = files
	}
	return agent.Encode(map[string]any{"messages": []any{map[string]any{
		"type": "human", "id": uuid.Must(uuid.NewV7()).String(), "content": text, "additional_kwargs": kwargs,
	}}})
}

// fits refuses a text that is too long for a message.
func (u *UI) fits(text string) error {
	if limit := u.Config.Current().File.Server.MaxMessageBytes; int64(len(text)) > limit {
		return httpx.TooLarge("the message", limit, "server.max_message_bytes")
	}
	return nil
}
