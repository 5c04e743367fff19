package api

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/unicode/norm"

	"fawn/sandbox/files"
	"fawn/uploads"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// conversionPatience limits the wait of an upload's response for conversions.
const conversionPatience = 3 * time.Second

// upload stores the files of a form. They may come before the thread's first run.
func (m mount) upload(c echo.Context, id string) error {
	r := c.Request()
	form, limits, err := m.UploadForm(c)
	if err != nil {
		return err
	}
	if err := m.Dirs.Create(id); err != nil {
		return err
	}
	dir, err := m.Dirs.Open(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	out, err := uploads.Save(r.Context(), dir, id, form, limits)
	if err != nil {
		return route.UploadError(err, limits)
	}
	if err := m.Dirs.Save(r.Context(), id); err != nil {
		return err
	}
	if err := m.describe(r.Context(), dir, id, out.Files); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// describe schedules converting the documents among new files and reports it.
func (m mount) describe(ctx context.Context, dir *files.Files, thread string, all []uploads.File) error {
	var names []string
	for _, f := range all {
		names = append(names, f.Filename)
	}
	if err := m.Documents.Add(ctx, thread, names...); err != nil {
		return err
	}
	// Clients fetch the Markdown by the address in this answer. What takes longer is in the list later.
	wait, cancel := context.WithTimeout(ctx, conversionPatience)
	defer cancel()
	if err := m.Documents.Await(wait, thread, names...); err != nil && wait.Err() == nil {
		return err
	}
	list, err := m.Documents.Files(ctx, dir, thread)
	for _, f := range list.Files {
		if i := slices.Index(names, f.Filename); i >= 0 {
			f.OriginalFilename, f.Modified = all[i].OriginalFilename, all[i].Modified
			all[i] = f
		}
	}
	return err
}

// files opens a thread's folder; nil if it has none yet.
func (a *API) files(thread string) (*files.Files, error) {
	dir, err := a.Dirs.Open(thread)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

func (m mount) listUploads(c echo.Context, id string) error {
	dir, err := m.files(id)
	if err != nil {
		return err
	}
	list := uploads.List{Files: []uploads.File{}}
	if dir != nil {
		defer dir.Close()
		if list, err = m.Documents.Files(c.Request().Context(), dir, id); err != nil {
			return err
		}
	}
	return httpx.JSON(c, http.StatusOK, list)
}

func (m mount) uploadLimits(c echo.Context, _ string) error {
	return httpx.JSON(c, http.StatusOK, m.Uploads())
}

// encodingBody is the body of readUploadAs.
type encodingBody struct {
	Encoding string `json:"encoding"`
}

// readUploadAs reads the text of an upload in another encoding, and responds with the result.
func (m mount) readUploadAs(c echo.Context, id string) error {
	var body encodingBody
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	name := norm.NFC.String(route.Param(c, "name"))
	dir, err := m.files(id)
	if err != nil {
		return err
	}
	if dir == nil {
		return &uploads.NotFoundError{Name: name}
	}
	defer dir.Close()
	ctx := c.Request().Context()
	if err := m.Documents.ReadAs(ctx, id, name, body.Encoding); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, conversionPatience)
	defer cancel()
	if err := m.Documents.Await(wait, id, name); err != nil && wait.Err() == nil {
		return err
	}
	list, err := m.Documents.Files(ctx, dir, id)
	if err != nil {
		return err
	}
	for _, f := range list.Files {
		if f.Filename == name {
			return httpx.JSON(c, http.StatusOK, f)
		}
	}
	return &uploads.NotFoundError{Name: name}
}

func (m mount) deleteUpload(c echo.Context, id string) error {
	name := route.Param(c, "name")
	dir, err := m.files(id)
	if err != nil {
		return err
	}
	if dir == nil {
		return &uploads.NotFoundError{Name: name}
	}
	defer dir.Close()
	if err := uploads.Delete(dir, name); err != nil {
		return err
	}
	ctx := c.Request().Context()
	err = errors.Join(m.Documents.Remove(ctx, dir, id, name), m.Pictures.Forget(id), m.Dirs.Save(ctx, id))
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, route.DoneMessage{Message: "Deleted " + name, Success: true})
}

func describeFiles() []o.Op {
	const tag = "Files"
	file := append(route.Filed(200, "The file", "*/*"), route.Filed(206, "Part of the file", "*/*")...)
	download := []o.Param{{Name: "download", Schema: o.Bool(), Text: "Send as an attachment"}}
	small := append(download, o.Param{Name: "thumb", Schema: o.Int(1),
		Text: "Send a picture as a JPEG or PNG with no side longer than about this many pixels, at most 1024"})
	return []o.Op{
		{ID: "uploadFiles", Lazy: true, Tag: tag, Text: "Upload files to a thread", Form: "files",
			Out: route.Answered("The stored files",
				o.Of[uploads.Result](o.Is("files", o.List(o.Ref("File"))))), Fail: []int{400, 413}},
		{ID: "listUploads", Lazy: true, Tag: tag, Text: "List uploaded files",
			Out: route.Answered("The files",
				o.Of[uploads.List](o.Is("files", o.List(o.Ref("File"))), o.Is("count", o.Int(0))))},
		{ID: "getUploadLimits", Lazy: true, Tag: tag, Text: "Get the upload limits",
			Out: route.Answered("The limits", o.Of[uploads.Config]())},
		{ID: "deleteUpload", Tag: tag, Text: "Delete an uploaded file", Out: route.Answered("Deleted", success()),
			Fail: []int{400}},
		{ID: "setUploadEncoding", Tag: tag, Text: "Read a text in another encoding",
			More: "Without an encoding it is told from the text again. The answer waits up to 3 seconds for the new text.",
			Body: o.Reads[encodingBody](),
			Out:  route.Answered("The file, with what came of it", o.Ref("File")), Fail: []int{400}},
		{ID: "getArtifact", Tag: tag, Text: "Get a file of a thread",
			More: "Supports range requests. Active content is sent as an attachment.", Query: small, Out: file,
			Fail: []int{400, 403, 415, 416}},
		{ID: "editArtifact", Tag: tag, Text: "Replace a text file in outputs", Need: true,
			More: "expected_sha256 is the hash of the text as it was read; a file that has changed since is a 412.",
			Body: o.Reads[artifactBody](o.Req("content", o.String()), o.Req("expected_sha256", o.String())),
			Out:  route.Answered("The new text", o.Of[savedArtifact](o.Is("size", o.Int(0)))), Fail: []int{400, 403, 409, 412, 413, 415}},
		{ID: "headArtifact", Tag: tag, Text: "Get size and type of a file", Query: small,
			Out:  []o.Answer{{Status: 200, Text: "The file exists"}, {Status: 206, Text: "The range exists"}},
			Fail: []int{400, 403, 415, 416}},
	}
}
