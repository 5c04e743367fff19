// Package files serves the files of a chat: the panel with its previews, uploads, and the changes of each run.
package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"fawn/agent/knowledge"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	fileviews "fawn/views/files"
	"fawn/views/i18n"
	"fawn/views/markdown"
	"fawn/web/httpx"
	"fawn/web/ui/conversation"
	"fawn/web/ui/export"
	"fawn/web/ui/page"
)

// Handlers serve the files.
type Handlers struct {
	*conversation.Handlers
	Archives  *export.Handlers
	Uploads   func() uploads.Config // the limits of this moment
	Documents uploads.Documents
	Knowledge *knowledge.Service // nil has no collections
	Pictures  uploads.Pictures
	// BackToBox returns to the page of the form's message box, with its text.
	BackToBox func(c echo.Context, thread, text string) error
	Key       []byte // marks frames, equal on all servers of a database; nil uses a key of this process

	marking sync.Once
	key     []byte
}

// Routes returns the routes of a chat's files: viewing, saving, uploading, and changes by runs.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/chats/:id/files", page.User, h.OnThread(h.filePage)),
		page.Get("/workspace/chats/:id/files/*", page.User, h.OnThread(h.filePage)),
		page.Get("/workspace/chats/:id/changes/:run", page.User, h.OnThread(h.changesPage)),
		page.Get("/ui/threads/:id/uploads", page.User, h.OnThreadID(h.documents)),
		page.Post("/ui/threads/:id/uploads", page.User, h.OnThreadID(h.upload)),
		page.Post("/ui/threads/:id/uploads/:name/delete", page.User, h.OnThreadID(h.removeUpload)),
		page.Post("/ui/threads/:id/uploads/:name/encoding", page.User, h.OnThreadID(h.readAs)),
		page.Get("/ui/threads/:id/panel", page.User, h.OnThread(h.panel)),
		page.Get("/ui/threads/:id/panel/*", page.User, h.OnThread(h.panel)),
		page.Post("/ui/threads/:id/save/*", page.User, h.OnThread(h.saveFile)),
		page.Get("/ui/threads/:id/version/*", page.User, h.OnThread(h.former)),
		page.Post("/ui/threads/:id/restore/*", page.User, h.OnThread(h.restore)),
		page.Get("/ui/threads/:id/changes/:run", page.User, h.OnThread(h.changes)),
		page.Get("/ui/threads/:id/view/*", page.User, h.OnThreadID(h.view)),
	}
}

// panel handles GET /ui/threads/:id/panel and /panel/*: the list of files or one file, as the content of the panel. A
// browser without script gets the page.
func (h *Handlers) panel(c echo.Context, t store.Thread) error {
	id, file := t.ID, page.Param(c, "*")
	if !page.WantsFragment(c.Request()) {
		where := views.FilesURL(id)
		if file != "" {
			where = views.FileURL(id, file)
		}
		return c.Redirect(http.StatusSeeOther, where)
	}
	v, err := h.Load(c.Request().Context(), id, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	p, err := h.PanelOf(c, v, file)
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, fileviews.Panel(p)))
}

// filePage handles GET /workspace/chats/:id/files and /files/*.
func (h *Handlers) filePage(c echo.Context, t store.Thread) error {
	v, err := h.Load(c.Request().Context(), t.ID, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	p, err := h.PanelOf(c, v, page.Param(c, "*"))
	if err != nil {
		return err
	}
	shell, err := h.Shell(c, views.NavNone, v.Thread.ID)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if p.File != nil && p.File.Missing {
		status = http.StatusNotFound
	}
	return page.HTML(c, status, fileviews.FilePage(views.FilePage{Shell: shell, Panel: p}))
}

// PanelOf returns the list of a thread's files, or one of them; file is a virtual path with or without its leading
// slash.
func (h *Handlers) PanelOf(c echo.Context, v *conversation.View, file string) (views.Panel, error) {
	s := v.Scene(true)
	p := views.Panel{ThreadID: v.Thread.ID, Title: s.Title, Files: v.Page(s).Files, Code: c.QueryParam("tab") == "code"}
	if file == "" {
		var err error
		p.Zip, p.ZipAll, err = h.Archives.ZipOffers(c.Request().Context(), v.Thread.ID)
		return p, err
	}
	if at, ok := strings.CutPrefix(page.TrimSlash(file), collected); ok {
		err := h.collected(c, &p, at)
		return p, err
	}
	view, err := h.FileView(page.Localized(c), v, file)
	if at := c.QueryParam("at"); err == nil && markdown.IsPlace(at) {
		view.At = at
	}
	if err == nil {
		err = h.document(page.Localized(c), view)
	}
	if err == nil && strings.HasPrefix(view.At, "line-") && !c.QueryParams().Has("tab") {
		p.Code = view.Kind.Textual() // lines refer to the source
	}
	p.File, p.Words = view, c.QueryParam("tab") == "text"
	if view != nil {
		view.Editable = editable(view) // during a run, too: saving detects its changes
		if c.QueryParam("edit") != "" && view.Editable {
			view.Editing, view.Sum = true, files.Sum([]byte(view.Text))
		}
	}
	if err == nil {
		err = h.versions(c, v.Thread.ID, view)
	}
	if w := v.Turns.Writing(); err == nil && w.Path == view.Path && w.Path != "" && !view.Editing && (p.Code || view.Missing) {
		// The preview shows the last finished version, if there is one.
		view.Missing, view.Growing, view.Cut, view.Text, p.Code = false, true, false, w.Text, true
		view.Editable = false
		if !view.Kind.Textual() {
			view.Kind = views.KindText
		}
	}
	return p, err
}

// FileView reads as much of a file as its preview needs.
func (h *Handlers) FileView(ctx context.Context, v *conversation.View, file string) (*views.FileView, error) {
	clean, err := files.Clean("/" + page.TrimSlash(file))
	if err != nil {
		return nil, err
	}
	view := &views.FileView{File: v.Turns.File(clean)}
	dir, err := h.Dirs.Open(v.Thread.ID)
	if page.IsMissing(err) {
		view.Missing = true
		return view, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if info, err := dir.Stat(clean); page.IsMissing(err) || err == nil && !info.Mode().IsRegular() {
		view.Missing = true
		return view, nil
	} else if err != nil {
		return nil, err
	}
	first, err := dir.ReadFile(ctx, clean, uploads.HeadBytes)
	if err != nil && !errors.Is(err, files.ErrTooLarge) {
		return nil, err
	}
	kind, _ := uploads.ContentType(clean, first)
	view.Kind = views.KindOf(clean, kind)
	switch {
	case view.Kind == views.KindImage && slices.Contains([]string{"HEIC", "TIFF", "JPEG XL"}, view.Unseen):
		view.Problem = i18n.C(ctx, "files.unshown", view.Unseen)
		return view, nil
	case view.Kind == views.KindArchive, view.Kind == views.KindSkill:
		return view, contents(ctx, dir, clean, view)
	case !view.Kind.Textual():
		return view, nil
	case view.Kind == views.KindNotebook:
		if err := notebook(ctx, dir, clean, view); err != nil {
			return nil, err
		}
	}
	text, err := dir.ReadFile(ctx, clean, views.PreviewBytes)
	if errors.Is(err, files.ErrTooLarge) {
		view.Cut, err = true, nil
	}
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(text, 0) >= 0 { // named like a text, and none
		view.Kind = views.KindOther
		return view, nil
	}
	view.Text = wholeRunes(text)
	return view, nil
}

// wholeRunes returns text without a character cut off at the end.
func wholeRunes(b []byte) string {
	for i := 0; i < utf8.UTFMax-1 && len(b) > 0; i++ {
		if r, size := utf8.DecodeLastRune(b); r != utf8.RuneError || size > 1 {
			break
		}
		b = b[:len(b)-1]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// Policies of inline files. Content that browsers execute is isolated in a sandbox without an origin; images, sound,
// video and PDF only lose unneeded rights.
const (
	activePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; " +
		"style-src 'unsafe-inline'; " +
		"img-src data: blob:; frame-ancestors 'self'"
	mediaPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
		"img-src data: blob:; frame-ancestors 'self'"
)

// view handles GET /ui/threads/:id/view/*: a file inline, for the preview frame.
func (h *Handlers) view(c echo.Context, id string) error {
	clean, err := files.Clean("/" + page.Param(c, "*"))
	if err != nil {
		return err
	}
	return h.ServeFile(c, id, clean, false)
}

// ServeFile answers with a file of a thread, inline under a policy that isolates it, or as
// one to save.
func (h *Handlers) ServeFile(c echo.Context, thread, clean string, save bool) error {
	r := c.Request()
	side, err := httpx.Side(c)
	if err != nil {
		return err
	}
	dir, err := h.Dirs.Open(thread)
	if page.IsMissing(err) {
		return missingFile(c, side)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	file, info, err := dir.Open(clean)
	if page.IsMissing(err) {
		return missingFile(c, side)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if side > 0 {
		return h.thumbnail(c, thread, file, side)
	}
	kind, err := contentType(clean, file)
	if err != nil {
		return err
	}
	if !save && runs(kind) {
		if h.opensAlone(r, thread, clean) {
			return h.frame(c, thread, clean)
		}
		c.Response().Header().Add("Vary", "Sec-Fetch-Dest")
	}
	header := c.Response().Header()
	header.Set("Content-Type", kind)
	policy := viewPolicy(kind)
	if h.marked(r, thread, clean) { // the page around it may itself be in a frame without an origin
		policy = strings.TrimSuffix(policy, "; frame-ancestors 'self'")
	}
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "private, no-cache")
	if page.ForLink(r) {
		page.Private(header)
	}
	if save {
		header.Set("Content-Disposition", page.Attached(path.Base(clean)))
	}
	http.ServeContent(c.Response(), r, "", info.ModTime(), file)
	return nil
}

// contentType looks into a file and leaves it at its beginning.
func contentType(name string, file *os.File) (string, error) {
	first := make([]byte, uploads.HeadBytes)
	n, err := io.ReadFull(file, first)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	kind, _ := uploads.ContentType(name, first[:n])
	return kind, nil
}

func viewPolicy(kind string) string {
	base, _, _ := strings.Cut(kind, ";")
	family, _, _ := strings.Cut(base, "/")
	if base == "application/pdf" ||
		slices.Contains([]string{"image", "audio", "video"}, family) && base != "image/svg+xml" {
		return mediaPolicy
	}
	return activePolicy
}
