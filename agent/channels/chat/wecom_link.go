package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// weComPing is between two signs of life.
const weComPing = 30 * time.Second

// weComLink is one connection.
type weComLink struct {
	*WeCom
	sock  *socket
	ended chan struct{} // closed by end
	heard atomic.Bool   // anything arrived since the last ping
	busy  atomic.Bool   // set while received updates are being stored

	mu      sync.Mutex
	last    int
	waiting map[string]chan weComFrame // by request, guarded by mu
}

func newWeComLink(w *WeCom, sock *socket) *weComLink {
	return &weComLink{WeCom: w, sock: sock, ended: make(chan struct{}), waiting: map[string]chan weComFrame{}}
}

func (l *weComLink) end() { close(l.ended) }

// request creates an id and the channel for its response.
func (l *weComLink) request(cmd string) (string, chan weComFrame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	id := cmd + "_" + strconv.FormatInt(time.Now().UnixMilli(), 36) + "_" + strconv.Itoa(l.last)
	answer := make(chan weComFrame, 1)
	l.waiting[id] = answer
	return id, answer
}

func (l *weComLink) write(ctx context.Context, cmd, id string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return l.sock.writeJSON(ctx, weComFrame{Cmd: cmd, Headers: weComHeaders{id}, Body: b})
}

// subscribe signs in before reading starts.
func (l *weComLink) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	const cmd = "aibot_subscribe"
	id, answer := l.request(cmd)
	if err := l.write(ctx, cmd, id, map[string]string{"bot_id": l.cfg.BotID, "secret": l.cfg.Secret}); err != nil {
		return err
	}
	for len(answer) == 0 {
		f, err := l.next(ctx)
		if err != nil {
			return err
		}
		l.answered(f)
	}
	return l.refused(cmd, <-answer)
}

// call sends a command and waits for its answer.
func (l *weComLink) call(ctx context.Context, cmd string, body any) (json.RawMessage, error) {
	id, answer := l.request(cmd)
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, id)
	}()
	if err := l.write(ctx, cmd, id, body); err != nil {
		return nil, err
	}
	select {
	case f := <-answer:
		return f.Body, l.refused(cmd, f)
	case <-l.ended:
		return nil, fmt.Errorf("%s: the connection ended", cmd)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", cmd, ctx.Err())
	}
}

// keep sends pings until the connection ends.
func (l *weComLink) keep(ctx context.Context) {
	l.heard.Store(true)
	l.sock.every(ctx, cmp.Or(l.cfg.Beat, weComPing), func(ctx context.Context) error {
		if !l.heard.Swap(false) && !l.busy.Load() {
			return errors.New("WeCom stopped responding")
		}
		return l.sock.writeJSON(ctx,
			weComFrame{Cmd: "ping", Headers: weComHeaders{"ping_" + strconv.FormatInt(time.Now().UnixNano(), 36)}})
	})
}

func (l *weComLink) next(ctx context.Context) (weComFrame, error) {
	data, err := l.sock.read(ctx)
	if err != nil {
		return weComFrame{}, err
	}
	l.heard.Store(true)
	var f weComFrame
	if json.Unmarshal(data, &f) != nil {
		return weComFrame{}, nil
	}
	return f, nil
}

// answered delivers a response to its waiting request.
func (l *weComLink) answered(f weComFrame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.waiting[f.Headers.ID]; c != nil {
		delete(l.waiting, f.Headers.ID)
		c <- f
	}
}

// read handles incoming frames until the connection closes.
func (l *weComLink) read(ctx context.Context, in Inbox) error {
	for {
		f, err := l.next(ctx)
		if err != nil {
			return err
		}
		switch f.Cmd {
		case "aibot_msg_callback":
			if u, ok := l.update(f); ok {
				if err := l.take(ctx, in, u); err != nil {
					return err
				}
			}
		case "aibot_event_callback":
			if strings.Contains(string(f.Body), `"disconnected_event"`) {
				return &Fatal{Cause: Elsewhere, Reason: "Another program uses this bot.",
					Remedy: "Stop it, or use a robot of its own here.", Retry: time.Minute}
			}
		default:
			l.answered(f)
		}
	}
}

// take retries until it succeeds: WeCom never redelivers.
func (l *weComLink) take(ctx context.Context, in Inbox, u Update) error {
	l.busy.Store(true)
	defer l.busy.Store(false)
	pause := cmp.Or(l.cfg.FirstWait, time.Second)
	for {
		err := in.Take(ctx, []Update{u}, nil)
		if err == nil {
			return nil
		}
		in.Status(err)
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, longestWait)
	}
}

type weComFile struct {
	URL string `json:"url"`
	Key string `json:"aeskey"`
}

type weComText struct {
	Content string `json:"content"`
}

type weComMessage struct {
	ID       string `json:"msgid"`
	Chat     string `json:"chatid"`
	ChatType string `json:"chattype"`
	Type     string `json:"msgtype"`
	Created  int64  `json:"create_time"`
	From     struct {
		User string `json:"userid"`
		Corp string `json:"corpid"`
	} `json:"from"`
	Text  weComText `json:"text"`
	Voice weComText `json:"voice"`
	Image weComFile `json:"image"`
	File  weComFile `json:"file"`
	Video weComFile `json:"video"`
	Quote struct {
		Text weComText `json:"text"`
	} `json:"quote"`
	Mixed struct {
		Items []struct {
			Type  string    `json:"msgtype"`
			Text  weComText `json:"text"`
			Image weComFile `json:"image"`
			File  weComFile `json:"file"`
		} `json:"msg_item"`
	} `json:"mixed"`
}

// update returns false for messages not written to the bot. In groups only mentions arrive.
func (l *weComLink) update(f weComFrame) (Update, bool) {
	var m weComMessage
	if err := json.Unmarshal(f.Body, &m); err != nil {
		return Update{ID: "request:" + f.Headers.ID, Problem: "not understood: " + l.c.redact(err.Error())}, true
	}
	if m.ID == "" || m.From.User == "" {
		return Update{}, false
	}
	u := Update{ID: m.ID, Message: m.ID, Address: Address{Chat: m.From.User}, At: time.Now(),
		Sender: Person{ID: m.From.User, Workspace: m.From.Corp}}
	if m.Created > 0 {
		u.At = time.Unix(m.Created, 0)
	}
	if m.ChatType == "group" {
		u.Address = Address{Chat: m.Chat, Group: true}
		u.Mentioned = true
	}
	texts := []string{}
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			texts = append(texts, s)
		}
	}
	file := func(name, kind string, f weComFile) {
		if f.URL != "" {
			u.Files = append(u.Files, FileRef{ID: f.Key + " " + f.URL, Name: name + "-" + strconv.Itoa(len(u.Files)+1),
				Type: kind})
		}
	}
	add(m.Text.Content)
	add(m.Voice.Content)
	file("image", "image/png", m.Image)
	file("file", "", m.File)
	file("video", "video/mp4", m.Video)
	u.Quote = strings.TrimSpace(m.Quote.Text.Content)
	for _, it := range m.Mixed.Items {
		add(it.Text.Content)
		file("image", "image/png", it.Image)
		file("file", "", it.File)
	}
	u.Text = strings.Join(texts, "\n")
	if u.Group { // the bot's name comes first
		if name, rest, found := strings.Cut(u.Text, " "); found && strings.HasPrefix(name, "@") {
			u.Text = strings.TrimSpace(rest)
		} else if strings.HasPrefix(u.Text, "@") && !found {
			u.Text = ""
		}
	}
	if u.Text == "" && len(u.Files) == 0 && m.Type != "text" && m.Type != "mixed" {
		if u.Unread = Other; m.Type == "voice" {
			u.Unread = Voice
		}
	}
	return u, !u.empty()
}
