package knowledge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"fawn/store"
	"fawn/uploads"
	"fawn/uploads/convert"
	"fawn/uploads/documents"
)

// Limits of reading.
const (
	maxDocuments = 20_000   // limit per source
	maxSkipped   = 200_000  // limit of non-document files per source
	maxInput     = 64 << 20 // bytes of a file
	maxText      = 8 << 20  // bytes of a text
	maxDocName   = 500      // bytes
	maxTries     = 3        // consecutive conversions of a document that crash the server

	together  = 64          // passages per commit
	notedEach = time.Second // interval of storing a source's progress
	readTime  = time.Hour   // reading time per turn of a source; then others continue
)

// Reasons of failed documents besides those of conversions.
const (
	Full  = "full"  // the collection reached its text limit
	Large = "large" // the file exceeds the size limit

	// Unreadable marks a file that the system doesn't let the server read completely.
	Unreadable = "unreadable"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// reading is the state of reading a source.
type reading struct {
	*Service
	src   store.Source
	known map[string]store.Document
	seen  map[string]bool
	room  int64 // bytes of text left in the collection's limit

	batch    []store.Indexed
	passages int // in batch
	wrote    bool
	skipped  int
	noted    time.Time
}

// errGone ends the reading of a source that was removed.
var errGone = errors.New("the source is gone")

// asked is the due time of a source whose reading was requested, see [store.DB.AskSource].
const asked = 1

// again reports whether an unchanged failed document may be retried. One that crashed the server may not: several of
// them would prevent completion forever.
func (r *reading) again(d store.Document) bool {
	if d.State != uploads.Failed {
		return false
	}
	return d.Reason == Full && r.room > 0 || d.Reason == Unreadable ||
		d.Reason == string(convert.Crashed) && d.Tries < maxTries && r.src.NextAt.UnixMilli() == asked
}

// read reads a source once and stores the result. If ctx ends, it stores nothing, and the source is read
// again.
func (s *Service) read(ctx context.Context, src store.Source) error {
	r := &reading{Service: s, src: src, seen: map[string]bool{}}
	limited, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	stamp, unchanged, err := r.all(limited)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errGone) {
		return nil
	}
	src.Done, src.Total, src.Skipped = len(r.seen), len(r.seen), r.skipped
	if unchanged {
		src.Done, src.Total, src.Skipped = len(r.known), len(r.known), r.src.Skipped
	}
	src.State, src.Problem, src.NextAt = store.SourceReady, "", time.Time{}
	if src.Every > 0 {
		src.NextAt = s.cfg.DB.Now().Add(src.Every)
	}
	var failed *failure
	switch {
	case err == nil:
		src.Stamp = stamp
	case limited.Err() != nil && r.wrote: // it resumes there after the others
		src.State, src.NextAt, err = store.SourcePending, s.cfg.DB.Now(), nil
	case limited.Err() != nil:
		src.State, src.Problem, err = store.SourceFailed, Slow, nil
	case errors.As(err, &failed):
		src.State, src.Problem = store.SourceFailed, cut(failed.Error(), 500)
		if failed.word == NotAllowed { // a source that may not be read must not be searchable either
			err = r.removeUnseen(ctx)
		} else {
			err = nil
		}
	default:
		s.cfg.Log.Error("couldn't read a source of a collection", "collection", src.Collection, "source", src.ID, "err", err)
		src.State, src.Problem, err = store.SourceFailed, Internal, nil
	}
	return errors.Join(err, s.cfg.DB.EndSource(ctx, src))
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

func (r *reading) all(ctx context.Context) (stamp string, unchanged bool, err error) {
	if r.known, err = r.cfg.DB.SourceDocuments(ctx, r.src.ID); err != nil {
		return "", false, err
	}
	size, err := r.cfg.DB.CollectionBytes(ctx, r.src.Collection)
	if err != nil {
		return "", false, err
	}
	r.room = r.cfg.Most() - size
	src := r.src
	for _, d := range r.known {
		if d.State == uploads.Pending || r.again(d) { // a killed server left it unfinished, or another attempt may read more
			src.Stamp = ""
		}
	}
	stamp, unchanged, err = r.items(ctx, src, func(it item) error { return r.there(ctx, r.take(ctx, it)) })
	if err == nil {
		err = r.there(ctx, r.flush(ctx))
	}
	if err == nil && !unchanged {
		err = r.removeUnseen(ctx)
	}
	return stamp, unchanged, err
}

// there returns the error of writing a part of the source, nil if only a document was removed meanwhile.
func (r *reading) there(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	switch _, err := r.cfg.DB.SourceAsked(ctx, r.src.ID); {
	case errors.Is(err, store.ErrNotFound):
		return errGone
	default:
		return err
	}
}

// keepBelow keeps the documents of a file or folder that can't be read now.
func (r *reading) keepBelow(folder string) {
	for name := range r.known {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			r.seen[name] = true
		}
	}
}

// removeUnseen removes documents that the source no longer has.
func (r *reading) removeUnseen(ctx context.Context) error {
	for name, d := range r.known {
		if r.seen[name] {
			continue
		}
		if err := r.cfg.DB.RemoveDocument(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// take updates a document from its source.
func (r *reading) take(ctx context.Context, it item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.note(ctx); err != nil {
		return err
	}
	switch {
	case it.hidden:
		return nil
	case it.closed:
		r.keepBelow(it.name)
		return nil
	}
	if len(it.name) > maxDocName || !utf8.ValidString(it.name) || strings.ContainsFunc(it.name, func(c rune) bool { return c < ' ' }) {
		return r.skip()
	}
	if len(r.seen) >= maxDocuments {
		return &failure{TooMany, fmt.Sprint(maxDocuments)}
	}
	old, had := r.known[it.name]
	ended := had && old.State != uploads.Pending && !r.again(old)
	if ended && old.Stamp == it.stamp {
		r.seen[it.name] = true
		return nil
	}
	d := store.Document{ID: old.ID, Collection: r.src.Collection, Source: r.src.ID, Name: it.name, Title: it.title,
		Address: it.address, Stamp: it.stamp}
	if it.size > maxInput {
		r.seen[it.name] = true
		return r.fail(ctx, had, d, Large)
	}
	if it.open == nil {
		r.seen[it.name] = true
		d.Hash = it.stamp
		return r.keep(ctx, had, d, it.text, "")
	}
	file, err := it.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return r.unreadable(ctx, had, d, err)
	}
	defer func() {
		file.Close()
		if r.src.Kind == store.GitSource {
			os.Remove(file.Name())
		}
	}()
	head := make([]byte, uploads.HeadBytes)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return r.unreadable(ctx, had, d, err)
	}
	head = head[:n]
	converted := convert.Wants(it.name, head)
	if !converted && !isText(head) {
		if r.src.Kind == store.UploadSource {
			r.seen[it.name] = true
			return r.fail(ctx, had, d, string(convert.Unsupported))
		}
		return r.skip()
	}
	r.seen[it.name] = true
	sum := sha256.New()
	sum.Write(head)
	if _, err := io.Copy(sum, io.LimitReader(file, maxInput)); err != nil {
		return r.unreadable(ctx, had, d, err)
	}
	d.Hash = hex.EncodeToString(sum.Sum(nil))
	if ended && old.Hash == d.Hash { // only its time stamp differs
		old.Stamp = it.stamp
		_, err := r.cfg.DB.PutDocument(ctx, old)
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if converted {
		return r.convert(ctx, had, old, d, file)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxText+1))
	if err != nil {
		return r.unreadable(ctx, had, d, err)
	}
	reason := convert.Reason("")
	if len(text) > maxText {
		text, reason = text[:maxText], convert.Long
	}
	return r.keep(ctx, had, d, strings.ToValidUTF8(string(text), "\uFFFD"), reason)
}

// unreadable keeps a document whose file can't be read: the others are read all the same. Only a file that is closed to the
// server loses the text that was read of it before; after other errors, which may pass, it stays until the file can be read
// again. Clones of repositories lie in files of the server's own.
func (r *reading) unreadable(ctx context.Context, had bool, d store.Document, err error) error {
	if r.src.Kind == store.GitSource || ctx.Err() != nil || exhausted(err) {
		return err
	}
	r.cfg.Log.Warn("couldn't read a file of a collection", "collection", d.Collection, "file", d.Name, "err", err)
	r.seen[d.Name] = true
	old := r.known[d.Name]
	if had && (old.State == uploads.Converted || old.State == uploads.Partial) && !errors.Is(err, fs.ErrPermission) {
		old.Stamp = ""
		_, err := r.cfg.DB.PutDocument(ctx, old)
		return err
	}
	d.Stamp = ""
	return r.fail(ctx, had, d, Unreadable)
}

// exhausted reports whether the server ran out of a resource, which says nothing about a file.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// skip counts a file that is no document.
func (r *reading) skip() error {
	if r.skipped++; r.skipped > maxSkipped {
		return &failure{TooMany, fmt.Sprint(maxSkipped)}
	}
	return nil
}

// isText reports whether a file begins with text and isn't empty.
func isText(head []byte) bool {
	for i := 0; i < utf8.UTFMax-1 && len(head) == uploads.HeadBytes-i && !utf8.Valid(head); i++ {
		head = head[:len(head)-1] // the last character may be cut in half
	}
	return len(head) > 0 && utf8.Valid(head) && !slices.Contains(head, 0)
}

// convert stores the converted text of a document. It gives up on a document that repeatedly crashes the server.
func (r *reading) convert(ctx context.Context, had bool, old, d store.Document, file *os.File) error {
	tries := 0
	if had && old.State == uploads.Pending && old.Stamp == d.Stamp {
		tries = old.Tries
	}
	if tries >= maxTries {
		d.Tries = tries
		return r.fail(ctx, had, d, string(convert.Crashed))
	}
	d.State, d.Tries = uploads.Pending, tries+1
	d, err := r.cfg.DB.PutDocument(ctx, d)
	if err != nil {
		return err
	}
	out, err := r.cfg.Convert(ctx, documents.Job{Name: d.Name, File: file, Progress: func(int, int) {}})
	if ctx.Err() != nil || exhausted(err) { // a stopping or exhausted server isn't the document's fault
		d.Tries = tries
		_, put := r.cfg.DB.PutDocument(context.WithoutCancel(ctx), d)
		return cmp.Or(ctx.Err(), err, put)
	}
	d.Tries = 0
	switch {
	case err != nil:
		r.cfg.Log.Warn("couldn't convert a document", "collection", d.Collection, "file", d.Name, "err", err)
		return r.fail(ctx, true, d, string(convert.Crashed))
	case len(out.Text) == 0:
		return r.fail(ctx, true, d, string(out.Reason))
	}
	return r.keep(ctx, true, d, string(out.Text), out.Reason)
}

// fail stores a document without text, with the reason.
func (r *reading) fail(ctx context.Context, had bool, d store.Document, reason string) error {
	d.State, d.Reason = uploads.Failed, reason
	if err := r.clear(ctx, had, d); err != nil {
		return err
	}
	return r.add(ctx, store.Indexed{Document: d})
}

// clear removes a document's earlier passages from the index.
func (r *reading) clear(ctx context.Context, had bool, d store.Document) error {
	if !had {
		return nil
	}
	d.State = uploads.Pending
	if _, err := r.cfg.DB.PutDocument(ctx, d); err != nil {
		return err
	}
	return r.cfg.DB.RemovePassages(ctx, store.CollectionShelf(d.Collection), d.File())
}

// keep stores and indexes the text of a document.
func (r *reading) keep(ctx context.Context, had bool, d store.Document, text string, lack convert.Reason) error {
	if strings.TrimSpace(text) == "" {
		return r.fail(ctx, had, d, string(convert.Empty))
	}
	r.room += r.known[d.Name].Bytes
	if r.room -= int64(len(text)); r.room < 0 {
		r.room += int64(len(text))
		return r.fail(ctx, had, d, Full)
	}
	if err := r.clear(ctx, had, d); err != nil {
		return err
	}
	one := store.Indexed{Document: d, Text: text}
	one.State, one.Reason = uploads.Converted, string(lack)
	if lack != "" {
		one.State = uploads.Partial
	}
	err := documents.Cut(d.Name, strings.NewReader(text), func(p uploads.Passage) error {
		one.Passages = append(one.Passages, store.Passage(p))
		if len(one.Passages) < together {
			return nil
		}
		// A long text is indexed in several commits, so that other writers can proceed.
		if one.ID == 0 {
			d.State = uploads.Pending
			put, err := r.cfg.DB.PutDocument(ctx, d)
			if err != nil {
				return err
			}
			one.ID = put.ID
		}
		err := r.cfg.DB.AddDocumentPassages(ctx, one.Document, filed(one.File(), one.Passages))
		one.Passages = one.Passages[:0]
		return err
	})
	if err != nil {
		return err
	}
	return r.add(ctx, one)
}

// filed returns passages with the document's name in the index.
func filed(name string, list []store.Passage) []store.Passage {
	for i := range list {
		list[i].File = name
	}
	return list
}

// add queues a document and stores the queue in one commit once it is full.
func (r *reading) add(ctx context.Context, d store.Indexed) error {
	r.batch = append(r.batch, d)
	r.passages += len(d.Passages)
	if r.passages < together && len(r.batch) < together {
		return nil
	}
	return r.flush(ctx)
}

func (r *reading) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	err := r.cfg.DB.PutDocuments(ctx, r.batch)
	r.batch, r.passages, r.wrote = nil, 0, r.wrote || err == nil
	return err
}

// note stores the progress of the source, and ends the reading if the source was removed.
func (r *reading) note(ctx context.Context) error {
	if time.Since(r.noted) < notedEach {
		return nil
	}
	r.noted = time.Now()
	_, err := r.cfg.DB.SourceAsked(ctx, r.src.ID)
	if errors.Is(err, store.ErrNotFound) {
		return errGone
	}
	if err != nil {
		return err
	}
	return r.cfg.DB.NoteSource(ctx, r.src.ID, len(r.seen), max(len(r.known), len(r.seen)))
}
