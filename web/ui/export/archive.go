package export

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/views/i18n"
	"fawn/web/httpx"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// exportPage is the number of chats read at a time.
const exportPage = 200

// ExportMarkdown returns a readable transcript of a chat. lang is the language of headings.
func (h *Handlers) ExportMarkdown(ctx context.Context, t store.Thread,
	lang string) (title string, body []byte, err error) {
	snap, err := h.wholeThread(ctx, t)
	if err != nil {
		return "", nil, err
	}
	b := turns.New(t.ID, h.Describer(t.ID))
	for _, row := range snap.Messages {
		m, err := agent.ParseMessage(row.Body)
		if err != nil {
			return "", nil, err
		}
		b.Add(m)
	}
	title = ExportTitle(t, b.Turns, lang)
	var out strings.Builder
	out.WriteString("# " + title + "\n")
	for i := range b.Turns {
		writeTurn(&out, &b.Turns[i], lang)
	}
	return title, []byte(out.String()), nil
}

// ExportJSON returns the stored state of a chat, for programs.
func (h *Handlers) ExportJSON(ctx context.Context, t store.Thread) ([]byte, error) {
	snap, err := h.wholeThread(ctx, t)
	if err != nil {
		return nil, err
	}
	body, err := json.MarshalIndent(map[string]any{"thread_id": t.ID, "title": t.Title, "created_at": t.CreatedAt.UTC(),
		"updated_at": t.UpdatedAt.UTC(), "metadata": t.Metadata, "values": runs.Values(snap, true)}, "", "  ")
	return append(body, '\n'), err
}

// wholeThread reads a thread with all its messages.
func (h *Handlers) wholeThread(ctx context.Context, t store.Thread) (store.Snapshot, error) {
	if t.Head == "" {
		return store.Snapshot{}, nil
	}
	return h.DB.Snapshot(ctx, t.ID, t.Head)
}

// ExportThread writes a chat with its files as a zip archive. begin is called before the first byte.
func (h *Handlers) ExportThread(ctx context.Context, t store.Thread, lang string,
	begin func(name string) io.Writer) error {
	return h.exporting(func() error {
		title := ExportTitle(t, nil, lang)
		e := newExport(h, lang, begin(title+".zip"))
		if err := e.thread(ctx, t, ""); err != nil {
			return err
		}
		return e.Close()
	})
}

// ExportAll writes all that belongs to an owner as a zip archive: chats with their files, agents, profile and
// memory. It holds one chat at a time.
func (h *Handlers) ExportAll(ctx context.Context, owner, lang string, begin func(name string) io.Writer) error {
	return h.exporting(func() error {
		e := newExport(h, lang, begin("fawn-export-"+time.Now().UTC().Format("2006-01-02")+".zip"))
		if err := e.all(ctx, owner); err != nil {
			return err
		}
		return e.Close()
	})
}

// exporting takes one of the places for archives, or refuses with a 503.
func (h *Handlers) exporting(do func() error) error {
	select {
	case h.zips <- struct{}{}:
		defer func() { <-h.zips }()
		return do()
	default:
		d := httpx.Errorf(http.StatusServiceUnavailable, "Too many archives are being made: try again in a moment")
		d.Header = http.Header{"Retry-After": {"10"}}
		return d
	}
}

// export is an archive being written.
type export struct {
	*zip.Writer
	h     *Handlers
	lang  string
	taken map[string]bool // folders
}

func newExport(h *Handlers, lang string, w io.Writer) *export {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate,
		func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	return &export{Writer: z, h: h, lang: lang, taken: map[string]bool{}}
}

// exported is a line of the list of chats.
type exported struct {
	ThreadID string    `json:"thread_id"`
	Title    string    `json:"title"`
	Folder   string    `json:"folder"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

func (e *export) all(ctx context.Context, owner string) error {
	list := []exported{}
	for batch := 0; ; batch++ {
		threads, _, err := e.h.DB.Threads(ctx, store.ThreadQuery{Owner: owner, Limit: exportPage,
			Offset: batch * exportPage, SortBy: "created_at", SortOrder: "asc"})
		if err != nil {
			return err
		}
		for _, t := range threads {
			title := ExportTitle(t, nil, e.lang)
			folder := "chats/" + unique(ZipName(strings.ReplaceAll(page.FirstWords(title), "/", "-")), e.taken)
			if err := e.thread(ctx, t, folder+"/"); err != nil {
				return fmt.Errorf("chat %s: %w", t.ID, err)
			}
			list = append(list, exported{t.ID, t.Title, folder, t.CreatedAt.UTC(), t.UpdatedAt.UTC()})
		}
		if len(threads) < exportPage {
			break
		}
	}
	if err := e.json("chats.json", list); err != nil {
		return err
	}
	return e.person(ctx, owner)
}

// person adds data that belongs to no chat.
func (e *export) person(ctx context.Context, owner string) error {
	if e.h.Memory != nil {
		d, err := e.h.Memory.Document(ctx, owner)
		if err != nil {
			return err
		}
		if err := e.json("memory.json", d); err != nil {
			return err
		}
	}
	if e.h.Agents == nil {
		return nil
	}
	if text, err := e.h.Agents.User(owner); err == nil && text != "" {
		if err := e.file("USER.md", time.Now(), []byte(text)); err != nil {
			return err
		}
	}
	agents, err := e.h.Agents.List(owner)
	if err != nil {
		return err
	}
	for _, a := range agents {
		b, err := e.h.Agents.Export(owner, a.Name)
		if err != nil {
			continue // an unreadable one reports it on its page
		}
		if err := e.file("agents/"+ZipName(a.Name)+".md", time.Now(), b); err != nil {
			return err
		}
	}
	return nil
}

// thread adds a chat below a folder.
func (e *export) thread(ctx context.Context, t store.Thread, folder string) error {
	_, text, err := e.h.ExportMarkdown(ctx, t, e.lang)
	if err != nil {
		return err
	}
	if err := e.file(folder+"chat.md", t.UpdatedAt, text); err != nil {
		return err
	}
	body, err := e.h.ExportJSON(ctx, t)
	if err != nil {
		return err
	}
	if err := e.file(folder+"chat.json", t.UpdatedAt, body); err != nil {
		return err
	}
	dir, err := e.h.Dirs.Open(t.ID)
	if page.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return e.files(ctx, dir, folder+"files/")
}

// files adds the ordinary files of a chat. Links are neither shown nor followed.
func (e *export) files(ctx context.Context, dir *files.Files, to string) error {
	for _, folder := range zipFolders {
		base, taken := files.UserData+"/"+folder, map[string]bool{}
		err := dir.Walk(ctx, base, files.WalkOptions{All: true}, func(f files.Entry) error {
			if f.Dir || f.Link {
				return nil
			}
			name := unique(ZipName(strings.TrimPrefix(f.Path, base+"/")), taken)
			return zipFile(e.Writer, dir, zipEntry{f, to + path.Join(folder, name)})
		})
		if errors.Is(err, files.ErrLimit) {
			err = e.file(to+folder+"/INCOMPLETE.txt", time.Now(), []byte(i18n.T(e.lang, "files.zip.many")+"\n"))
		}
		if err != nil && !page.IsMissing(err) {
			return err
		}
	}
	return nil
}

func (e *export) json(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return e.file(name, time.Now(), append(b, '\n'))
}

func (e *export) file(name string, at time.Time, body []byte) error {
	w, err := e.CreateHeader(&zip.FileHeader{Name: name, Modified: at.UTC(), Method: zip.Deflate})
	if err == nil {
		_, err = io.Copy(w, bytes.NewReader(body))
	}
	return err
}
