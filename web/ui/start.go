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

// start stores a message and starts its run. v is the thread as it stands, nil for one that may
// have to be made. While another run works, the message waits.
func (u *UI) start(c echo.Context, thread string, v *conversation.View, text string, form url.Values) error {
	return u.startAs(c, "", thread, v, text, form)
}

// startAs is start for a run that has an id already.
func (u *UI) startAs(c echo.Context, id, thread string, v *conversation.View, text string, form url.Values) error {
	req := runs.Request{ID: id, Thread: thread, Hold: u.Runs.Active(thread) != ""}
	if req.Hold && form.Get("resume") != "" {
		return conversation.ErrBusy
	}
	if form.Get("resume") == "" {
		var err error
		if req.Input, err = u.message(c, thread, v, text, form); err != nil {
			return err
		}
	}
	return u.begin(c, req, form)
}

// once does what a form begins, one time however often it is sent with the same key. It returns the run of an earlier request.
func (u *UI) once(c echo.Context, form url.Values, do func(id string) error) (earlier *store.Run, err error) {
	ctx := c.Request().Context()
	key, err := once.Read(c.Request(), principal.Owner(ctx), []byte(form.Encode()))
	if err != nil {
		return nil, err
	}
	r, there, err := u.keys.Run(ctx, key, func(id string) (store.Run, error) { return store.Run{}, do(id) })
	if err != nil || !there {
		return nil, err
	}
	c.Response().Header().Set(once.Replayed, "true")
	return &r, nil
}

// begin starts a run as the reader's choices say.
func (u *UI) begin(c echo.Context, req runs.Request, form url.Values) error {
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
		return err
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
		return err
	}
	also, err := u.alsoSent(ctx, own, req.Thread, req.Owner, form)
	if err != nil {
		return err
	}
	if form.Has("memory-shown") {
		if err := u.switchMemory(ctx, req.Thread, form.Has("memory")); err != nil {
			return err
		}
	}
	run, err := u.Runs.StartTelling(ctx, req, also...)
	if errors.Is(err, runs.ErrBusy) {
		return conversation.ErrBusy
	}
	if err == nil && also != nil {
		// It is stored, and sent by the next server at the latest.
		if err := u.Bots.Hub.Deliver(ctx, run.ID); err != nil && ctx.Err() == nil {
			u.Log.Error("an answer is sent late", "thread", req.Thread, "run", run.ID, "err", err)
		}
	}
	chose := form.Has("mode") || form.Has("model")
	if err != nil || !chose && with == u.talkOf(ctx, own) {
		return err
	}
	if t, err = u.OwnThread(ctx, req.Thread); err != nil {
		return err
	}
	if err := u.keepTalk(ctx, t, with); err != nil || !chose {
		return err
	}
	return u.keepChoice(ctx, t, wanted)
}

// message is the run input with the text and the files that wait for it.
func (u *UI) message(c echo.Context, thread string, v *conversation.View, text string,
	form url.Values) (json.RawMessage, error) {
	if err := u.fits(text); err != nil {
		return nil, err
	}
	if v == nil { // the first message; a page that was reloaded may send it again
		var err error
		if v, err = u.Load(c.Request().Context(), thread, "", conversation.Everything, ""); err != nil &&
			!errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	sent := map[string]int64{}
	if v != nil {
		sent = v.Attached()
	}
	text, reply, err := replyTo(v, text, form)
	if err != nil {
		return nil, err
	}
	waiting, err := u.waiting(c.Request().Context(), thread, sent)
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
				file["conversion"] = f.Conversion.State // the chip of the message asks what has become of it
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
