// Package imports creates chats from exports of other apps: hidden ones for a preview first, then the chosen ones,
// which can be undone. Reading exports is package agent/takeout.
package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/takeout"
	"fawn/agent/threads"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
)

const (
	// MaxBytes limits an export.
	MaxBytes = 2 << 30
	// previewTime is the lifetime of an unanswered preview and its chats.
	previewTime = time.Hour
	// maxTitles limits the chats named in a preview.
	maxTitles = 50
	maxTitle  = 200 // characters
	space     = "import"
	spools    = ".import-*"
	// maxSpools limits concurrent uploads of exports.
	maxSpools = 4
	// minFiles and maxFiles bound the bytes of files that an import may write; between them, it is
	// four times the export.
	minFiles = 64 << 20
	maxFiles = 4 << 30
)

// Sentinels of this package.
var (
	// ErrBusy means that the server reads another export.
	ErrBusy = errors.New("another export is being read; try again in a minute")
	// ErrGone means that an import doesn't exist, or its preview expired.
	ErrGone = errors.New("no such import, or its preview has expired")
	// ErrTooLarge means that an export exceeds MaxBytes.
	ErrTooLarge = errors.New("the export is larger than 2 GB")
)

// namespace derives chats' ids from the other app's: a second import finds the first one's.
var namespace = uuid.NewSHA1(uuid.NameSpaceOID, []byte("fawn imports"))

// Service imports chats. All fields must be set.
type Service struct {
	DB        *store.DB
	Runs      *runs.Manager
	Dirs      files.Dirs
	Documents uploads.Documents
	Uploads   func() uploads.Config
	Log       *slog.Logger

	tidy    sync.Once    // removes leftovers of a killed server
	arrives atomic.Int32 // exports being received or read
	busy    sync.Mutex   // held while one is read
	mu      sync.Mutex
	last    int64 // moment of the last preview, which no other has
}

// Import is an import of an owner.
type Import struct {
	ID       string    `json:"import_id"`
	App      string    `json:"app"` // "" if it had no chat
	At       time.Time `json:"created_at"`
	Done     bool      `json:"confirmed"`
	Chats    int       `json:"chats"`
	Messages int       `json:"messages"`
	Files    int       `json:"files"`
}

// Preview describes an import and its omissions.
type Preview struct {
	Import
	Existing   int     `json:"existing"`         // chats that were imported before
	Branches   int     `json:"other_branches"`   // left out; the one shown last is imported
	Missing    int     `json:"missing_files"`    // not in the export
	Refused    int     `json:"refused_files"`    // over a limit or with a name no file can have
	Empty      int     `json:"empty_chats"`      // without a message
	Unreadable int     `json:"unreadable_chats"` // with unknown content
	TooLarge   int     `json:"too_large_chats"`  // over 32 MB
	Titles     []Title `json:"titles"`           // the first ones
}

// Title is one chat of a preview.
type Title struct {
	Title    string    `json:"title"`
	At       time.Time `json:"created_at"`
	Messages int       `json:"messages"`
}

// reading builds a preview.
type reading struct {
	*Service
	owner string
	at    time.Time // when its chats are removed
	left  int64     // bytes of files that it may still write
	Preview
}

// Preview reads an export and creates its chats, hidden until they are confirmed. Errors: ErrBusy, ErrTooLarge, those
// of takeout, of the store.
func (s *Service) Preview(ctx context.Context, owner string, from io.Reader) (Preview, error) {
	s.tidy.Do(s.clear)
	defer s.arrives.Add(-1)
	if s.arrives.Add(1) > maxSpools {
		return Preview{}, ErrBusy
	}
	spool, err := os.CreateTemp(s.Dirs.Root, spools) // 0600
	if err != nil {
		return Preview{}, fmt.Errorf("keep export: %w", err)
	}
	defer func() {
		if err := errors.Join(spool.Close(), os.Remove(spool.Name())); err != nil {
			s.Log.Warn("couldn't remove an imported export", "file", spool.Name(), "err", err)
		}
	}()
	size, err := io.Copy(spool, io.LimitReader(from, MaxBytes+1))
	if err != nil {
		return Preview{}, fmt.Errorf("keep export: %w", err)
	}
	if size > MaxBytes {
		return Preview{}, ErrTooLarge
	}
	if !s.busy.TryLock() {
		return Preview{}, ErrBusy
	}
	defer s.busy.Unlock()
	r := &reading{Service: s, owner: owner, at: s.moment(), left: min(max(4*size, minFiles), maxFiles)}
	r.ID, r.At = strconv.FormatInt(r.at.UnixMilli(), 36), s.DB.Now()
	bad, err := takeout.Read(ctx, spool, size, func(c *takeout.Conversation) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.chat(ctx, c)
	})
	if err != nil {
		return Preview{}, err
	}
	r.Unreadable, r.TooLarge = bad.Count, bad.Large
	if err := s.forget(ctx, owner); err != nil {
		return Preview{}, err
	}
	return r.Preview, s.keep(ctx, owner, r.Import)
}

// clear removes exports that a killed server was reading.
func (s *Service) clear() {
	old, err := fs.Glob(os.DirFS(s.Dirs.Root), spools)
	for _, name := range old {
		err = errors.Join(err, os.Remove(filepath.Join(s.Dirs.Root, name)))
	}
	if err != nil {
		s.Log.Warn("couldn't remove old exports", "err", err)
	}
}

// forget drops the rows of previews whose chats were removed.
func (s *Service) forget(ctx context.Context, owner string) error {
	rows, err := s.DB.KVs(ctx, owner, space, "")
	if err != nil {
		return err
	}
	var b store.Batch
	for _, row := range rows {
		var i Import
		if json.Unmarshal(row.Body, &i) == nil && !i.Done && s.DB.Now().Sub(i.At) > 2*previewTime {
			b.KV = append(b.KV, store.KV{Owner: owner, Space: space, Key: row.Key})
		}
	}
	if len(b.KV) == 0 {
		return nil
	}
	return s.DB.Commit(ctx, b)
}

// moment returns when the next preview ends.
func (s *Service) moment() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, s.DB.Now().Add(previewTime).UnixMilli())
	return time.UnixMilli(s.last)
}

func (s *Service) keep(ctx context.Context, owner string, i Import) error {
	body, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return s.DB.Commit(ctx, store.Batch{KV: []store.KV{{Owner: owner, Space: space, Key: i.ID, Body: body}}})
}

// threadID returns the thread id for another app's chat.
func threadID(owner, app, id string) string {
	return uuid.NewSHA1(namespace, []byte(owner+"\x00"+app+"\x00"+id)).String()
}

// chat creates one chat.
func (r *reading) chat(ctx context.Context, c *takeout.Conversation) error {
	r.App = c.App
	if len(c.Messages) == 0 {
		r.Empty++
		return nil
	}
	if c.ID == "" { // old exports have none
		c.ID = c.Title + "\x00" + c.Created.String() + "\x00" + c.Messages[0].Text
	}
	c.ID = strings.ToValidUTF8(c.ID, "")
	id := threadID(r.owner, c.App, c.ID)
	switch t, err := r.DB.Thread(ctx, id); {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case t.DeletedAt.IsZero():
		r.Existing++
		return nil
	case t.DeletedAt.Equal(r.at): // twice in one export
		return nil
	default: // in the trash, or of an unanswered preview
		began, err := r.DB.Runs(ctx, id, "", 1, 0)
		if err != nil {
			return err
		}
		if len(began) > 0 { // it was continued, and can be restored
			r.Existing++
			return nil
		}
		if err := r.Runs.DeleteThread(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return r.make(ctx, id, c)
}

func (r *reading) make(ctx context.Context, id string, c *takeout.Conversation) error {
	t := store.Thread{ID: id, Owner: r.owner, CreatedAt: c.Created, UpdatedAt: c.Updated,
		StateUpdatedAt: r.DB.Now(), DeletedAt: r.at} // retention counts from its state
	var msgs []*agent.Message
	models := map[string]bool{}
	hadFiles := false
	for i, m := range c.Messages {
		msg := &agent.Message{ID: uuid.NewSHA1(namespace, []byte(id+"\x00"+strconv.Itoa(i))).String(), Type: agent.TypeAI,
			Kwargs: map[string]any{}, Meta: map[string]any{}}
		text := clean(m.Text)
		kept, err := r.files(ctx, id, m.Files)
		if err != nil {
			return err
		}
		hadFiles = hadFiles || len(kept) > 0
		if m.Human {
			msg.Type = agent.TypeHuman
			if len(kept) > 0 {
				var list []any
				for _, f := range kept {
					list = append(list, map[string]any{"filename": f.Filename, "size": f.Size, "path": f.VirtualPath,
						"status": "uploaded"})
				}
				msg.Kwargs["files"] = list
			}
		} else {
			text = withFiles(text, kept)
			if m.Model != "" {
				models[m.Model] = true
				msg.Meta["model_name"] = clean(m.Model)
			}
		}
		if text == "" && len(kept) == 0 {
			continue // nothing but files that aren't there
		}
		if !m.At.IsZero() {
			msg.Meta["created_at"] = m.At.Format(time.RFC3339)
			if t.CreatedAt.IsZero() {
				t.CreatedAt = m.At
			}
			if t.UpdatedAt.Before(m.At) && c.Updated.IsZero() {
				t.UpdatedAt = m.At
			}
		}
		msg.Content = agent.Text(text)
		msgs = append(msgs, msg)
	}
	if len(msgs) == 0 {
		r.Empty++
		return nil
	}
	if t.UpdatedAt.IsZero() {
		t.UpdatedAt = t.CreatedAt
	}
	title := titleOf(c, msgs)
	meta, err := agent.Encode(map[string]any{"imported_from": c.App, "imported_id": c.ID, "import": r.ID,
		"imported_models": sorted(models)})
	if err != nil {
		return err
	}
	t.Metadata = meta
	values := map[string]json.RawMessage{}
	if values["messages"], err = agent.Encode(msgs); err == nil {
		values["title"], err = agent.Encode(title)
	}
	if err != nil {
		return err
	}
	if hadFiles {
		if err := r.Dirs.Save(ctx, id); err != nil {
			return err
		}
	}
	if _, err := threads.Restore(ctx, r.DB, t, values); err != nil {
		return fmt.Errorf("import chat %q: %w", title, err)
	}
	r.Chats, r.Messages, r.Branches = r.Chats+1, r.Messages+len(msgs), r.Branches+c.Branches
	if len(r.Titles) < maxTitles {
		r.Titles = append(r.Titles, Title{title, t.CreatedAt, len(msgs)})
	}
	return nil
}

// clean removes characters that the store or pages don't accept.
func clean(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", ""))
}

func titleOf(c *takeout.Conversation, msgs []*agent.Message) string {
	title := strings.Join(strings.Fields(clean(c.Title)), " ")
	if title == "" {
		title = strings.Join(strings.Fields(msgs[0].Content.String()), " ")
		if utf8.RuneCountInString(title) > 60 {
			title = string([]rune(title)[:60]) + "…"
		}
	}
	if utf8.RuneCountInString(title) > maxTitle {
		title = string([]rune(title)[:maxTitle])
	}
	return title
}

func sorted(set map[string]bool) []string {
	out := []string{}
	for s := range set {
		out = append(out, clean(s))
	}
	slices.Sort(out)
	return out
}

// withFiles adds the files of an answer to its text: pictures are shown there.
func withFiles(text string, list []uploads.File) string {
	for _, f := range list {
		link := "[" + strings.NewReplacer("[", "(", "]", ")").Replace(f.Filename) + "](" + uploads.Folder + "/" +
			url.PathEscape(f.Filename) + ")"
		if strings.HasPrefix(kindOf(f.Filename), "image/") {
			link = "!" + link
		}
		text = strings.TrimSpace(text + "\n\n" + link)
	}
	return text
}

func kindOf(name string) string {
	kind, _ := uploads.ContentType(name, nil)
	return kind
}

// files stores the attachments of a message.
func (r *reading) files(ctx context.Context, thread string, list []takeout.File) ([]uploads.File, error) {
	var out []uploads.File
	for _, f := range list {
		if f.Open == nil || f.Size > r.left {
			r.Missing++
			continue
		}
		kept, err := r.file(ctx, thread, f)
		switch {
		case err == nil && len(kept) > 0:
			out = append(out, kept...)
			r.Files += len(kept)
		case ctx.Err() != nil || errors.Is(err, runs.ErrStorage):
			return nil, err
		default:
			r.Refused++
			if err != nil {
				r.Log.Info("skipped a file of an export", "err", err)
			}
		}
	}
	return out, nil
}

// file stores one attachment by the rules for all uploads.
func (r *reading) file(ctx context.Context, thread string, f takeout.File) ([]uploads.File, error) {
	limits := r.Uploads()
	if f.Size > min(limits.MaxFileSize, limits.MaxTotalSize) {
		return nil, &uploads.FileTooLargeError{Name: f.Name, Limit: limits.MaxFileSize}
	}
	r.left -= f.Size
	if err := r.Dirs.Create(thread); err != nil {
		return nil, err
	}
	tree, err := r.Dirs.Open(thread)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	name, err := unused(tree, path.Base(clean(f.Name)))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, f.Size+1))
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("files", name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	result, err := uploads.Save(ctx, tree, thread, multipart.NewReader(&body, w.Boundary()), limits)
	if err != nil {
		return nil, err
	}
	for _, f := range result.Files {
		if err := r.Documents.Add(ctx, thread, f.Filename); err != nil {
			return nil, err
		}
	}
	return result.Files, nil
}

// unused returns a name that no upload of a chat has: several pictures of an export may share one.
func unused(tree uploads.Dir, name string) (string, error) {
	list, err := uploads.Files(tree, "")
	if err != nil {
		return "", err
	}
	taken := func(s string) bool {
		return slices.ContainsFunc(list.Files, func(f uploads.File) bool { return f.Filename == s })
	}
	ext := path.Ext(name)
	out := name
	for n := 2; taken(out); n++ {
		out = strings.TrimSuffix(name, ext) + "_" + strconv.Itoa(n) + ext
	}
	return out, nil
}

// List returns the imports of an owner that were confirmed, the newest first.
func (s *Service) List(ctx context.Context, owner string) ([]Import, error) {
	rows, err := s.DB.KVs(ctx, owner, space, "")
	if err != nil {
		return nil, err
	}
	out := []Import{}
	for _, row := range rows {
		var i Import
		if err := json.Unmarshal(row.Body, &i); err != nil {
			return nil, fmt.Errorf("read import %s: %w", row.Key, err)
		}
		if i.Done {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b Import) int { return b.At.Compare(a.At) })
	return out, nil
}

func (s *Service) read(ctx context.Context, owner, id string) (i Import, err error) {
	body, err := s.DB.KV(ctx, owner, space, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return i, err
	}
	if body == nil || json.Unmarshal(body, &i) != nil {
		return i, ErrGone
	}
	return i, nil
}

// Confirm adds the chats of a preview to the list. It is idempotent. ErrGone if the preview doesn't exist or has
// expired.
func (s *Service) Confirm(ctx context.Context, owner, id string) (Import, error) {
	i, err := s.read(ctx, owner, id)
	if err != nil || i.Done {
		return i, err
	}
	ms, err := strconv.ParseInt(id, 36, 64)
	if err != nil {
		return i, ErrGone
	}
	ids, err := s.DB.Restore(ctx, owner, time.UnixMilli(ms), 0)
	if err != nil {
		return i, err
	}
	if len(ids) == 0 { // confirmed by another request, or an interrupted one
		if i, err = s.read(ctx, owner, id); err != nil || i.Done {
			return i, err
		}
		list, err := s.of(ctx, owner, id)
		if err != nil {
			return i, err
		}
		if len(list) == 0 {
			return i, ErrGone
		}
		for _, t := range list {
			ids = append(ids, t.ID)
		}
	}
	i.Done, i.Chats = true, len(ids)
	return i, s.keep(ctx, owner, i)
}

// of lists the chats of an import that are not in the trash.
func (s *Service) of(ctx context.Context, owner, id string) ([]store.Thread, error) {
	meta, err := agent.Encode(map[string]string{"import": id})
	if err != nil {
		return nil, err
	}
	list, _, err := s.DB.Threads(ctx, store.ThreadQuery{Owner: owner, Metadata: meta})
	return list, err
}

// Undo deletes the chats of an import except continued ones. ErrGone if there are none.
func (s *Service) Undo(ctx context.Context, owner, id string) (removed, kept int, err error) {
	i, err := s.read(ctx, owner, id)
	if err != nil {
		return 0, 0, err
	}
	if i.Done {
		list, err := s.of(ctx, owner, id)
		if err != nil {
			return 0, 0, err
		}
		at := s.DB.Now().Truncate(time.Millisecond)
		for _, t := range list {
			var m struct {
				App string `json:"imported_from"`
				ID  string `json:"imported_id"`
			}
			if json.Unmarshal(t.Metadata, &m) != nil || t.ID != threadID(owner, m.App, m.ID) {
				continue // a branch of it
			}
			began, err := s.DB.Runs(ctx, t.ID, "", 1, 0)
			if err != nil {
				return removed, kept, err
			}
			if len(began) > 0 {
				kept++
				continue
			}
			if err := s.DB.Discard(ctx, owner, t.ID, at); err == nil {
				removed++
			} else if !errors.Is(err, store.ErrNotFound) {
				return removed, kept, err
			}
		}
	}
	return removed, kept, s.DB.Commit(ctx, store.Batch{KV: []store.KV{{Owner: owner, Space: space, Key: id}}})
}
