package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DingTalkConfig is an app of an organisation with a robot in Stream mode.
type DingTalkConfig struct {
	ClientID     string
	ClientSecret string
	CardTemplate string // template of the AI cards that show answers; empty for messages
	Options
}

// DingTalk uses Stream mode: unconfirmed messages are delivered again. Its robots can't edit, so an answer is one
// message, or a card.
type DingTalk struct {
	cfg   DingTalkConfig
	c     *client
	media string // where files are uploaded
	text  *dialect

	mu    sync.Mutex
	token string    // guarded by mu
	until time.Time // expiry of token, guarded by mu
}

const (
	dingTalkMax    = 6000 // bytes
	dingTalkTopic  = "/v1.0/im/bot/messages/get"
	dingTalkPerson = "person:" // prefix of the id of a private chat's person
)

// NewDingTalk returns a channel. It makes no network call.
func NewDingTalk(cfg DingTalkConfig) (*DingTalk, error) {
	if cfg.ClientID == "" || cfg.ClientSecret == "" {
		return nil, errors.New("client_id or client_secret is missing")
	}
	c, err := newClient(cfg.Options, "https://api.dingtalk.com", []string{".dingtalk.com", ".aliyuncs.com"},
		cfg.ClientSecret)
	if err != nil {
		return nil, err
	}
	return &DingTalk{cfg: cfg, c: c, text: simpleText(),
		media: cmp.Or(strings.TrimRight(cfg.BaseURL, "/"), "https://oapi.dingtalk.com")}, nil
}

// Limits returns the limits of the open platform.
func (d *DingTalk) Limits() Limits {
	l := Limits{Max: dingTalkMax, Count: d.text.count(func(r rune) int { return len(string(r)) }), MaxFile: 20 << 20,
		MaxImage: 20 << 20, Chat: Bucket{20, time.Minute}, Group: Bucket{20, time.Minute}, Bot: Bucket{20, time.Second},
		Format: FormatMarkdown}
	if d.cfg.CardTemplate != "" {
		d.cards(&l)
	}
	return l
}

// do makes a call. It returns the errors documented for Channel.
func (d *DingTalk) do(ctx context.Context, r call, into any) error {
	r.method = cmp.Or(r.method, http.MethodPost)
	err := d.c.do(ctx, r, into)
	s, ok := errors.AsType[*statusError](err)
	if !ok {
		return err
	}
	var reply struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(s.Body, &reply) // a proxy's error page isn't JSON
	text := r.op + ": " + d.c.redact(reply.Message) + " (" + d.c.redact(reply.Code) + ")"
	code := strings.ToLower(reply.Code)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(code, p) {
				return true
			}
		}
		return false
	}
	switch {
	case s.Status == http.StatusTooManyRequests, has("qps", "throttling", "flowcontrol", "toomanyrequest"):
		return &Rate{After: retryAfter(s.Header), Chat: true}
	case s.Status >= 500:
		return err
	case has("invalidclient", "invalid.client", "authfailed", "invalid appkey"), s.Status == http.StatusUnauthorized &&
		r.header == nil:
		return &Fatal{Cause: BadToken, Reason: "DingTalk does not accept the client id and secret.",
			Remedy: "Copy both again from Credentials of the app."}
	case has("invalidauthentication"), s.Status == http.StatusUnauthorized:
		d.mu.Lock()
		d.token = ""
		d.mu.Unlock()
		return &declinedError{text} // the next call asks for another token
	case has("permissiondenied", "accessdenied"):
		return &Fatal{Cause: NoPermission, Reason: "The DingTalk app lacks a permission: " + text,
			Remedy: "Grant it under Permissions of the app, and publish a version."}
	case has("openconversationid", "staffid", "userid", "robot.notfound", "robotnotexist",
		"resource.not.found", "chatbotnotexist", "cool.app"):
		return &Gone{Reason: text}
	}
	return &Refused{Reason: text}
}

// auth returns the access token, which lasts two hours.
func (d *DingTalk) auth(ctx context.Context) (string, error) {
	d.mu.Lock()
	token, fresh := d.token, time.Now().Before(d.until)
	d.mu.Unlock()
	if token != "" && fresh {
		return token, nil
	}
	var r struct {
		Token  string `json:"accessToken"`
		Expire int64  `json:"expireIn"`
	}
	body := map[string]string{"appKey": d.cfg.ClientID, "appSecret": d.cfg.ClientSecret}
	if err := d.do(ctx, call{op: "accessToken", path: "/v1.0/oauth2/accessToken", body: body}, &r); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.token, d.until = r.Token, time.Now().Add(time.Duration(r.Expire)*time.Second-5*time.Minute)
	return r.Token, nil
}

func (d *DingTalk) call(ctx context.Context, op, path string, body, into any) error {
	return d.signed(ctx, call{op: op, path: path, body: body}, into)
}

// signed makes a call with the access token.
func (d *DingTalk) signed(ctx context.Context, r call, into any) error {
	token, err := d.auth(ctx)
	if err != nil {
		return err
	}
	r.header = http.Header{"X-Acs-Dingtalk-Access-Token": {token}}
	return d.do(ctx, r, into)
}

// Check signs in. A robot cannot ask for its own name.
func (d *DingTalk) Check(ctx context.Context) (Me, error) {
	d.mu.Lock()
	d.token = ""
	d.mu.Unlock()
	if _, err := d.auth(ctx); err != nil {
		return Me{}, err
	}
	return Me{ID: d.cfg.ClientID, Name: d.cfg.ClientID}, nil
}

// Run keeps a stream.
func (d *DingTalk) Run(ctx context.Context, in Inbox) error {
	return again(ctx, d.cfg.Options, in, func(ctx context.Context, up func()) error {
		if _, err := d.Check(ctx); err != nil {
			return err
		}
		sock, err := d.connect(ctx)
		if err != nil {
			return err
		}
		defer sock.close(0)
		up()
		for {
			data, err := sock.read(ctx)
			if err != nil {
				return err
			}
			again, err := d.frame(ctx, sock, data, in)
			if again || err != nil {
				return err
			}
		}
	})
}

func (d *DingTalk) connect(ctx context.Context) (*socket, error) {
	var at struct {
		Endpoint string `json:"endpoint"`
		Ticket   string `json:"ticket"`
	}
	body := map[string]any{"clientId": d.cfg.ClientID, "clientSecret": d.cfg.ClientSecret, "ua": "fawn",
		"subscriptions": []any{map[string]string{"type": "CALLBACK", "topic": dingTalkTopic}}}
	open := call{op: "connections/open", path: "/v1.0/gateway/connections/open", body: body}
	if err := d.do(ctx, open, &at); err != nil {
		return nil, err
	}
	if err := d.c.ownHost(at.Endpoint); err != nil {
		return nil, err
	}
	sock, err := d.c.dial(ctx, "DingTalk's stream", at.Endpoint+"?ticket="+url.QueryEscape(at.Ticket), nil)
	if err != nil {
		return nil, err
	}
	sock.keep(ctx, cmp.Or(d.cfg.Beat, 30*time.Second))
	return sock, nil
}

type dingTalkFrame struct {
	Type    string            `json:"type"`
	Headers map[string]string `json:"headers"`
	Data    string            `json:"data"`
}

// frame handles and answers a frame. again means that the server wants another connection.
func (d *DingTalk) frame(ctx context.Context, sock *socket, data []byte, in Inbox) (again bool, err error) {
	var f dingTalkFrame
	if json.Unmarshal(data, &f) != nil {
		return false, nil // nothing to answer
	}
	answer := `{"response":null}`
	switch topic := f.Headers["topic"]; {
	case f.Type == "SYSTEM" && topic == "disconnect":
		return true, nil
	case f.Type == "SYSTEM":
		answer = f.Data
	case topic == dingTalkTopic:
		u, ok := d.update(f)
		if ok {
			err = in.Take(ctx, []Update{u}, nil)
		}
	}
	if err != nil {
		return false, err
	}
	headers := map[string]string{"messageId": f.Headers["messageId"], "contentType": "application/json"}
	return false, sock.writeJSON(ctx, map[string]any{"code": 200, "message": "OK", "headers": headers, "data": answer})
}

type dingTalkContent struct {
	DownloadCode string `json:"downloadCode"`
	FileName     string `json:"fileName"`
	Recognition  string `json:"recognition"`
	RichText     []struct {
		Text         string `json:"text"`
		Type         string `json:"type"`
		DownloadCode string `json:"downloadCode"`
	} `json:"richText"`
}

type dingTalkMessage struct {
	ID           string `json:"msgId"`
	Type         string `json:"msgtype"`
	Conversation string `json:"conversationId"`
	Kind         string `json:"conversationType"` // "1" private, "2" group
	Title        string `json:"conversationTitle"`
	Staff        string `json:"senderStaffId"`
	Nick         string `json:"senderNick"`
	Corp         string `json:"senderCorpId"`
	Sender       string `json:"senderId"`
	Bot          string `json:"chatbotUserId"`
	Called       bool   `json:"isInAtList"`
	Created      int64  `json:"createAt"`
	Text         struct {
		Content string `json:"content"`
		Replied struct {
			Content json.RawMessage `json:"content"`
		} `json:"repliedMsg"`
	} `json:"text"`
	Content json.RawMessage `json:"content"`
}

// quote returns the quoted text of a reply, if available.
func (m *dingTalkMessage) quote() string {
	var c struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Text.Replied.Content, &c) != nil {
		return ""
	}
	return strings.TrimSpace(c.Text)
}

// update returns false for messages not written to the bot.
func (d *DingTalk) update(f dingTalkFrame) (Update, bool) {
	var m dingTalkMessage
	var c dingTalkContent
	err := json.Unmarshal([]byte(f.Data), &m)
	if err == nil && len(m.Content) > 0 && m.Content[0] == '{' {
		err = json.Unmarshal(m.Content, &c)
	}
	if err == nil && m.Staff == "" && m.Sender != m.Bot {
		err = errors.New("the sender isn't in the organisation and can't be answered")
	}
	if err != nil {
		return Update{ID: "message:" + cmp.Or(m.ID, f.Headers["messageId"]),
			Problem: "not understood: " + d.c.redact(err.Error())}, true
	}
	if m.Sender == m.Bot {
		return Update{}, false
	}
	u := Update{ID: m.ID, Message: m.ID, Text: strings.TrimSpace(m.Text.Content), At: time.UnixMilli(m.Created),
		Address: Address{Chat: dingTalkPerson + m.Staff}, Sender: Person{ID: m.Staff, Name: m.Nick, Workspace: m.Corp}}
	if m.Kind == "2" {
		u.Address = Address{Chat: m.Conversation, Group: true}
		u.ChatName, u.Mentioned = m.Title, m.Called
	}
	file := func(name, kind, code string) {
		if code != "" {
			u.Files = append(u.Files, FileRef{ID: code, Name: name, Type: kind})
		}
	}
	switch m.Type {
	case "picture":
		file("picture-"+strconv.Itoa(len(u.Files)+1)+".png", "image/png", c.DownloadCode)
	case "audio":
		if u.Text = cmp.Or(u.Text, strings.TrimSpace(c.Recognition)); u.Text == "" {
			u.Unread = Voice
		}
	case "video":
		file("video-"+strconv.Itoa(len(u.Files)+1)+".mp4", "video/mp4", c.DownloadCode)
	case "richText":
		for _, part := range c.RichText {
			u.Text += part.Text
			file("picture-"+strconv.Itoa(len(u.Files)+1)+".png", "image/png", part.DownloadCode)
		}
		u.Text = strings.TrimSpace(u.Text)
	case "text":
		u.Quote = m.quote()
	default:
		if file(cmp.Or(c.FileName, m.Type), "", c.DownloadCode); u.Text == "" && len(u.Files) == 0 {
			u.Unread = Other
		}
	}
	return u, !u.empty()
}

// render converts a text to the platform's format.
func (d *DingTalk) render(p Post) string {
	text := d.text.plain(p.Text)
	if !p.Plain {
		text, _ = d.text.render(p.Text)
	}
	return cmp.Or(text, "…")
}

// Send posts a message, or a card if it grows.
func (d *DingTalk) Send(ctx context.Context, to Address, p Post) (Ref, error) {
	if p.Grows && d.cfg.CardTemplate != "" {
		return d.card(ctx, to, p)
	}
	title, _, _ := strings.Cut(strings.TrimLeft(p.Text, "#>*- \n"), "\n") // shown in the list of chats
	title = strings.TrimRight(title, "* ")
	if r := []rune(title); len(r) > 20 {
		title = string(r[:20])
	}
	return d.post(ctx, to, "sampleMarkdown",
		map[string]string{"title": cmp.Or(title, "Fawn"), "text": d.render(p)})
}

func (d *DingTalk) post(ctx context.Context, to Address, key string, param map[string]string) (Ref, error) {
	b, err := json.Marshal(param)
	if err != nil {
		return Ref{}, err
	}
	body := map[string]any{"robotCode": d.cfg.ClientID, "msgKey": key, "msgParam": string(b)}
	path := "/v1.0/robot/groupMessages/send"
	if person, private := strings.CutPrefix(to.Chat, dingTalkPerson); private {
		path, body["userIds"] = "/v1.0/robot/oToMessages/batchSend", []string{person}
	} else {
		body["openConversationId"] = to.Chat
	}
	var r struct {
		Key     string   `json:"processQueryKey"`
		Invalid []string `json:"invalidStaffIdList"`
		Limited []string `json:"flowControlledStaffIdList"`
	}
	switch err := d.call(ctx, "message", path, body, &r); {
	case err != nil:
		return Ref{}, err
	case len(r.Limited) > 0:
		return Ref{}, &Rate{Chat: true}
	case len(r.Invalid) > 0:
		return Ref{}, &Gone{Reason: "The person no longer is in the organisation."}
	}
	return Ref{to, r.Key}, nil
}

// Typing shows nothing: robots have no typing indicator.
func (d *DingTalk) Typing(context.Context, Address) error { return nil }

// Upload stores a file, and posts it then.
func (d *DingTalk) Upload(ctx context.Context, to Address, f File, _ string) (Ref, error) {
	kind := "file"
	if f.Image {
		kind = "image"
	}
	token, err := d.auth(ctx)
	if err != nil {
		return Ref{}, err
	}
	body, media, size, err := form(nil, "media", f)
	if err != nil {
		return Ref{}, err
	}
	defer body.Close()
	var r struct {
		Code int    `json:"errcode"`
		Msg  string `json:"errmsg"`
		ID   string `json:"media_id"`
	}
	at := d.media + "/media/upload?" + url.Values{"access_token": {token}, "type": {kind}}.Encode()
	upload := call{op: "upload", path: at, raw: body, kind: media, size: size, limit: transferFor,
		header: http.Header{}}
	if err := d.do(ctx, upload, &r); err != nil {
		return Ref{}, err
	}
	if r.Code != 0 || r.ID == "" {
		return Ref{}, &Refused{Reason: "upload: " + d.c.redact(r.Msg)}
	}
	if f.Image {
		return d.post(ctx, to, "sampleImageMsg", map[string]string{"photoURL": r.ID})
	}
	ending := cmp.Or(strings.TrimPrefix(path.Ext(f.Name), "."), "file")
	return d.post(ctx, to, "sampleFile", map[string]string{"mediaId": r.ID, "fileName": f.Name, "fileType": ending})
}

// Fetch requests the address of a file, and downloads it.
func (d *DingTalk) Fetch(ctx context.Context, f FileRef, w io.Writer) error {
	var at struct {
		URL string `json:"downloadUrl"`
	}
	body := map[string]string{"downloadCode": f.ID, "robotCode": d.cfg.ClientID}
	if err := d.call(ctx, "messageFiles", "/v1.0/robot/messageFiles/download", body, &at); err != nil {
		return err
	}
	return d.c.download(ctx, "download", at.URL, nil, w)
}
