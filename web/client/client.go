package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// maxAnswer limits a response that is read whole, in bytes.
const maxAnswer = 256 << 20

// Refusal is an answer that is not a success.
type Refusal struct {
	Status int
	Why    string
}

// Error returns the server's message.
func (r *Refusal) Error() string { return r.Why }

// final reports whether a retry is pointless. Otherwise a proxy may have answered for an unavailable server.
func (r *Refusal) final() bool { return r.Status < 500 && r.Status != http.StatusTooManyRequests }

// header returns a header with one line.
func header(name, value string) http.Header {
	h := http.Header{}
	h.Set(name, value)
	return h
}

// do makes a request. Unsuccessful responses become a [Refusal] with the server's reason.
func (s Server) do(ctx context.Context, method, path string, h http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(s.URL, "/")+path, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, h)
	if s.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.Token)
	}
	res, err := s.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	var why struct {
		Detail any `json:"detail"`
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err == nil && json.Unmarshal(b, &why) == nil && why.Detail != nil {
		return nil, &Refusal{res.StatusCode, fmt.Sprintf("the server refuses it (%d): %s", res.StatusCode, detail(why.Detail))}
	}
	if res.StatusCode == http.StatusUnauthorized {
		return nil, &Refusal{res.StatusCode,
			"the server wants to know who you are: give it a token with --token or FAWN_TOKEN"}
	}
	return nil, &Refusal{res.StatusCode, "the server answers " + res.Status}
}

// Call sends a body as JSON, nil for none, and decodes the response, unless into is nil. Refusals of the server are a
// [Refusal].
func (s Server) Call(ctx context.Context, method, path string, body, into any) error {
	var from io.Reader
	var h http.Header
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		from, h = bytes.NewReader(b), header("Content-Type", "application/json")
	}
	res, err := s.do(ctx, method, path, h, from)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// Save writes the response to a GET to w.
func (s Server) Save(ctx context.Context, path string, w io.Writer) error {
	res, err := s.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(w, res.Body)
	return err
}

// Uploaded is a file that a thread has got.
type Uploaded struct {
	Filename string `json:"filename"`
	Size     any    `json:"size"`
	Path     string `json:"virtual_path"`
}

// Upload sends files to a thread, without holding them.
func (s Server) Upload(ctx context.Context, thread string, files []string) ([]Uploaded, error) {
	if len(files) == 0 {
		return nil, nil
	}
	for _, name := range files { // report typing errors before sending anything
		if info, err := os.Stat(name); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s isn't a file", name)
		}
	}
	var answer struct{ Files []Uploaded }
	err := s.send(ctx, "/api/threads/"+url.PathEscape(thread)+"/uploads", files, &answer)
	if err != nil {
		return nil, fmt.Errorf("upload: %w", err)
	}
	if len(answer.Files) != len(files) {
		err = fmt.Errorf("upload: the server accepted %d of %d files", len(answer.Files), len(files))
	}
	return answer.Files, err
}

func writeForm(form *multipart.Writer, files []string) error {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		w, err := form.CreateFormFile("files", filepath.Base(name))
		if err == nil {
			_, err = io.Copy(w, f)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return form.Close()
}
