package ui

import (
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/web/httpx"
	"fawn/web/ui/conversation"
	fileui "fawn/web/ui/files"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// create handles POST /ui/threads: the first message of a thread.
func (u *UI) create(c echo.Context) error {
	form, err := u.messageForm(c, "")
	thread := form.Get("thread")
	if err == nil && !page.IsThreadID(thread) {
		thread = uuid.Must(uuid.NewV7()).String()
	}
	text := page.PlainText(form.Get("text"))
	if err == nil {
		at := u.promptIn(c.Request().Context(), thread, text)
		switch name, rest := slash(text); name {
		case slashNew:
			return newChat(c, rest)
		case slashCompact:
			err = errShort
		default:
			if at != "" {
				return page.Frame(c, views.Frame{Location: at}, at)
			}
			var earlier bool
			var run store.Run
			run, earlier, err = u.once(c, form, func(id string) (store.Run, error) {
				if form.Get("temporary") != "" {
					if err := u.makeTemporary(c.Request().Context(), thread); err != nil {
						return store.Run{}, err
					}
				}
				return u.startAs(c, id, thread, text, form)
			})
			if earlier {
				thread = run.ThreadID
			}
		}
	}
	if err != nil {
		problem, status := u.refusal(c, err)
		switch {
		case problem == "":
			return err
		case page.Scripted(c.Request()):
			return page.SendFrame(c, status, views.Frame{Error: problem})
		}
		if !page.IsThreadID(thread) {
			thread = uuid.Must(uuid.NewV7()).String()
		}
		return u.welcomePage(c, thread, boxDraft{text: text, problem: problem, status: status,
			project: form.Get("project"), temporary: form.Get("temporary") != ""})
	}
	return page.Frame(c, views.Frame{Location: views.ThreadURL(thread)}, views.ThreadURL(thread))
}

// send handles POST /ui/threads/:id/messages: the next message, or with resume=1 only a request to continue.
func (u *UI) send(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), t.ID
	form, err := u.messageForm(c, id)
	text := page.PlainText(form.Get("text"))
	if err == nil && form.Get("ask") == "" {
		switch name, rest := slash(text); name {
		case slashNew:
			return newChat(c, rest)
		case slashCompact:
			return u.compactHere(c, t, text)
		}
		if at := u.promptIn(ctx, id, text); at != "" {
			return page.Frame(c, views.Frame{Location: at}, at)
		}
	}
	var run store.Run
	var earlier bool
	follows := u.Runs.Active(id) != "" // the page has a stream
	if err == nil {
		run, earlier, err = u.once(c, form, func(run string) (store.Run, error) { return u.startAs(c, run, id, text, form) })
	}
	if err != nil {
		return u.refuse(c, err, text)
	}
	if earlier && page.Scripted(c.Request()) { // the answer that told the page of it was lost
		return page.SendFrame(c, http.StatusOK, views.Frame{Location: views.ThreadURL(id)})
	}
	if !page.Scripted(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.ThreadURL(id)+"#q")
	}
	if _, named := u.mention(ctx, text); named || form.Get("making") != "" {
		if now, err := u.OwnThread(ctx, id); err == nil && u.otherTalk(ctx, t, now, form) {
			return page.SendFrame(c, http.StatusOK, views.Frame{Location: views.ThreadURL(id)})
		}
	}
	if follows {
		return u.queued(c, id)
	}
	f, err := u.Begun(page.Localized(c), run)
	if err != nil {
		return err
	}
	return page.SendFrame(c, http.StatusOK, f)
}

// refuse shows on the thread's page why an action failed, keeping its text, or reports it to its script.
func (u *UI) refuse(c echo.Context, err error, text string) error {
	problem, status := u.refusal(c, err)
	switch {
	case problem == "":
		return err
	case page.Scripted(c.Request()):
		return page.SendFrame(c, status, views.Frame{Error: problem})
	}
	return u.threadPage(c, boxDraft{text: text, problem: problem, status: status})
}

// sent answers the script with the changes of an action on a page that showed was.
func (u *UI) sent(c echo.Context, was *conversation.View) error {
	if was.Running() { // the page's stream shows all else
		return u.queued(c, was.Thread.ID)
	}
	now, err := u.Load(c.Request().Context(), was.Thread.ID, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	before, after := was.Scene(false), now.Scene(false)
	// An action that removes turns makes room for earlier ones.
	if first := slices.IndexFunc(after.Turns,
		func(t views.Turn) bool { return conversation.IndexTurn(before.Turns, t.ID) >= 0 }); first > 0 {
		after.Turns = after.Turns[first:]
	} else if first < 0 && was.CutOff() {
		return page.SendFrame(c, http.StatusOK, views.Frame{Location: views.ThreadURL(was.Thread.ID)})
	}
	_, f, err := conversation.NewScreen(page.Localized(c), before).Show(after)
	if err != nil {
		return err
	}
	f.Running, f.Cursor, f.Streamed = now.Running(), now.Cursor(), true
	return page.SendFrame(c, http.StatusOK, f)
}

// messageForm reads a message; files in it are stored in the uploads of thread, or of the
// thread the form names.
func (u *UI) messageForm(c echo.Context, thread string) (url.Values, error) {
	r := c.Request()
	limits, server := u.Uploads(), u.Config.Current().File.Server
	r.Body = http.MaxBytesReader(c.Response(), r.Body, limits.MaxTotalSize+server.MaxBodyBytes)
	form, _, err := page.ReadFormFiles(r, server.MaxBodyBytes, func(fields url.Values, files *multipart.Reader) error {
		to := thread
		if to == "" {
			to = fields.Get("thread")
			if err := u.FreeID(r.Context(), to); err != nil {
				return err
			}
		}
		_, err := u.files.Store(r.Context(), to, files)
		return err
	})
	if form == nil {
		form = url.Values{}
	}
	return form, err
}

// refusal returns the sentence for an error that the page itself shows, with the text kept; "" for the others.
func (u *UI) refusal(c echo.Context, err error) (problem string, status int) {
	switch {
	case errors.Is(err, conversation.ErrBusy):
		return page.Say(c, "live.wait"), http.StatusConflict
	case errors.Is(err, errCompact):
		return page.Say(c, "compact.busy"), http.StatusConflict
	case errors.Is(err, errShort):
		return page.Say(c, "compact.none"), http.StatusUnprocessableEntity
	case errors.Is(err, lead.ErrNoCompaction):
		return page.Say(c, "compact.off"), http.StatusConflict
	case errors.Is(err, threads.ErrGone):
		return page.Say(c, "turn.gone"), http.StatusConflict
	case errors.Is(err, errUnqueued):
		return page.Say(c, "queue.gone"), http.StatusConflict
	case errors.Is(err, runs.ErrNoProject):
		return page.Say(c, "projects.gone"), http.StatusConflict
	case errors.Is(err, errEmpty):
		return page.Say(c, "live.empty"), http.StatusUnprocessableEntity
	case errors.Is(err, errAnswered):
		return page.Say(c, "ask.gone"), http.StatusConflict
	case errors.Is(err, errIncomplete):
		return page.Say(c, "ask.incomplete"), http.StatusUnprocessableEntity
	case errors.Is(err, uploads.ErrTooLarge):
		return fileui.UploadProblem(c, err), http.StatusRequestEntityTooLarge
	}
	status, detail := httpx.StatusOf(err)
	if said := page.DeniedText(c, err); said != "" {
		return said, status
	}
	if s, ok := detail.(string); ok && status != http.StatusNotFound && status < http.StatusInternalServerError {
		return s, status
	}
	if status == http.StatusInsufficientStorage || status == http.StatusServiceUnavailable {
		return page.Say(c, "live.senderror"), status
	}
	return "", status
}

// stop handles POST /ui/threads/:id/stop. The text of the box, which the same form may carry, is kept.
func (u *UI) stop(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), t.ID
	form, err := page.ReadForm(c.Request(), u.Config.Current().File.Server.MaxBodyBytes)
	if err != nil {
		return err
	}
	wait := !page.Scripted(c.Request()) // the page that follows shows how it ended
	if run := u.Runs.Active(id); run != "" {
		err := u.Runs.Cancel(ctx, id, run, wait)
		if err != nil && !errors.Is(err, runs.ErrNotCancelable) && !errors.Is(err, runs.ErrNotFound) {
			return err
		}
	}
	return u.keepDraft(c, id, page.PlainText(form.Get("text")))
}

// stopHelper handles POST /ui/threads/:id/steps/:step/stop: it ends the helper of one call, and the run continues. An
// already ended helper is no error.
func (u *UI) stopHelper(c echo.Context, t store.Thread) error {
	form, err := page.ReadForm(c.Request(), u.Config.Current().File.Server.MaxBodyBytes)
	if err != nil {
		return err
	}
	messages, err := u.messages(c, t.ID)
	if err != nil {
		return err
	}
	_, call, ok := callOf(page.Param(c, "step"), messages)
	if !ok {
		return store.ErrNotFound
	}
	if err := u.Runs.CancelTask(t.ID, call); err != nil && !errors.Is(err, runs.ErrNotFound) {
		return err
	}
	return u.keepDraft(c, t.ID, page.PlainText(form.Get("text")))
}

// keepDraft answers an action of the message box that did not send its text.
func (u *UI) keepDraft(c echo.Context, thread, text string) error {
	where := views.ThreadURL(thread)
	if page.Scripted(c.Request()) || turns.Blank(text) {
		return page.Frame(c, views.Frame{}, where) // the stream shows the rest
	}
	if len(text) > page.MaxDraft {
		return u.threadPage(c, boxDraft{text: text})
	}
	return c.Redirect(http.StatusSeeOther, where+"?q="+queryEscape(text))
}
