//go:build !nowechat

package chat

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// WeChatConfig configures a bot of iLink, WeChat's API for third parties.
type WeChatConfig struct {
	Token string
	BotID string // may be empty
	CDN   string // host of files; empty is WeChat's own
	Options
}

// WeChat polls for messages: each response carries a cursor, and sending it with the next poll confirms receipt. A bot
// may only reply, with the token of the person's last message.
type WeChat struct {
	cfg   WeChatConfig
	c     *client
	cdn   string
	text  *dialect
	began sync.Once
	ready chan struct{} // closed when in is set
	in    Inbox         // inbox passed to Run; it keeps the tokens
}

const (
	weChatMax  = 2000 // characters
	weChatPoll = 35 * time.Second
	weChatFile = 50 << 20
)

// Kinds of the parts of a message.
const (
	weChatText  = 1
	weChatImage = 2
	weChatVoice = 3
	weChatDoc   = 4
	weChatVideo = 5
)

// NewWeChat returns a channel. It makes no network call.
func NewWeChat(cfg WeChatConfig) (*WeChat, error) {
	if cfg.Token == "" {
		return nil, errors.New("bot_token is missing")
	}
	if strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("bot_token isn't a WeChat token")
	}
	c, err := newClient(cfg.Options, "https://ilinkai.weixin.qq.com", []string{".weixin.qq.com"}, cfg.Token)
	if err != nil {
		return nil, err
	}
	cdn := "https://novac2c.cdn.weixin.qq.com/c2c"
	if cfg.BaseURL != "" {
		cdn = c.base + "/c2c"
	}
	w := &WeChat{cfg: cfg, c: c, cdn: strings.TrimRight(cmp.Or(cfg.CDN, cdn), "/"), text: plainText(),
		ready: make(chan struct{})}
	return w, c.ownHost(w.cdn)
}

// Limits returns limits observed in other clients; WeChat documents none.
func (w *WeChat) Limits() Limits {
	return Limits{Max: weChatMax, Count: w.text.count(utf16Size), MaxFile: weChatFile, MaxImage: 20 << 20,
		Chat: Bucket{20, time.Minute}, Group: Bucket{20, time.Minute}, Bot: Bucket{5, time.Second}, Format: FormatPlain}
}

// weChatReply contains the fields common to all responses.
type weChatReply struct {
	Ret  int    `json:"ret"`
	Code int    `json:"errcode"`
	Msg  string `json:"errmsg"`
}

// call makes a call. Refusals have the status 200 like everything else.
func (w *WeChat) call(ctx context.Context, method string, body map[string]any, into any, limit time.Duration) error {
	uin := base64.StdEncoding.EncodeToString([]byte(strconv.FormatUint(uint64(rand.Uint32()), 10)))
	header := http.Header{"Authorizationtype": {"ilink_bot_token"}, "X-Wechat-Uin": {uin},
		"Ilink-App-Clientversion": {"65536"}}
	header.Set("Authorization", "Bearer "+w.cfg.Token)
	body["base_info"] = map[string]string{"channel_version": "1.0"}
	var raw json.RawMessage
	err := w.c.do(ctx, call{op: method, method: http.MethodPost, path: "/ilink/bot/" + method, header: header,
		body: body, limit: limit}, &raw)
	if rate := rateOf(err); rate != nil {
		rate.Chat = method == "sendmessage"
		return rate
	}
	if s, ok := errors.AsType[*statusError](err); ok && (s.Status == 401 || s.Status == 403) {
		return weChatToken()
	}
	if err != nil {
		return err
	}
	var r weChatReply
	if err := json.Unmarshal(raw, &r); err != nil {
		return w.c.clean(method+": reading the answer", err)
	}
	if err := w.refused(method, r); err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return w.c.clean(method+": reading the answer", err)
	}
	return nil
}

func weChatToken() error {
	return &Fatal{Cause: BadToken, Reason: "The sign-in of the WeChat bot has ended.",
		Remedy: "Scan its code again and enter the new token."}
}

// refused explains an error response. One code has two meanings, which only the text distinguishes.
func (w *WeChat) refused(method string, r weChatReply) error {
	code := cmp.Or(r.Code, r.Ret)
	text := fmt.Sprintf("%s: %s (%d)", method, w.c.redact(r.Msg), code)
	switch {
	case code == 0:
		return nil
	case code == -14:
		return weChatToken()
	case code == -2 && strings.EqualFold(r.Msg, "unknown error") && method == "sendmessage":
		return &Gone{Cause: Late, Reason: "WeChat lets a bot answer only people who wrote to it lately."}
	case code == -2:
		return &Rate{Chat: method == "sendmessage"}
	}
	return &declinedError{text}
}

// Check requests the bot's settings, which proves that the token is valid.
func (w *WeChat) Check(ctx context.Context) (Me, error) {
	err := w.call(ctx, "getconfig", map[string]any{"ilink_user_id": w.cfg.BotID}, nil, 0)
	_, fatal := errors.AsType[*Fatal](err)
	_, broken := errors.AsType[*statusError](err)
	_, unreached := errors.AsType[*callError](err)
	if fatal || broken || unreached {
		return Me{}, err
	}
	// the token was accepted, whatever the response says
	return Me{ID: cmp.Or(w.cfg.BotID, "wechat"), Name: cmp.Or(w.cfg.BotID, "WeChat bot")}, nil
}

// Run polls.
func (w *WeChat) Run(ctx context.Context, in Inbox) error {
	w.began.Do(func() {
		w.in = in
		close(w.ready)
	})
	return again(ctx, w.cfg.Options, in, func(ctx context.Context, up func()) error {
		if _, err := w.Check(ctx); err != nil {
			return err
		}
		up()
		for wait := weChatPoll; ; {
			next, err := w.poll(ctx, in, cmp.Or(w.cfg.Beat, wait))
			if err != nil {
				return err
			}
			wait = cmp.Or(next, wait)
		}
	})
}

// poll confirms the stored updates and fetches new ones. It returns the timeout that WeChat wants for the next poll.
func (w *WeChat) poll(ctx context.Context, in Inbox, wait time.Duration) (time.Duration, error) {
	var r struct {
		Messages []json.RawMessage `json:"msgs"`
		Cursor   string            `json:"get_updates_buf"`
		Poll     int64             `json:"longpolling_timeout_ms"`
	}
	old := in.Cursor("cursor")
	err := w.call(ctx, "getupdates", map[string]any{"get_updates_buf": old}, &r, wait+min(callTime/2, 2*wait))
	if err != nil {
		return 0, err
	}
	var batch []Update
	cursor := map[string]string{}
	for _, raw := range r.Messages {
		u, token, ok := w.update(raw)
		if !ok {
			continue
		}
		batch = append(batch, u)
		if token != "" {
			slot := weChatSlot(u.Chat)
			cursor[slot] = weChatNote(cmp.Or(cursor[slot], in.Cursor(slot)), u.Chat, token)
		}
	}
	if r.Cursor != "" && r.Cursor != old {
		cursor["cursor"] = r.Cursor
	}
	if len(batch)+len(cursor) > 0 {
		if err := in.Take(ctx, batch, cursor); err != nil {
			return 0, err
		}
	}
	return min(time.Duration(max(r.Poll, 0))*time.Millisecond, 2*time.Minute), nil
}

// token holds the values needed to answer a person.
func (w *WeChat) token(ctx context.Context, person string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	select {
	case <-w.ready:
	case <-ctx.Done():
		return "", &declinedError{"WeChat is not connected"}
	}
	if t := weChatFind(w.in.Cursor(weChatSlot(person)), person); t != "" {
		return t, nil
	}
	return "", &Gone{Cause: Late, Reason: "WeChat lets a bot answer only people who wrote to it lately."}
}

// send posts one part.
func (w *WeChat) send(ctx context.Context, to Address, key string, item map[string]any) (Ref, error) {
	token, err := w.token(ctx, to.Chat)
	if err != nil {
		return Ref{}, err
	}
	id := "fawn_" + cmp.Or(key, strconv.FormatUint(rand.Uint64(), 36))
	msg := map[string]any{"from_user_id": "", "to_user_id": to.Chat, "client_id": id, "message_type": 2,
		"message_state": 2, "context_token": token, "item_list": []any{item}}
	if err := w.call(ctx, "sendmessage", map[string]any{"msg": msg}, nil, 0); err != nil {
		return Ref{}, err
	}
	return Ref{to, id}, nil
}

// Send posts a message.
func (w *WeChat) Send(ctx context.Context, to Address, p Post) (Ref, error) {
	text := p.Text
	if !p.Plain {
		text, _ = w.text.render(p.Text)
	}
	return w.send(ctx, to, p.Key,
		map[string]any{"type": weChatText, "text_item": map[string]string{"text": cmp.Or(text, "…")}})
}

// Edit cannot be done.
func (w *WeChat) Edit(context.Context, Ref, Post) error {
	return &Refused{Reason: "Messages in WeChat stay as they are."}
}

// Typing shows "typing" for some seconds.
func (w *WeChat) Typing(ctx context.Context, to Address) error {
	token, err := w.token(ctx, to.Chat)
	if err != nil {
		return err
	}
	var r struct {
		Ticket string `json:"typing_ticket"`
	}
	err = w.call(ctx, "getconfig", map[string]any{"ilink_user_id": to.Chat, "context_token": token}, &r, 0)
	if err != nil {
		return err
	}
	if r.Ticket == "" {
		return nil
	}
	return w.call(ctx, "sendtyping", map[string]any{"ilink_user_id": to.Chat, "typing_ticket": r.Ticket,
		"status": 1}, nil, 0)
}

// Fetch downloads a file and decrypts it. Its id is the key and the address.
func (w *WeChat) Fetch(ctx context.Context, f FileRef, to io.Writer) error {
	key, address, ok := strings.Cut(f.ID, " ")
	if !ok {
		return &Refused{Reason: "no file of WeChat's"}
	}
	d, err := ecbDecrypter(to, key)
	if err != nil {
		return err
	}
	if err := w.c.download(ctx, "download", address, nil, d); err != nil {
		return err
	}
	return d.Close()
}
