package share

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/files"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	fileviews "fawn/views/files"
	"fawn/web/ui/conversation"
	"fawn/web/ui/export"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// sharedThread is the part of a thread visible through a link.
type sharedThread struct {
	store.Share
	title string
	turns []views.Turn
	files map[string]bool // paths of files presented up to the checkpoint
	list  []views.File    // the same, newest first
}

// readShared reads a link's content: the newest turns, and those around message at unless it is "". ErrNotFound for an
// invalid link.
func (h *Handlers) readShared(c echo.Context, at string) (*sharedThread, error) {
	ctx := c.Request().Context()
	link, err := h.DB.ShareByToken(ctx, page.Param(c, "token"))
	if err != nil {
		return nil, err
	}
	t, err := h.DB.ThreadOf(ctx, link.Owner, link.Thread)
	if err != nil {
		return nil, err
	}
	snap, err := h.DB.Snapshot(ctx, link.Thread, link.Checkpoint)
	if err != nil {
		return nil, err
	}
	s := &sharedThread{Share: link, files: map[string]bool{}}
	describe := h.Describer(link.Thread)
	b := turns.New(link.Thread, func(virtual string) views.File { return s.own(describe(virtual)) })
	var artifacts []string
	if err := conversation.DecodeField(snap, "artifacts", &artifacts); err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(artifacts) {
		if clean, err := files.Clean(p); err == nil && !s.files[page.TrimSlash(clean)] {
			s.files[page.TrimSlash(clean)] = true
			s.list = append(s.list, b.File(clean))
		}
	}
	v := &conversation.View{Turns: b, Gaps: map[string]*views.Gap{}}
	if _, err := v.Fill(snap.Messages, conversation.Extent{At: at}); err != nil {
		return nil, err
	}
	s.turns = b.Turns
	for i := range s.turns {
		s.turns[i].Gap = v.Gaps[s.turns[i].ID]
	}
	s.title = export.ExportTitle(t, s.turns[:min(1, len(s.turns))], page.ReadPrefs(c.Request()).Lang)
	for i := range s.turns {
		s.tame(&s.turns[i])
	}
	return s, nil
}

// own makes a file readable through the link.
func (s *sharedThread) own(f views.File) views.File {
	f.ThreadID, f.Share = "", s.Token
	return f
}

// tame reduces a turn to the parts visible to a link's readers: no thoughts, no tool output, no content of sent files,
// and no questions to answer.
func (s *sharedThread) tame(t *views.Turn) {
	if t.User != nil {
		user := *t.User
		user.Files = slices.Clone(user.Files)
		for i := range user.Files {
			user.Files[i].Path = ""
		}
		t.User = &user
	}
	for i := range t.Trail.Steps {
		step := &t.Trail.Steps[i]
		step.ThreadID, step.Output, step.Error, step.Sites = "", "", "", nil
		step.Web, step.Made, step.Browser, step.App = nil, nil, nil, nil
		step.Helper = views.Helper{}
		if step.Kind == views.StepReasoning {
			step.Text = ""
		}
		if step.State == views.StepRun || step.State == views.StepWait {
			step.State = views.StepStop
		}
	}
	t.Changes = nil
	t.Files = slices.DeleteFunc(slices.Clone(t.Files), func(f views.File) bool { return !s.files[f.Path] })
	for i := range t.Questions {
		t.Questions[i].Open = false
	}
}

// shared handles GET /share/:token.
func (h *Handlers) shared(c echo.Context) error {
	s, err := h.readShared(c, c.QueryParam("at"))
	if err != nil {
		return err
	}
	p := views.SharedPage{Shell: page.SharedShell(c), Token: s.Token, Title: s.title, At: s.CreatedAt, Turns: s.turns,
		Files: s.files}
	return page.HTML(c, http.StatusOK, chat.SharedPage(p))
}

// sharedFile handles GET /share/:token/files/*: the page of a presented file.
func (h *Handlers) sharedFile(c echo.Context) error {
	s, file, err := h.sharedPath(c)
	if err != nil {
		return err
	}
	view, err := h.Files.FileView(page.Localized(c),
		&conversation.View{Thread: store.Thread{ID: s.Thread}, Turns: turns.New(s.Thread, h.Describer(s.Thread))}, file)
	if err != nil {
		return err
	}
	view.File = s.own(view.File)
	p := views.Panel{Title: s.title, File: view, Files: s.list, Code: c.QueryParam("tab") == "code", Share: s.Token,
		Shared: s.files}
	status := http.StatusOK
	if view.Missing {
		status = http.StatusNotFound
	}
	return page.HTML(c, status, fileviews.FilePage(views.FilePage{Shell: page.SharedShell(c), Panel: p}))
}

// sharedView handles GET /share/:token/view/*: that file itself.
func (h *Handlers) sharedView(c echo.Context) error {
	s, file, err := h.sharedPath(c)
	if err != nil {
		return err
	}
	return h.Files.ServeFile(c, s.Thread, file, c.QueryParam("download") != "")
}

// sharedPath returns the file a request asks for. ErrNotFound for one the link does not cover.
func (h *Handlers) sharedPath(c echo.Context) (*sharedThread, string, error) {
	clean, err := files.Clean("/" + page.TrimSlash(page.Param(c, "*")))
	if err != nil {
		return nil, "", store.ErrNotFound
	}
	s, err := h.readShared(c, "")
	if err == nil && !s.files[page.TrimSlash(clean)] {
		err = store.ErrNotFound
	}
	return s, clean, err
}
