package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

const (
	maxParted = 16      // incomplete multi-part events kept at a time
	maxParts  = 64      // limit per event
	maxEvent  = 4 << 20 // bytes of an event in parts
)

// feishuLink is one long connection.
type feishuLink struct {
	*Feishu
	in      Inbox
	me      Me
	sock    *socket
	service int32
	heard   atomic.Bool // anything arrived since the last ping
	busy    atomic.Bool // set while received updates are being stored
	parts   map[string]*parted
}

// parted is an event being assembled from its parts.
type parted struct {
	parts [][]byte
	have  int
	bytes int
}

// Run keeps a long connection.
func (f *Feishu) Run(ctx context.Context, in Inbox) error {
	return again(ctx, f.cfg.Options, in, func(ctx context.Context, up func()) error {
		me, err := f.Check(ctx)
		if err != nil {
			return err
		}
		l := &feishuLink{Feishu: f, in: in, me: me, parts: map[string]*parted{}}
		if err := l.connect(ctx); err != nil {
			return err
		}
		defer l.sock.close(0)
		up()
		for {
			frames, err := l.sock.batch(ctx)
			if err != nil {
				return err
			}
			if err := l.take(ctx, frames); err != nil {
				return err
			}
		}
	})
}

func (l *feishuLink) connect(ctx context.Context) error {
	body := map[string]string{"AppID": l.cfg.AppID, "AppSecret": l.cfg.AppSecret}
	r, err := l.raw(ctx, call{op: "ws/endpoint", method: http.MethodPost, path: "/callback/ws/endpoint", body: body})
	if err != nil {
		return err
	}
	var at struct {
		URL    string
		Client struct{ PingInterval int } `json:"ClientConfig"`
	}
	if err := json.Unmarshal(r.Data, &at); err != nil {
		return l.c.clean("ws/endpoint: reading the answer", err)
	}
	if err := l.c.ownHost(at.URL); err != nil {
		return err
	}
	u, err := url.Parse(at.URL)
	if err != nil {
		return l.c.clean("ws/endpoint", err)
	}
	service, _ := strconv.ParseInt(u.Query().Get("service_id"), 10, 32)
	l.service = int32(service)
	if l.sock, err = l.c.dial(ctx, "the long connection", at.URL, nil); err != nil {
		return feishuHandshake(err)
	}
	interval := cmp.Or(l.cfg.Beat, time.Duration(at.Client.PingInterval)*time.Second)
	if interval <= 0 {
		interval = 2 * time.Minute
	}
	l.heard.Store(true)
	l.sock.every(ctx, interval, func(ctx context.Context) error {
		if !l.heard.Swap(false) && !l.busy.Load() {
			return errors.New("the long connection timed out")
		}
		ping := feishuFrame{Service: l.service, Headers: []feishuHeader{{"type", "ping"}}}
		return l.sock.write(ctx, websocket.MessageBinary, ping.encode())
	})
	return nil
}

// feishuHandshake explains a refusal given in headers.
func feishuHandshake(err error) error {
	s, ok := errors.AsType[*statusError](err)
	if !ok {
		return err
	}
	code := s.Header.Get("Handshake-Status")
	if (code == "514" || code == "403") && s.Header.Get("Handshake-Autherrcode") != "1000040350" {
		return &Fatal{Cause: SwitchedOff, Reason: "Feishu refuses the long connection.",
			Remedy: "Choose the long connection under Events of the app, and publish a version."}
	}
	return err
}

// take handles a frame. Only data frames are answered, once all parts are stored.
func (l *feishuLink) take(ctx context.Context, frames [][]byte) error {
	l.busy.Store(true)
	defer l.busy.Store(false)
	l.heard.Store(true)
	var batch []Update
	var answers [][]byte
	for _, data := range frames {
		f, err := parseFeishu(data)
		if err != nil || f.Method != 1 {
			continue // a pong, or nothing to answer
		}
		payload := l.assemble(f)
		if payload == nil {
			continue
		}
		if f.header("type") == "event" {
			if u, ok := l.event(payload, f.header("message_id")); ok {
				batch = append(batch, u)
			}
		}
		f.Payload = []byte(`{"code":200,"headers":null,"data":null}`)
		f.Headers = append(f.Headers, feishuHeader{"biz_rt", "0"})
		answers = append(answers, f.encode())
	}
	if len(batch) > 0 {
		if err := l.in.Take(ctx, batch, nil); err != nil {
			return err
		}
	}
	for _, a := range answers {
		if err := l.sock.write(ctx, websocket.MessageBinary, a); err != nil {
			return err
		}
	}
	return nil
}

// assemble returns the payload once all of its parts have arrived.
func (l *feishuLink) assemble(f *feishuFrame) []byte {
	sum, _ := strconv.Atoi(f.header("sum"))
	seq, _ := strconv.Atoi(f.header("seq"))
	if sum <= 1 {
		return append([]byte{}, f.Payload...)
	}
	id := f.header("message_id")
	p := l.parts[id]
	if p == nil {
		if len(l.parts) == maxParted || sum > maxParts {
			clear(l.parts) // they are redelivered if unconfirmed
		}
		if sum > maxParts {
			return nil
		}
		p = &parted{parts: make([][]byte, sum)}
		l.parts[id] = p
	}
	if seq < 0 || seq >= len(p.parts) || p.bytes+len(f.Payload) > maxEvent {
		delete(l.parts, id)
		return nil
	}
	if p.parts[seq] == nil {
		p.parts[seq] = append([]byte{}, f.Payload...)
		p.have++
		p.bytes += len(f.Payload)
	}
	if p.have < len(p.parts) {
		return nil
	}
	delete(l.parts, id)
	var all []byte
	for _, part := range p.parts {
		all = append(all, part...)
	}
	return all
}

type feishuEvent struct {
	Header struct {
		ID     string `json:"event_id"`
		Type   string `json:"event_type"`
		Tenant string `json:"tenant_key"`
	} `json:"header"`
	Event struct {
		Sender struct {
			ID struct {
				Open string `json:"open_id"`
			} `json:"sender_id"`
			Type string `json:"sender_type"`
		} `json:"sender"`
		Message struct {
			ID       string          `json:"message_id"`
			Root     string          `json:"root_id"`
			Parent   string          `json:"parent_id"`
			Created  string          `json:"create_time"`
			Chat     string          `json:"chat_id"`
			ChatType string          `json:"chat_type"`
			Type     string          `json:"message_type"`
			Content  string          `json:"content"`
			Mentions []feishuMention `json:"mentions"`
		} `json:"message"`
	} `json:"event"`
}

type feishuMention struct {
	Key string `json:"key"`
	ID  struct {
		Open string `json:"open_id"`
	} `json:"id"`
	Name string `json:"name"`
}

// event returns false for messages not written to the bot.
func (l *feishuLink) event(payload []byte, id string) (Update, bool) {
	var e feishuEvent
	problem := func(err error) (Update, bool) {
		if e.Header.ID != "" {
			id = e.Header.ID
		}
		return Update{ID: "event:" + id, Problem: "not understood: " + l.c.redact(err.Error())}, true
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return problem(err)
	}
	if e.Header.Type != "im.message.receive_v1" || e.Event.Sender.Type != "user" || e.Event.Sender.ID.Open == l.me.ID {
		return Update{}, false
	}
	m := e.Event.Message
	u := Update{
		ID: m.ID, Message: m.ID, Address: Address{Chat: m.Chat, Group: m.ChatType != "p2p"},
		Sender: Person{ID: e.Event.Sender.ID.Open, Workspace: e.Header.Tenant}, At: time.Now(),
	}
	if ms, err := strconv.ParseInt(m.Created, 10, 64); err == nil {
		u.At = time.UnixMilli(ms)
	}
	text, files, err := feishuContent(m.ID, m.Type, m.Content)
	if err != nil {
		return problem(err)
	}
	u.Files = files
	u.Text, u.Mentioned = feishuWords(text, m.Mentions, l.me.ID)
	if u.Text == "" && len(u.Files) == 0 {
		if u.Unread = feishuUnread(m.Type); u.Unread == Voice {
			u.Voice = feishuVoice(m.ID, m.Content)
		}
	}
	for _, id := range []string{m.Parent, m.Root} {
		if id != "" && id != m.ID && (len(u.Under) == 0 || u.Under[0] != id) {
			u.Under = append(u.Under, id)
		}
	}
	if u.Group {
		u.Topic = m.ID
		if m.Root != "" {
			u.Topic = m.Root
		}
	}
	return u, !u.empty()
}

// feishuUnread returns the kind of content that can't be read.
func feishuUnread(kind string) Content {
	switch kind {
	case "text", "post", "system":
		return ""
	case "audio":
		return Voice
	case "sticker":
		return Sticker
	}
	return Other // cards, forwarded conversations, votes and the like
}

// feishuVoice returns the recording of a voice message, nil where its content doesn't name one.
func feishuVoice(message, content string) *FileRef {
	var c struct {
		File string `json:"file_key"`
	}
	if json.Unmarshal([]byte(content), &c) != nil || c.File == "" {
		return nil
	}
	return &FileRef{ID: message + ":file:" + c.File, Name: c.File + ".ogg", Type: "audio/ogg"}
}

// feishuContent reads the content of a message, which is JSON in a string.
func feishuContent(message, kind, content string) (string, []FileRef, error) {
	switch kind {
	case "text", "post", "image", "file", "media", "location":
	default: // some types have content that isn't JSON
		return "", nil, nil
	}
	var c struct {
		Place     string `json:"name"`
		Latitude  string `json:"latitude"`
		Longitude string `json:"longitude"`

		Text  string `json:"text"`
		Title string `json:"title"`
		Image string `json:"image_key"`
		File  string `json:"file_key"`
		Name  string `json:"file_name"`
		Lines [][]struct {
			Tag   string `json:"tag"`
			Text  string `json:"text"`
			Href  string `json:"href"`
			Name  string `json:"user_name"`
			User  string `json:"user_id"`
			Image string `json:"image_key"`
		} `json:"content"`
	}
	if err := json.Unmarshal([]byte(content), &c); err != nil {
		return "", nil, err
	}
	var files []FileRef
	image := func(key string) {
		files = append(files, FileRef{ID: message + ":image:" + key, Name: key + ".png", Type: "image/png"})
	}
	text := c.Text
	switch kind {
	case "image":
		image(c.Image)
	case "location":
		text = fmt.Sprintf("Location: %s (%s, %s)", c.Place, c.Latitude, c.Longitude)
	case "file", "media":
		name := c.Name
		if name == "" {
			name = c.File
		}
		files = append(files, FileRef{ID: message + ":file:" + c.File, Name: name})
	case "post":
		lines := []string{}
		if c.Title != "" {
			lines = append(lines, c.Title)
		}
		for _, line := range c.Lines {
			var b strings.Builder
			for _, part := range line {
				switch part.Tag {
				case "img":
					image(part.Image)
				case "at":
					b.WriteString(part.User) // the key of a mention
				case "a":
					b.WriteString(part.Text + " (" + part.Href + ")")
				default:
					b.WriteString(part.Text)
				}
			}
			lines = append(lines, b.String())
		}
		text = strings.Join(lines, "\n")
	}
	return text, files, nil
}

// feishuWords replaces keys with names, and drops the bot's at the start.
func feishuWords(text string, mentions []feishuMention, bot string) (string, bool) {
	text = strings.TrimSpace(text)
	mentioned := false
	for i := len(mentions) - 1; i >= 0; i-- { // @_user_10 before @_user_1
		m := mentions[i]
		if m.Key == "" {
			continue
		}
		if m.ID.Open == bot {
			mentioned = true
			text = strings.TrimSpace(strings.TrimPrefix(text, m.Key))
		}
		text = strings.ReplaceAll(text, m.Key, "@"+m.Name)
	}
	return text, mentioned
}
