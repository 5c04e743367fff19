package chat

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// WeComConfig is an intelligent robot of WeCom with a long connection.
type WeComConfig struct {
	BotID  string
	Secret string
	Options
}

// WeCom uses one WebSocket in both directions. It has no confirmations, so reading stops while a message can't be
// stored. Messages aren't streamed: an unfinished stream would spin forever.
type WeCom struct {
	cfg  WeComConfig
	c    *client
	text *dialect

	mu      sync.Mutex
	link    *weComLink    // guarded by mu; nil while there is none
	changed chan struct{} // closed when link changes, guarded by mu
}

const (
	weComMax    = 4000 // bytes
	weComChunk  = 512 << 10
	weComChunks = 100
)

// NewWeCom returns a channel. It makes no network call.
func NewWeCom(cfg WeComConfig) (*WeCom, error) {
	if cfg.BotID == "" || cfg.Secret == "" {
		return nil, errors.New("bot_id or bot_secret is missing")
	}
	c, err := newClient(cfg.Options, "wss://openws.work.weixin.qq.com", []string{".qq.com", ".myqcloud.com"},
		cfg.Secret)
	if err != nil {
		return nil, err
	}
	return &WeCom{cfg: cfg, c: c, text: simpleText(), changed: make(chan struct{})}, nil
}

// Limits returns the limits documented by WeCom.
func (w *WeCom) Limits() Limits {
	return Limits{Max: weComMax, Count: w.text.count(func(r rune) int { return len(string(r)) }), MaxFile: 20 << 20,
		MaxImage: 2 << 20, Chat: Bucket{30, time.Minute}, Group: Bucket{30, time.Minute}, Bot: Bucket{20, time.Second},
		Format: FormatMarkdown}
}

// weComFrame is a message in either direction.
type weComFrame struct {
	Cmd     string          `json:"cmd,omitempty"`
	Headers weComHeaders    `json:"headers"`
	Body    json.RawMessage `json:"body,omitempty"`
	Code    int             `json:"errcode,omitempty"`
	Msg     string          `json:"errmsg,omitempty"`
}

type weComHeaders struct {
	ID string `json:"req_id"`
}

// refused explains an answer.
func (w *WeCom) refused(cmd string, f weComFrame) error {
	text := fmt.Sprintf("%s: %s (%d)", cmd, w.c.redact(f.Msg), f.Code)
	switch f.Code {
	case 0:
		return nil
	case -1:
		return &declinedError{text} // busy
	case 45009, 45033, 846607:
		return &Rate{Chat: true}
	case 40003, 60111, 86001, 86003, 86216, 90500:
		return &Gone{Reason: text}
	}
	if cmd == "aibot_subscribe" {
		return &Fatal{Cause: BadToken, Reason: "WeCom does not accept the bot id and secret: " + text,
			Remedy: "Copy both again from the robot's page, where its API mode is the long connection."}
	}
	return &Refused{Reason: text}
}

// connect dials and signs in.
func (w *WeCom) connect(ctx context.Context) (*weComLink, error) {
	sock, err := w.c.dial(ctx, "WeCom's socket", w.c.base, nil)
	if err != nil {
		return nil, err
	}
	l := newWeComLink(w, sock)
	err = l.subscribe(ctx)
	if err != nil {
		sock.close(0)
		return nil, err
	}
	return l, nil
}

// Self returns the configured robot; it can't query its own name.
func (w *WeCom) Self() Me { return Me{ID: w.cfg.BotID, Name: w.cfg.BotID} }

// Check signs in, unless the channel runs: a second connection would end the first.
func (w *WeCom) Check(ctx context.Context) (Me, error) {
	me := w.Self()
	w.mu.Lock()
	running := w.link != nil
	w.mu.Unlock()
	if running {
		return me, nil
	}
	l, err := w.connect(ctx)
	if err != nil {
		return Me{}, err
	}
	l.sock.close(0)
	return me, nil
}

// Run keeps a connection.
func (w *WeCom) Run(ctx context.Context, in Inbox) error {
	return again(ctx, w.cfg.Options, in, func(ctx context.Context, up func()) error {
		l, err := w.connect(ctx)
		if err != nil {
			return err
		}
		defer l.sock.close(0)
		defer l.end()
		w.set(l)
		defer w.set(nil)
		l.keep(ctx)
		up()
		return l.read(ctx, in)
	})
}

func (w *WeCom) set(l *weComLink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.link = l
	close(w.changed)
	w.changed = make(chan struct{})
}

// call sends a command and waits for its response, briefly also for a connection being made.
func (w *WeCom) call(ctx context.Context, cmd string, body any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for {
		w.mu.Lock()
		l, changed := w.link, w.changed
		w.mu.Unlock()
		if l != nil {
			return l.call(ctx, cmd, body)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &declinedError{cmd + ": WeCom is not connected"}
		}
	}
}

func (w *WeCom) post(ctx context.Context, to Address, kind string, content any) (Ref, error) {
	body := map[string]any{"chatid": to.Chat, "chat_type": 1, "msgtype": kind, kind: content}
	if to.Group {
		body["chat_type"] = 2
	}
	answer, err := w.call(ctx, "aibot_send_msg", body)
	if err != nil {
		return Ref{}, err
	}
	var m struct {
		ID string `json:"msgid"`
	}
	_ = json.Unmarshal(answer, &m) // not every version names it
	return Ref{to, cmp.Or(m.ID, "sent")}, nil
}

// Send posts a message.
func (w *WeCom) Send(ctx context.Context, to Address, p Post) (Ref, error) {
	text := w.text.plain(p.Text)
	if !p.Plain {
		text, _ = w.text.render(p.Text)
	}
	return w.post(ctx, to, "markdown", map[string]string{"content": cmp.Or(text, "…")})
}

// Edit cannot be done.
func (w *WeCom) Edit(context.Context, Ref, Post) error {
	return &Refused{Reason: "Messages in WeCom stay as they are."}
}

// Typing shows nothing: robots have no typing indicator.
func (w *WeCom) Typing(context.Context, Address) error { return nil }

// Upload sends a file in parts and then posts it.
func (w *WeCom) Upload(ctx context.Context, to Address, f File, _ string) (Ref, error) {
	kind := "file"
	if f.Image && f.Size <= w.Limits().MaxImage {
		kind = "image"
	}
	parts := (f.Size + weComChunk - 1) / weComChunk
	if parts < 1 || parts > weComChunks {
		return Ref{}, &Refused{Reason: f.Name + " is empty or too large for WeCom."}
	}
	sum := md5.New()
	err := readWhole(f, func(b []byte) error { _, err := sum.Write(b); return err })
	if err != nil {
		return Ref{}, err
	}
	answer, err := w.call(ctx, "aibot_upload_media_init", map[string]any{"type": kind, "filename": f.Name,
		"total_size": f.Size, "total_chunks": parts, "md5": hex.EncodeToString(sum.Sum(nil))})
	if err != nil {
		return Ref{}, err
	}
	var r struct {
		Upload string `json:"upload_id"`
		Media  string `json:"media_id"`
	}
	if json.Unmarshal(answer, &r) != nil || r.Upload == "" {
		return Ref{}, errors.New("upload: no upload id in the response")
	}
	index := 0
	err = readWhole(f, func(b []byte) error {
		_, err := w.call(ctx, "aibot_upload_media_chunk", map[string]any{"upload_id": r.Upload, "chunk_index": index,
			"base64_data": base64.StdEncoding.EncodeToString(b)})
		index++
		return err
	})
	if err != nil {
		return Ref{}, err
	}
	if answer, err = w.call(ctx, "aibot_upload_media_finish", map[string]any{"upload_id": r.Upload}); err != nil {
		return Ref{}, err
	}
	if json.Unmarshal(answer, &r) != nil || r.Media == "" {
		return Ref{}, errors.New("upload: no file id in the response")
	}
	return w.post(ctx, to, kind, map[string]string{"media_id": r.Media})
}

// readWhole reads a file in chunks.
func readWhole(f File, each func([]byte) error) error {
	src, err := f.Open()
	if err != nil {
		return fmt.Errorf("open %s: %w", f.Name, err)
	}
	defer src.Close()
	r := io.LimitReader(src, f.Size)
	buf := make([]byte, min(weComChunk, f.Size))
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := each(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Name, err)
		}
	}
}

// Fetch downloads a file and decrypts it. Its id is the key and the address.
func (w *WeCom) Fetch(ctx context.Context, f FileRef, to io.Writer) error {
	key, address, ok := strings.Cut(f.ID, " ")
	if !ok {
		return &Refused{Reason: "no file of WeCom's"}
	}
	if key == "" {
		return w.c.download(ctx, "download", address, nil, to)
	}
	d, err := cbcDecrypter(to, key)
	if err != nil {
		return err
	}
	if err := w.c.download(ctx, "download", address, nil, d); err != nil {
		return err
	}
	return d.Close()
}
