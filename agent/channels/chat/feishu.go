package chat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// FeishuConfig is an app of Feishu's or Lark's own.
type FeishuConfig struct {
	AppID     string
	AppSecret string
	Domain    string // "feishu", which is the default, or "lark"
	Options
}

// Feishu reads its long connection: unconfirmed events are delivered again.
type Feishu struct {
	cfg  FeishuConfig
	c    *client
	text *dialect

	mu    sync.Mutex
	token string    // guarded by mu
	until time.Time // expiry of token, guarded by mu
}

// feishuMax leaves room in a card of 30 KB.
const feishuMax = 12000

// NewFeishu returns a channel. It makes no network call.
func NewFeishu(cfg FeishuConfig) (*Feishu, error) {
	if cfg.AppID == "" || cfg.AppSecret == "" {
		return nil, errors.New("app_id or app_secret is missing")
	}
	address := "https://open.feishu.cn"
	switch strings.ToLower(cfg.Domain) {
	case "", "feishu":
	case "lark":
		address = "https://open.larksuite.com"
	default:
		if !strings.Contains(cfg.Domain, "://") {
			return nil, fmt.Errorf("domain is feishu or lark, not %q", cfg.Domain)
		}
		address = cfg.Domain
	}
	hosts := []string{".feishu.cn", ".larksuite.com", ".larkoffice.com"}
	c, err := newClient(cfg.Options, address, hosts, cfg.AppSecret)
	if err != nil {
		return nil, err
	}
	return &Feishu{cfg: cfg, c: c, text: feishuText()}, nil
}

// Limits returns the limits documented by the open platform.
func (f *Feishu) Limits() Limits {
	return Limits{Max: feishuMax, Count: f.text.count(func(r rune) int { return len(string(r)) }),
		EditEvery: 500 * time.Millisecond, GroupEditEvery: 500 * time.Millisecond, MaxFile: 30 << 20,
		MaxImage: 10 << 20, CanEdit: true, Keyed: true, Chat: Bucket{5, time.Second}, Group: Bucket{5, time.Second},
		Bot: Bucket{50, time.Second}, Format: FormatMarkdown}
}

// feishuReply is the frame of every answer.
type feishuReply struct {
	Code   int             `json:"code"`
	Msg    string          `json:"msg"`
	Data   json.RawMessage `json:"data"`
	Bot    json.RawMessage `json:"bot"`
	Token  string          `json:"tenant_access_token"`
	Expire int64           `json:"expire"`
}

// raw makes a call and explains a refusal.
func (f *Feishu) raw(ctx context.Context, r call) (feishuReply, error) {
	var reply feishuReply
	err := f.c.do(ctx, r, &reply)
	s, refused := errors.AsType[*statusError](err)
	if err != nil && !refused {
		return reply, err
	}
	if refused {
		after := retryAfter(s.Header)
		if n, err := strconv.ParseFloat(s.Header.Get("X-Ogw-Ratelimit-Reset"), 64); err == nil {
			after = wait(n)
		}
		if json.Unmarshal(s.Body, &reply) != nil || reply.Code == 0 {
			reply.Code = 0
		}
		if s.Status == http.StatusTooManyRequests || reply.Code == 99991400 {
			return reply, &Rate{After: after}
		}
		if reply.Code == 0 || s.Status >= 500 {
			return reply, err
		}
	}
	if reply.Code == 0 {
		return reply, nil
	}
	return reply, f.refused(r.op, reply)
}

func (f *Feishu) refused(op string, r feishuReply) error {
	text := fmt.Sprintf("%s: %s (%d)", op, f.c.redact(r.Msg), r.Code)
	switch r.Code {
	case 99991400, 11232, 11233, 230020:
		return &Rate{Chat: r.Code == 230020}
	case 10003, 10014, 10012, 514, 99991543:
		return &Fatal{Cause: BadToken, Reason: "Feishu does not accept the app id and secret.",
			Remedy: "Copy both again from Credentials of the app."}
	case 403, 99991672, 99991679:
		return &Fatal{Cause: NoPermission, Reason: "The Feishu app lacks a permission: " + text,
			Remedy: "Grant im:message, im:message:send_as_bot and im:resource, choose the long connection under Events, and publish a version."}
	case 99991661, 99991663, 99991668, 99991671:
		f.mu.Lock()
		f.token = ""
		f.mu.Unlock()
		return errors.New(text) // the next call asks for another token
	case 230011, 230031, 230050, 230110, 231003:
		return &Gone{Message: true, Reason: text}
	case 230002, 230006, 230013, 230018, 230035, 232009, 232033:
		return &Gone{Reason: text}
	case 1, 1000040343, 1000040350:
		return errors.New(text) // busy, or too many connections for now
	}
	return &Refused{Reason: text}
}

// auth returns the header with the tenant's token, which lasts two hours.
func (f *Feishu) auth(ctx context.Context) (http.Header, error) {
	f.mu.Lock()
	token, fresh := f.token, time.Now().Before(f.until)
	f.mu.Unlock()
	if token != "" && fresh {
		return bearer(token), nil
	}
	body := map[string]string{"app_id": f.cfg.AppID, "app_secret": f.cfg.AppSecret}
	r, err := f.raw(ctx, call{op: "tenant_access_token", method: http.MethodPost,
		path: "/open-apis/auth/v3/tenant_access_token/internal", body: body})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token, f.until = r.Token, time.Now().Add(time.Duration(r.Expire)*time.Second-5*time.Minute)
	return bearer(r.Token), nil
}

// call is raw with an access token.
func (f *Feishu) call(ctx context.Context, r call) (feishuReply, error) {
	var err error
	if r.header, err = f.auth(ctx); err != nil {
		return feishuReply{}, err
	}
	r.path = "/open-apis" + r.path
	return f.raw(ctx, r)
}

// Check requests the bot's identity.
func (f *Feishu) Check(ctx context.Context) (Me, error) {
	r, err := f.call(ctx, call{op: "bot/v3/info", method: http.MethodGet, path: "/bot/v3/info"})
	if err != nil {
		return Me{}, err
	}
	var bot struct {
		ID   string `json:"open_id"`
		Name string `json:"app_name"`
	}
	if err := json.Unmarshal(r.Bot, &bot); err != nil || bot.ID == "" {
		return Me{}, &Fatal{Cause: NoBot, Reason: "The Feishu app has no bot.",
			Remedy: "Add the bot to the app's features and publish a version."}
	}
	return Me{ID: bot.ID, Name: bot.Name}, nil
}

// card returns a message that can be replaced in place.
func (f *Feishu) card(p Post) string {
	element := map[string]any{"tag": "div", "text": map[string]any{"tag": "plain_text", "content": cmp.Or(p.Text, "…")}}
	if !p.Plain {
		text, _ := f.text.render(p.Text)
		element = map[string]any{"tag": "markdown", "content": cmp.Or(text, "…")}
	}
	card := map[string]any{"config": map[string]any{"wide_screen_mode": true, "update_multi": true},
		"elements": []any{element}}
	b, err := json.Marshal(card)
	if err != nil {
		return ""
	}
	return string(b)
}

// isFeishuID rejects values that would change the path.
func isFeishuID(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	})
}

// Send posts a card, as a reply if there is a message to answer.
func (f *Feishu) Send(ctx context.Context, to Address, p Post) (Ref, error) {
	ref, err := f.post(ctx, to, p.ReplyTo, "interactive", f.card(p), p.Key)
	if r, ok := errors.AsType[*Refused](err); ok && !p.Plain && feishuFormat(r) {
		p.Plain = true
		return f.post(ctx, to, p.ReplyTo, "interactive", f.card(p), p.Key)
	}
	return ref, err
}

// feishuFormat reports whether a card was refused for its content.
func feishuFormat(r *Refused) bool {
	return strings.Contains(r.Reason, "(230099)") || strings.Contains(r.Reason, "(230028)")
}

func (f *Feishu) post(ctx context.Context, to Address, replyTo, kind, content, key string) (Ref, error) {
	body := map[string]any{"msg_type": kind, "content": content}
	if key != "" {
		sum := sha256.Sum256([]byte(key))
		body["uuid"] = hex.EncodeToString(sum[:])[:48]
	}
	if to.Group && replyTo == "" {
		replyTo = to.Topic
	}
	var r feishuReply
	err := error(&Gone{Message: true})
	if to.Group && isFeishuID(replyTo) {
		r, err = f.call(ctx, call{op: "reply", method: http.MethodPost, path: "/im/v1/messages/" + replyTo + "/reply",
			body: body})
	}
	if g, ok := errors.AsType[*Gone](err); ok && g.Message { // there is nothing to answer
		body["receive_id"] = to.Chat
		r, err = f.call(ctx,
			call{op: "message", method: http.MethodPost, path: "/im/v1/messages?receive_id_type=chat_id", body: body})
	}
	if err != nil {
		return Ref{}, err
	}
	var m struct {
		ID string `json:"message_id"`
	}
	if err := json.Unmarshal(r.Data, &m); err != nil {
		return Ref{}, f.c.clean("message: reading the answer", err)
	}
	return Ref{to, m.ID}, nil
}

// Edit replaces a card.
func (f *Feishu) Edit(ctx context.Context, at Ref, p Post) error {
	if !isFeishuID(at.Message) {
		return &Gone{Message: true, Reason: "no message of Feishu's: " + at.Message}
	}
	patch := func() error {
		_, err := f.call(ctx, call{op: "edit", method: http.MethodPatch, path: "/im/v1/messages/" + at.Message,
			body: map[string]any{"content": f.card(p)}})
		return err
	}
	err := patch()
	if r, ok := errors.AsType[*Refused](err); ok && !p.Plain && feishuFormat(r) {
		p.Plain = true
		return patch()
	}
	return err
}

// Typing adds a reaction to the topic's first message. A failure is ignored: the answer comes anyway.
func (f *Feishu) Typing(ctx context.Context, to Address) error {
	if !isFeishuID(to.Topic) {
		return nil
	}
	body := map[string]any{"reaction_type": map[string]string{"emoji_type": "OK"}}
	_, err := f.call(ctx,
		call{op: "reaction", method: http.MethodPost, path: "/im/v1/messages/" + to.Topic + "/reactions", body: body})
	if _, ok := errors.AsType[*Rate](err); ok {
		return err
	}
	return nil
}

// Upload stores a file or an image, and posts it then.
func (f *Feishu) Upload(ctx context.Context, to Address, file File, key string) (Ref, error) {
	path, part, kind := "/im/v1/files", "file", "file"
	fields := [][2]string{{"file_type", "stream"}, {"file_name", file.Name}}
	if file.Image && file.Size <= f.Limits().MaxImage {
		path, part, kind, fields = "/im/v1/images", "image", "image", [][2]string{{"image_type", "message"}}
	}
	body, media, size, err := form(fields, part, file)
	if err != nil {
		return Ref{}, err
	}
	defer body.Close()
	r, err := f.call(ctx, call{op: "upload", method: http.MethodPost, path: path, raw: body, kind: media, size: size,
		limit: transferFor})
	if err != nil {
		return Ref{}, err
	}
	return f.post(ctx, to, file.ReplyTo, kind, string(r.Data), key)
}

// Fetch downloads the file or image of a message.
func (f *Feishu) Fetch(ctx context.Context, ref FileRef, w io.Writer) error {
	ids := strings.Split(ref.ID, ":")
	if len(ids) != 3 || !isFeishuID(ids[0]) || !isFeishuID(ids[2]) || ids[1] != "image" && ids[1] != "file" {
		return &Refused{Reason: "no file of Feishu's"}
	}
	header, err := f.auth(ctx)
	if err != nil {
		return err
	}
	query := url.Values{"type": {ids[1]}}
	return f.c.download(ctx, "download", f.c.base+"/open-apis/im/v1/messages/"+ids[0]+"/resources/"+ids[2]+"?"+
		query.Encode(), header, w)
}
