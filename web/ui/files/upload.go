package files

import (
	"context"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/files"
	"fawn/uploads"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// Attachment returns an upload as the message box shows it.
func Attachment(f uploads.File) views.Attachment {
	a := views.Attachment{Name: f.Filename, Path: page.TrimSlash(f.Path), Bytes: f.Size,
		Unseen: uploads.UnseenPicture(f.Filename)}
	if f.Conversion != nil {
		a.Encoding = f.Conversion.Encoding
	}
	switch c := f.Conversion; {
	case c == nil:
	case c.State == uploads.Pending:
		a.Document, a.Done, a.Pages = c.State, c.Done, c.Pages
	default:
		a.Document = c.Reason
	}
	return a
}

// Store saves the files of a form among the uploads of a thread, which need not exist yet.
func (h *Handlers) Store(ctx context.Context, thread string, form *multipart.Reader) (uploads.Result, error) {
	if err := h.Dirs.Create(thread); err != nil {
		return uploads.Result{}, err
	}
	tree, err := h.Dirs.Open(thread)
	if err != nil {
		return uploads.Result{}, err
	}
	defer tree.Close()
	result, err := uploads.Save(ctx, tree, thread, form, h.Uploads())
	if err != nil {
		return result, err
	}
	if err := h.Dirs.Save(ctx, thread); err != nil {
		return result, err
	}
	var names []string
	for _, f := range result.Files {
		names = append(names, f.Filename)
	}
	if err := h.Documents.Add(ctx, thread, names...); err != nil {
		return result, err
	}
	list, err := h.Documents.Files(ctx, tree, thread)
	for _, f := range list.Files {
		for i := range result.Files {
			if result.Files[i].Filename == f.Filename {
				result.Files[i].Conversion = f.Conversion
			}
		}
	}
	return result, err
}

// uploaded is the response to the script: the chips that replace its placeholders.
type uploaded struct {
	Chip  string `json:"chip,omitempty"`
	Error string `json:"error,omitempty"`
}

// upload handles POST /ui/threads/:id/uploads.
func (h *Handlers) upload(c echo.Context, id string) error {
	r := c.Request()
	limits := h.Uploads()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, limits.MaxTotalSize+page.SmallForm*page.MaxFields)
	var result uploads.Result
	save := func(_ url.Values, parts *multipart.Reader) (err error) {
		result, err = h.Store(r.Context(), id, parts)
		return err
	}
	form, had, err := page.ReadFormFiles(r, page.SmallForm*page.MaxFields, save)
	if err == nil && !had {
		err = uploads.ErrNoFiles
	}
	if err == nil && len(result.Files) == 0 {
		err = uploads.ErrName
	}
	if err != nil {
		return h.uploadError(c, err)
	}
	if !page.Scripted(r) {
		return h.BackToBox(c, id, page.PlainText(form.Get("text")))
	}
	var chips []byte
	for _, f := range result.Files {
		one, err := views.Render(page.Localized(c), chat.UploadChip(id, Attachment(f)))
		if err != nil {
			return err
		}
		chips = append(chips, one...)
	}
	return httpx.JSON(c, http.StatusOK, uploaded{Chip: string(chips)})
}

func (h *Handlers) uploadError(c echo.Context, err error) error {
	if !page.Scripted(c.Request()) {
		return err
	}
	status, _ := httpx.StatusOf(err)
	if status >= http.StatusInternalServerError && status != http.StatusInsufficientStorage {
		return err
	}
	return httpx.JSON(c, status, uploaded{Error: UploadProblem(c, err)})
}

// UploadProblem explains why a file was refused, in the reader's language where the catalogue has the words.
func UploadProblem(c echo.Context, err error) string {
	var many *uploads.TooManyError
	var large *uploads.FileTooLargeError
	var total *uploads.TotalTooLargeError
	switch {
	case errors.As(err, &many):
		return page.Say(c, "live.toomany", views.Number(many.Limit))
	case errors.As(err, &large):
		return page.Say(c, "live.toobig", views.Safe(large.Name), views.Bytes(large.Limit))
	case errors.As(err, &total):
		return page.Say(c, "live.total", views.Bytes(total.Limit))
	}
	status, detail := httpx.StatusOf(err)
	if errors.Is(err, files.ErrQuota) || status < http.StatusInternalServerError {
		if s, ok := detail.(string); ok {
			return s
		}
	}
	if status == http.StatusInsufficientStorage {
		return page.Say(c, "error.507.text")
	}
	return page.Say(c, "live.senderror")
}

// reading is a chip's text about a document.
type reading struct {
	Text    string `json:"text"`
	Pending bool   `json:"pending"`
}

// documents handles GET /ui/threads/:id/uploads: the state of the thread's documents, by name.
func (h *Handlers) documents(c echo.Context, id string) error {
	said := map[string]reading{}
	tree, err := h.Dirs.Open(id)
	if page.IsMissing(err) {
		return httpx.JSON(c, http.StatusOK, said)
	}
	if err != nil {
		return err
	}
	defer tree.Close()
	list, err := h.Documents.Files(c.Request().Context(), tree, id)
	if err != nil {
		return err
	}
	for _, f := range list.Files {
		if a := Attachment(f); a.Document != "" || a.Encoding != "" {
			said[f.Filename] = reading{chat.DocumentText(page.Localized(c), a), a.Document == uploads.Pending}
		}
	}
	return httpx.JSON(c, http.StatusOK, said)
}

// readAs handles POST /ui/threads/:id/uploads/:name/encoding: it decodes a text in the encoding that the user chose,
// or in the detected one again.
func (h *Handlers) readAs(c echo.Context, id string) error {
	name := page.Param(c, "name")
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := h.Documents.ReadAs(ctx, id, name, form.Get("encoding")); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	if err := h.Documents.Await(wait, id, name); err != nil && wait.Err() == nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.PanelPageURL(id, page.TrimSlash(uploads.Folder+"/"+name)))
}

// readPatience limits the response's wait for a repeated conversion.
const readPatience = 3 * time.Second

// removeUpload handles POST /ui/threads/:id/uploads/:name/delete.
func (h *Handlers) removeUpload(c echo.Context, id string) error {
	name := page.Param(c, "name")
	form, err := page.ReadForm(c.Request(), h.Config.Current().File.Server.MaxBodyBytes)
	if err != nil {
		return err
	}
	tree, err := h.Dirs.Open(id)
	if err != nil {
		return err
	}
	defer tree.Close()
	if err := uploads.Delete(tree, name); err != nil && !errors.Is(err, uploads.ErrNotFound) {
		return err
	}
	ctx := c.Request().Context()
	err = errors.Join(h.Documents.Remove(ctx, tree, id, name), h.Pictures.Forget(id), h.Dirs.Save(ctx, id))
	if err != nil {
		return err
	}
	if page.Scripted(c.Request()) {
		return page.Frame(c, views.Frame{}, "")
	}
	return h.BackToBox(c, id, page.PlainText(form.Get("text")))
}
