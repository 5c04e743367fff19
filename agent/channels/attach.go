package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"path"
	"strings"

	"fawn/agent/channels/chat"
	"fawn/sandbox/files"
	"fawn/uploads"
)

// attach stores a message's files as uploads of a thread and returns a line about each, including files that can't be
// stored; an error means try again.
func (t *turn) attach(ctx context.Context, thread string, u chat.Update) (lines []string, err error) {
	for _, f := range u.Files {
		name := path.Base(strings.ReplaceAll(f.Name, "\\", "/"))
		if name == "." || name == "/" || name == "" {
			name = "file"
		}
		if t.l.b.h.cfg.Save == nil {
			lines = append(lines, fmt.Sprintf(refusedFile, clean(name), "files are not taken"))
			continue
		}
		saved, err := t.fetch(ctx, thread, name, f)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			t.l.b.h.cfg.Log.Warn("couldn't save a file from a chat", "channel", t.l.b.provider, "err", err)
			lines = append(lines, fmt.Sprintf(refusedFile, clean(name), reasonOf(err)))
			continue
		}
		for _, s := range saved.SkippedFiles {
			lines = append(lines, fmt.Sprintf(refusedFile, clean(s), "its name is not safe"))
		}
		for _, s := range saved.Files {
			lines = append(lines, fmt.Sprintf(sentFile, clean(s.Filename)))
		}
	}
	return lines, nil
}

// reasonOf returns the public reason for a refused file.
func reasonOf(err error) string {
	if errors.Is(err, uploads.ErrTooLarge) {
		return "it is too large"
	}
	return "it could not be fetched"
}

// fetch streams a file from the platform into the uploads, like a browser's form.
func (t *turn) fetch(ctx context.Context, thread, name string, f chat.FileRef) (uploads.Result, error) {
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	fetched := make(chan error, 1)
	go func() {
		part, err := form.CreateFormFile("files", name)
		if err == nil {
			err = t.l.b.channel().Fetch(ctx, f, part)
		}
		if err == nil {
			err = form.Close()
		}
		w.CloseWithError(err) // nil means EOF
		fetched <- err
	}()
	saved, err := t.l.b.h.cfg.Save(ctx, thread, multipart.NewReader(r, form.Boundary()))
	r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if ferr := <-fetched; err == nil {
		err = ferr
	}
	return saved, err
}

// outputs is the folder that files must be in to be sent.
const outputs = files.Outputs + "/"
