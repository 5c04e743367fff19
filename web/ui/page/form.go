package page

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"fawn/uploads"
	"fawn/web/httpx"
)

// SmallForm limits forms that carry no message, in bytes.
const SmallForm = 64 << 10

// MaxFields limits the fields of a form.
const MaxFields = 64

// ReadForm reads a form without files, in either encoding; files in it are ignored.
func ReadForm(r *http.Request, limit int64) (url.Values, error) {
	form, _, err := ReadFormFiles(r, limit, nil)
	return form, err
}

// ReadFormFiles reads a form. It streams the files to save as a form of their own; with a nil save they are dropped.
// Fields before the files are available to save.
func ReadFormFiles(r *http.Request, limit int64,
	save func(url.Values, *multipart.Reader) error) (form url.Values, files bool, err error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		body, err := httpx.Body(r, httpx.Limit{Bytes: limit, Key: "server.max_body_bytes"})
		if err != nil {
			return nil, false, err
		}
		form, err = url.ParseQuery(string(body))
		if err != nil {
			return nil, false, httpx.Errorf(http.StatusBadRequest, "the form could not be read")
		}
		return form, false, nil
	}
	s := &splitter{form: url.Values{}, left: limit, save: save}
	err = s.finish(s.read(multipart.NewReader(r.Body, params["boundary"])))
	return s.form, s.out != nil, err
}

// SaveFiles streams the files of a form to save, within the limits of uploads.
func SaveFiles(c echo.Context, limits uploads.Config, save func(context.Context, *multipart.Reader) error) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, limits.MaxTotalSize+SmallForm)
	_, _, err := ReadFormFiles(r, SmallForm, func(_ url.Values, files *multipart.Reader) error {
		return save(r.Context(), files)
	})
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		err = &uploads.TotalTooLargeError{Limit: limits.MaxTotalSize}
	}
	return err
}

// splitter splits a multipart form: it keeps fields and passes files to a second form that another
// goroutine reads.
type splitter struct {
	form url.Values
	left int64 // bytes that fields may still have
	save func(url.Values, *multipart.Reader) error
	out  *multipart.Writer
	pipe *io.PipeWriter
	done chan error
}

func (s *splitter) read(in *multipart.Reader) error {
	for n := 0; ; n++ {
		part, err := in.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return FormError(err)
		}
		switch {
		case part.FileName() != "":
			err = s.file(part)
		case n > MaxFields:
			return httpx.Errorf(http.StatusBadRequest, "the form has too many fields")
		default:
			err = s.field(part)
		}
		if err != nil {
			return err
		}
	}
}

func (s *splitter) field(part *multipart.Part) error {
	b, err := io.ReadAll(io.LimitReader(part, s.left+1))
	if err != nil {
		return FormError(err)
	}
	if s.left -= int64(len(b)); s.left < 0 {
		return httpx.Errorf(http.StatusRequestEntityTooLarge, "the form is too large")
	}
	if name := part.FormName(); name != "" && utf8.Valid(b) {
		s.form.Add(name, string(b))
	}
	return nil
}

func (s *splitter) file(part *multipart.Part) error {
	if s.save == nil {
		_, err := io.Copy(io.Discard, part)
		return FormError(err)
	}
	if s.out == nil {
		r, w := io.Pipe()
		s.pipe, s.out, s.done = w, multipart.NewWriter(w), make(chan error, 1)
		go func(fields url.Values, files *multipart.Reader) {
			err := s.save(fields, files)
			if err == nil { // data after the end of the form
				_, err = io.Copy(io.Discard, r)
			}
			r.CloseWithError(errSaved)
			s.done <- err
		}(cloneValues(s.form), multipart.NewReader(r, s.out.Boundary()))
	}
	w, err := s.out.CreatePart(part.Header)
	if err == nil {
		_, err = io.Copy(w, part)
	}
	if errors.Is(err, errSaved) {
		return err // finish returns the reason
	}
	return FormError(err)
}

// errSaved means that the files are no longer read.
var errSaved = errors.New("the files can no longer be read")

// finish ends the second form, waits for its reader and returns why the whole failed.
func (s *splitter) finish(failed error) error {
	if s.out == nil {
		return failed
	}
	if failed == nil {
		failed = s.out.Close()
	}
	s.pipe.CloseWithError(failed) // nil is the plain end
	if err := <-s.done; err != nil && !errors.Is(err, failed) {
		return err
	}
	return failed
}

func cloneValues(v url.Values) url.Values {
	out := make(url.Values, len(v))
	for k, list := range v {
		out[k] = append([]string(nil), list...)
	}
	return out
}

// FormError returns nil for nil, a 413 for an oversized body, and uploads.ErrForm for other errors.
func FormError(err error) error {
	if err == nil {
		return nil
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return httpx.Errorf(http.StatusRequestEntityTooLarge, "the form is larger than %d bytes", tooLarge.Limit)
	}
	return errors.Join(uploads.ErrForm, err)
}
