package ui

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/principal"
	"fawn/web/ui/conversation"
	fileui "fawn/web/ui/files"
	"fawn/web/ui/page"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// draft of a page's message box that was not sent.
type boxDraft struct {
	text    string
	problem string
	project string // project for the chat
	status  int    // status of the answer; 0 means 200

	temporary bool // the chat that begins with it
}

// thread handles GET /workspace/chats/:id.
func (u *UI) thread(c echo.Context, t store.Thread) error {
	if c.QueryParam("at") == "first" {
		return u.atFirst(c, t)
	}
	return u.threadPage(c, boxDraft{text: page.Head(c.QueryParam("q"), page.MaxDraft)})
}

// atFirst opens a thread at its first message.
func (u *UI) atFirst(c echo.Context, t store.Thread) error {
	messages, err := u.messages(c, t.ID)
	if err != nil {
		return err
	}
	where := views.ThreadURL(t.ID)
	if i := slices.IndexFunc(messages, (*agent.Message).Genuine); i >= 0 {
		where += "?at=" + queryEscape(messages[i].ID) + "#u-" + messages[i].ID
	}
	return c.Redirect(http.StatusSeeOther, where)
}

// threadPage shows a thread with a draft in its message box.
func (u *UI) threadPage(c echo.Context, d boxDraft) error {
	ctx, id := c.Request().Context(), page.Param(c, "id")
	at := cmp.Or(c.QueryParam("edit"), c.QueryParam("at"))
	v, err := u.Load(ctx, id, "", conversation.Everything, at)
	if err != nil {
		return err
	}
	u.See(ctx, id)
	shell, err := u.Shell(c, views.NavNone, id)
	if err != nil {
		return err
	}
	s := v.Scene(false)
	if edit := conversation.IndexTurn(s.Turns, c.QueryParam("edit")); edit >= 0 && s.Turns[edit].User != nil {
		user := *s.Turns[edit].User
		user.Editing = true
		s.Turns[edit].User = &user
	}
	p := views.ThreadPage{Shell: shell, Thread: v.Page(s), Sandbox: u.Box(), Restart: u.runsCommands(),
		Source: page.SourceOf(v.Thread), Project: page.ProjectIn(shell, v.Thread.Project)}
	if p.Project != nil {
		p.Shell.Project = p.Project.ID
	}
	p.Browser = u.Browsers != nil && (s.Browses() || u.Browsers.Open(id))
	p.Thread.Later = u.Later(id)
	if p.Thread.Shared, err = u.share.IsShared(ctx, id); err != nil {
		return err
	}
	if p.Composer, err = u.composer(c, id, &v.Thread, v.Attached()); err != nil {
		return err
	}
	p.Composer.Running = s.Running
	p.Composer.Text, p.Composer.Problem = d.text, d.problem
	if file := c.QueryParam("file"); file != "" {
		panel, err := u.files.PanelOf(c, v, file)
		if err != nil {
			return err
		}
		p.Panel = &panel
	}
	p.Notice = u.ConfigNotice(c)
	if did := u.compacted(c, v); did != nil {
		p.Shell.Toast = &views.Toast{Kind: did.Kind, Text: did.Text}
	}
	return page.HTML(c, max(d.status, http.StatusOK), chat.ThreadPage(p))
}

// composer returns the message box of a thread with the files that wait to be sent: uploads no message has brought yet,
// or that changed since. t is nil for a new thread.
func (u *UI) composer(c echo.Context, thread string, t *store.Thread, sent map[string]int64) (views.Composer, error) {
	limits := u.Uploads()
	file := u.Config.Current().File
	box := views.Composer{ThreadID: thread, MayAdd: page.MayChange(c),
		Dictate: file.Transcription.Model != "", Speech: file.Speech.Model != "",
		Limits: views.UploadLimits{FileBytes: limits.MaxFileSize, TotalBytes: limits.MaxTotalSize,
			Files: limits.MaxFiles}}
	if t == nil {
		box.Partner = u.partner(c.Request().Context(), u.invited(c))
	} else {
		box.Partner = u.partner(c.Request().Context(), u.talkOf(c.Request().Context(), t))
	}
	u.choices(c, t, &box)
	var err error
	if box.Knowledge, err = u.pickable(c, t); err != nil {
		return box, err
	}
	if box.Memory, err = u.memoryUse(c.Request().Context(), thread, t); err != nil {
		return box, err
	}
	box.Temporary = t != nil && t.Temporary()
	to, also, err := u.origin(c.Request().Context(), t)
	if err != nil {
		return box, err
	}
	if also {
		box.Also = to.App
	} else if box.Chats, err = u.otherChats(c.Request().Context(), principal.Owner(c.Request().Context())); err != nil {
		return box, err
	}
	if box.Servers = u.hasServers(); box.Servers {
		off, err := u.Switches.Off(c.Request().Context(), thread)
		if err != nil {
			return box, err
		}
		box.ToolsOff = !off.Empty()
	}
	waiting, err := u.waiting(c.Request().Context(), thread, sent)
	for _, f := range waiting {
		box.Attachments = append(box.Attachments, fileui.Attachment(f))
	}
	return box, err
}

// waiting lists the uploads that belong to the next message.
func (u *UI) waiting(ctx context.Context, thread string, sent map[string]int64) ([]uploads.File, error) {
	files, err := u.Dirs.Open(thread)
	if page.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer files.Close()
	list, err := u.Documents.Files(ctx, files, thread)
	if err != nil {
		return nil, err
	}
	return unsent(list.Files, sent), nil
}

// unsent leaves out files that messages have brought, unless their size has changed since.
func unsent(files []uploads.File, sent map[string]int64) []uploads.File {
	var out []uploads.File
	for _, f := range files {
		if size, ok := sent[f.Filename]; !ok || size != f.Size {
			out = append(out, f)
		}
	}
	return out
}
