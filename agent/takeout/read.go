package takeout

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"time"
)

// Read calls each for every conversation of an export: an archive, or the JSON in it. An error of
// each ends it and is returned, as does the end of ctx. Errors: ErrFormat, ErrDamaged, ErrTooLarge.
func Read(ctx context.Context, src io.ReaderAt, size int64, each func(*Conversation) error) (Unreadable, error) {
	r := &reader{ctx: ctx, each: each}
	var head [4]byte
	if _, err := src.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return r.bad, fmt.Errorf("read export: %w", err)
	}
	if string(head[:]) == "PK\x03\x04" {
		return r.bad, r.archive(src, size)
	}
	err := r.chats(io.NewSectionReader(src, 0, size))
	return r.bad, err
}

type reader struct {
	ctx   context.Context
	each  func(*Conversation) error
	files assets
	bad   Unreadable
	known bool // something was recognised
}

// archive reads every file of conversations in a ZIP archive.
func (r *reader) archive(src io.ReaderAt, size int64) error {
	if directory(src, size) > maxDirectory {
		return fmt.Errorf("%w: its archive lists too many files", ErrTooLarge)
	}
	z, err := zip.NewReader(src, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var chats []*zip.File
	for _, f := range z.File {
		name := path.Base(f.Name)
		if f.Mode().IsRegular() && strings.HasSuffix(name, ".json") &&
			(name == "conversations.json" || strings.HasPrefix(name, "conversations-") ||
				strings.HasPrefix(name, "chat-export") || strings.HasPrefix(name, "all-chats-export")) {
			chats = append(chats, f)
		}
	}
	if len(chats) == 0 {
		return fmt.Errorf("%w: there is no conversations.json in the archive", ErrFormat)
	}
	slices.SortFunc(chats, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	r.files = findAssets(z.File)
	for _, f := range chats {
		in, err := f.Open()
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, f.Name, err)
		}
		err = r.chats(in)
		in.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// directory returns the size that an archive declares for its directory, 0 if not found.
func directory(src io.ReaderAt, size int64) int64 {
	tail := make([]byte, min(size, 65557)) // the end record and its longest comment
	if _, err := src.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < 22 {
		return 0
	}
	if n := binary.LittleEndian.Uint32(tail[at+12:]); n != 1<<32-1 {
		return int64(n)
	}
	at = bytes.LastIndex(tail, []byte("PK\x06\x06")) // the record of large archives
	if at < 0 || len(tail)-at < 56 {
		return maxDirectory + 1
	}
	return int64(min(binary.LittleEndian.Uint64(tail[at+40:]), 1<<62))
}

// budget is a reader that fails once too much was read.
type budget struct {
	ctx  context.Context
	from io.Reader
	left int64
}

func (b *budget) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// chats reads JSON: a list of conversations, or one.
func (r *reader) chats(from io.Reader) error {
	in := &elements{in: bufio.NewReaderSize(&budget{ctx: r.ctx, from: from, left: maxChats}, 64<<10)}
	fail := func(err error) error {
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if errors.Is(err, ErrTooLarge) {
			return fmt.Errorf("%w: a conversation ends after byte %d", ErrTooLarge, in.at)
		}
		if !r.known && r.bad.Count == 0 {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return fmt.Errorf("%w, after byte %d: %w", ErrDamaged, in.at, err)
	}
	list, err := in.begin()
	for err == nil {
		var raw []byte
		var large bool
		if raw, large, err = in.next(list); err != nil || raw == nil && !large {
			break
		}
		switch {
		case large:
			r.bad.Large++
		case !json.Valid(raw):
			var v any
			err = json.Unmarshal(raw, &v)
			continue
		default:
			if err := r.one(raw); err != nil {
				return err
			}
		}
		if !list {
			break
		}
		if !r.known && r.bad.Count > 100 {
			return ErrFormat
		}
	}
	if err != nil {
		return fail(err)
	}
	return r.judge()
}

// judge distinguishes an export from a list of unknown things. An empty list is an export.
func (r *reader) judge() error {
	if !r.known && r.bad.Count > 0 {
		return ErrFormat
	}
	if !r.known && r.bad.Large > 0 {
		return fmt.Errorf("%w: no conversation has less than %d MB", ErrTooLarge, maxConversation>>20)
	}
	return nil
}

// record holds the members that distinguish the apps' conversations.
type record struct {
	ID           string          `json:"id"`
	Conversation string          `json:"conversation_id"`
	UUID         string          `json:"uuid"`
	Title        string          `json:"title"`
	Name         string          `json:"name"`
	Model        string          `json:"model"`
	CreateTime   moment          `json:"create_time"`
	UpdateTime   moment          `json:"update_time"`
	CreatedAt    moment          `json:"created_at"`
	UpdatedAt    moment          `json:"updated_at"`
	Mapping      json.RawMessage `json:"mapping"`
	CurrentNode  string          `json:"current_node"`
	ChatMessages json.RawMessage `json:"chat_messages"`
	Chat         json.RawMessage `json:"chat"`
}

// one passes on a conversation.
func (r *reader) one(raw json.RawMessage) error {
	var rec record
	err := count(r.ctx, raw)
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if err != nil {
		_ = json.Unmarshal(raw, &rec) // for its title; the lists stay raw
	} else {
		err = json.Unmarshal(raw, &rec)
	}
	c := &Conversation{}
	switch {
	case err != nil:
	case object(rec.Mapping):
		err = r.chatGPT(c, &rec)
	case len(rec.ChatMessages) > 0:
		err = claude(c, &rec)
	case object(rec.Chat):
		err = openWebUI(c, &rec)
	default:
		err = ErrFormat
	}
	if err != nil {
		r.bad.Count++
		if title := rec.Title + rec.Name; r.bad.Title == "" {
			r.bad.Title = title
		}
		return nil
	}
	r.known = true
	return r.each(c)
}

func object(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// moment is a time in the formats of apps: seconds, milliseconds or nanoseconds, or RFC 3339. Other formats become the
// zero time.
type moment struct{ time.Time }

// UnmarshalJSON never fails.
func (m *moment) UnmarshalJSON(b []byte) error {
	m.Time = time.Time{}
	var text string
	if json.Unmarshal(b, &text) == nil {
		if t, err := time.Parse(time.RFC3339, text); err == nil && t.Year() > 1970 && t.Year() < 3000 {
			m.Time = t.UTC()
		}
		return nil
	}
	var n float64
	if json.Unmarshal(b, &n) != nil || n <= 0 || math.IsNaN(n) {
		return nil
	}
	for n > 1e11 { // after the year 5138 in seconds: it is a smaller unit
		n /= 1000
	}
	m.Time = time.UnixMilli(int64(n * 1000)).UTC()
	return nil
}

// branch returns the path from the root of a message tree to leaf, and the number of other leaves. parents has every
// message with its parent. Cycles are cut.
func branch(parents map[string]string, leaf string) (way []string, others int) {
	inner, seen := map[string]bool{}, map[string]bool{}
	for _, p := range parents {
		inner[p] = true
	}
	for id := range parents {
		if !inner[id] && id != leaf {
			others++
		}
	}
	for id := leaf; id != "" && !seen[id]; id = parents[id] {
		if _, there := parents[id]; !there {
			break
		}
		seen[id] = true
		way = append(way, id)
	}
	for i, j := 0, len(way)-1; i < j; i, j = i+1, j-1 {
		way[i], way[j] = way[j], way[i]
	}
	return way, others
}

// add adds a message, or continues the previous answer.
func (c *Conversation) add(m Message) {
	if m.Text == "" && len(m.Files) == 0 {
		return
	}
	if n := len(c.Messages); n > 0 && !m.Human && !c.Messages[n-1].Human {
		last := &c.Messages[n-1]
		if last.Text != "" && m.Text != "" {
			last.Text += "\n\n"
		}
		last.Text += m.Text
		last.Files = append(last.Files, m.Files...)
		if m.Model != "" {
			last.Model = m.Model
		}
		return
	}
	c.Messages = append(c.Messages, m)
}
