package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kinds of sources of a collection.
const (
	UploadSource = "upload"
	FolderSource = "folder"
	WebSource    = "web"
	GitSource    = "git"
)

// maxPage is the number of documents the server lists at a time.
const maxPage = 1000

// lookEvery is the interval of checking a source that is being read.
const lookEvery = 200 * time.Millisecond

// Collection is a collection of documents.
type Collection struct {
	ID        string `json:"knowledge_id"`
	Name      string `json:"name"`
	About     string `json:"description"`
	Documents int    `json:"document_count"`
	Role      string `json:"role"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// Source is a source of a collection's documents.
type Source struct {
	ID        string  `json:"source_id"`
	Kind      string  `json:"kind"`
	Address   string  `json:"address"`
	Every     int64   `json:"every_seconds"`
	State     string  `json:"state"`
	Problem   string  `json:"problem"`
	Done      int     `json:"done"`
	Total     int     `json:"total"`
	Skipped   int     `json:"skipped"`
	CheckedAt *string `json:"checked_at"`
	NextAt    *string `json:"next_at"`
}

// Pending reports whether a source is being read, or about to be.
func (s Source) Pending() bool { return s.State == "pending" }

// Failed reports whether a source couldn't be read.
func (s Source) Failed() bool { return s.State == "failed" }

// Document is a document of a collection.
type Document struct {
	ID        int64  `json:"document_id"`
	Source    string `json:"source_id"`
	Name      string `json:"name"`
	Title     string `json:"title"`
	Address   string `json:"address"`
	State     string `json:"state"`
	Reason    string `json:"reason"`
	Bytes     int64  `json:"bytes"`
	UpdatedAt string `json:"updated_at"`
	Text      string `json:"text,omitempty"`
}

// Failed reports whether a document couldn't be read, so that no search finds it.
func (d Document) Failed() bool { return d.State == "failed" }

// Passage is a part of a document that a search found.
type Passage struct {
	Cite     string `json:"cite"`
	Document int64  `json:"document_id"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Page     int    `json:"page"`
	First    int    `json:"start_line"`
	Last     int    `json:"end_line"`
	Heading  string `json:"heading"`
	Text     string `json:"text"`
}

func collectionAt(c Collection, rest string) string {
	return "/api/knowledge/" + url.PathEscape(c.ID) + rest
}

// Collections lists the collections of documents that the caller owns or shares.
func (s Server) Collections(ctx context.Context) ([]Collection, error) {
	var out struct{ Knowledge []Collection }
	err := s.Call(ctx, http.MethodGet, "/api/knowledge", nil, &out)
	return out.Knowledge, err
}

// Collection finds a collection by its id or its name, ignoring case. Of collections with the same name the caller's
// own comes first. Errors: *Mistake.
func (s Server) Collection(ctx context.Context, name string) (Collection, error) {
	list, err := s.Collections(ctx)
	if err != nil {
		return Collection{}, fmt.Errorf("find the collection %q: %w", name, err)
	}
	return named(list, name)
}

// roleOwner is the role of the owner in a collection.
const roleOwner = "owner"

func named(list []Collection, name string) (Collection, error) {
	var names, ids []string
	var found []Collection
	for _, c := range list {
		if c.ID == name {
			return c, nil
		}
		if strings.EqualFold(c.Name, name) {
			found, ids = append(found, c), append(ids, c.ID)
		}
		names = append(names, c.Name)
	}
	own := slices.DeleteFunc(slices.Clone(found), func(c Collection) bool { return c.Role != roleOwner })
	if len(own) == 1 {
		return own[0], nil
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Collection{}, &Mistake{fmt.Sprintf("there are %d collections %q; name one by its id: %s", len(found), name,
			strings.Join(ids, ", "))}
	case len(names) == 0:
		return Collection{}, &Mistake{fmt.Sprintf("there is no collection %q: there are no collections", name)}
	}
	return Collection{}, &Mistake{fmt.Sprintf("there is no collection %q; there are: %s", name, strings.Join(names, ", "))}
}

// EnsureCollection finds a collection by its id, or one of the caller's own by its name, or makes one of that name. An about
// that is not empty becomes its description.
func (s Server) EnsureCollection(ctx context.Context, name, about string) (c Collection, made bool, err error) {
	list, err := s.Collections(ctx)
	if err != nil {
		return c, false, fmt.Errorf("find the collection %q: %w", name, err)
	}
	if !slices.ContainsFunc(list, func(c Collection) bool {
		return c.ID == name || c.Role == roleOwner && strings.EqualFold(c.Name, name)
	}) {
		err = s.Call(ctx, http.MethodPost, "/api/knowledge", map[string]string{"name": name, "description": about}, &c)
		return c, err == nil, err
	}
	if c, err = named(list, name); err == nil && about != "" && about != c.About {
		err = s.Call(ctx, http.MethodPatch, collectionAt(c, ""), map[string]string{"description": about}, &c)
	}
	return c, false, err
}

// RemoveCollection deletes a collection with its documents.
func (s Server) RemoveCollection(ctx context.Context, c Collection) error {
	return s.Call(ctx, http.MethodDelete, collectionAt(c, ""), nil, nil)
}

// Sources lists the sources of a collection.
func (s Server) Sources(ctx context.Context, c Collection) ([]Source, error) {
	var out struct{ Sources []Source }
	err := s.Call(ctx, http.MethodGet, collectionAt(c, "/sources"), nil, &out)
	return out.Sources, err
}

// AddSource adds a source to a collection, to be read at once.
func (s Server) AddSource(ctx context.Context, c Collection, kind, address string, every time.Duration) (out Source, err error) {
	err = s.Call(ctx, http.MethodPost, collectionAt(c, "/sources"), map[string]any{"kind": kind, "address": address,
		"every_seconds": int64(every / time.Second)}, &out)
	return out, err
}

// RemoveSource removes a source with its documents.
func (s Server) RemoveSource(ctx context.Context, c Collection, id string) error {
	return s.Call(ctx, http.MethodDelete, collectionAt(c, "/sources/"+url.PathEscape(id)), nil, nil)
}

// Refresh requests reading a source, or all of them for "".
func (s Server) Refresh(ctx context.Context, c Collection, source string) error {
	at := "/update"
	if source != "" {
		at = "/sources/" + url.PathEscape(source) + at
	}
	return s.Call(ctx, http.MethodPost, collectionAt(c, at), nil, nil)
}

// Settled waits until the sources selected by pick are read. At every check it calls seen with each source still being
// read.
func (s Server) Settled(ctx context.Context, c Collection, pick func(Source) bool, seen func(Source)) ([]Source, error) {
	for {
		list, err := s.Sources(ctx, c)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(one Source) bool { return !pick(one) })
		working := false
		for _, one := range list {
			if one.Pending() {
				working = true
				seen(one)
			}
		}
		if !working {
			return list, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// Documents returns the documents of a collection, failed ones first.
func (s Server) Documents(ctx context.Context, c Collection) (all []Document, err error) {
	for {
		var out struct{ Documents []Document }
		at := fmt.Sprintf("/documents?limit=%d&offset=%d", maxPage, len(all))
		if err := s.Call(ctx, http.MethodGet, collectionAt(c, at), nil, &out); err != nil {
			return nil, err
		}
		all = append(all, out.Documents...)
		if len(out.Documents) < maxPage {
			return all, nil
		}
	}
}

// Document returns a document of a collection with its text.
func (s Server) Document(ctx context.Context, c Collection, id int64) (out Document, err error) {
	err = s.Call(ctx, http.MethodGet, collectionAt(c, "/documents/"+strconv.FormatInt(id, 10)), nil, &out)
	return out, err
}

// RemoveDocument deletes an uploaded document.
func (s Server) RemoveDocument(ctx context.Context, c Collection, id int64) error {
	return s.Call(ctx, http.MethodDelete, collectionAt(c, "/documents/"+strconv.FormatInt(id, 10)), nil, nil)
}

// UploadDocument adds a file to a collection, without holding it, and returns the name of its document.
func (s Server) UploadDocument(ctx context.Context, c Collection, file string) (string, error) {
	var answer struct {
		Files   []struct{ Name string }
		Skipped []string `json:"skipped_files"`
	}
	if err := s.send(ctx, collectionAt(c, "/documents"), []string{file}, &answer); err != nil {
		return "", fmt.Errorf("upload %s: %w", file, err)
	}
	if len(answer.Files) != 1 {
		return "", fmt.Errorf("upload %s: the server didn't accept it", file)
	}
	return answer.Files[0].Name, nil
}

// SearchCollection finds passages in a collection, the best first.
func (s Server) SearchCollection(ctx context.Context, c Collection, query string, limit int) ([]Passage, error) {
	var out struct{ Passages []Passage }
	err := s.Call(ctx, http.MethodGet, collectionAt(c, fmt.Sprintf("/search?limit=%d&query=%s", limit, url.QueryEscape(query))),
		nil, &out)
	return out.Passages, err
}

// send posts files as a form, without holding them, and decodes the answer.
func (s Server) send(ctx context.Context, at string, files []string, into any) error {
	from, to := io.Pipe()
	form := multipart.NewWriter(to)
	done := make(chan struct{})
	go func() {
		defer close(done)
		to.CloseWithError(writeForm(form, files))
	}()
	res, err := s.do(ctx, http.MethodPost, at, header("Content-Type", form.FormDataContentType()), from)
	from.CloseWithError(errors.New("the server stopped reading"))
	<-done
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(into)
}
