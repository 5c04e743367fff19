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
	"strings"
	"sync"
	"time"
)

// DiscordConfig is a bot of Discord's developer portal.
type DiscordConfig struct {
	Token   string
	Threads bool // answer in a thread that is opened at the message
	Options
}

// Discord reads the gateway, which has no confirmations: the cursor holds the number of the last stored event, from
// which a session resumes. If it can't be resumed, the channels are read from their last known message on.
type Discord struct {
	cfg  DiscordConfig
	c    *client
	text *dialect

	mu     sync.Mutex
	places map[string]discordPlace // guarded by mu
}

// discordPlace describes a channel: threads are channels, too.
type discordPlace struct {
	ID     string `json:"id"`
	Type   int    `json:"type"`
	Parent string `json:"parent_id"`
	Name   string `json:"name"`
}

const (
	discordMax    = 2000
	discordPlaces = 4096 // limit of remembered places
	noEmbeds      = 1 << 2
	// guilds, messages and reactions there, direct messages and reactions there, contents
	discordIntents = 1<<0 | 1<<9 | 1<<10 | 1<<12 | 1<<13 | 1<<15
)

// NewDiscord returns a channel. It makes no network call.
func NewDiscord(cfg DiscordConfig) (*Discord, error) {
	if cfg.Token == "" {
		return nil, errors.New("bot_token is missing")
	}
	c, err := newClient(cfg.Options, "https://discord.com/api/v10",
		[]string{"cdn.discordapp.com", "media.discordapp.net", ".discord.gg"}, cfg.Token)
	if err != nil {
		return nil, err
	}
	return &Discord{cfg: cfg, c: c, text: discordText(), places: map[string]discordPlace{}}, nil
}

// Limits returns the limits documented by Discord.
func (d *Discord) Limits() Limits {
	return Limits{Max: discordMax, Count: d.text.count(utf16Size), EditEvery: 1200 * time.Millisecond,
		GroupEditEvery: 1200 * time.Millisecond, MaxFile: 10 << 20, MaxImage: 10 << 20, CanEdit: true, Keyed: true,
		Chat: Bucket{5, 5 * time.Second}, Group: Bucket{5, 5 * time.Second}, Bot: Bucket{50, time.Second},
		Format: FormatMarkdown}
}

// do calls the API. It returns the errors documented for Channel.
func (d *Discord) do(ctx context.Context, r call, into any) error {
	r.header = http.Header{"Authorization": {"Bot " + d.cfg.Token}}
	err := d.c.do(ctx, r, into)
	s, ok := errors.AsType[*statusError](err)
	if !ok {
		return err
	}
	var reply struct {
		Code    int     `json:"code"`
		Message string  `json:"message"`
		After   float64 `json:"retry_after"`
		Global  bool    `json:"global"`
	}
	_ = json.Unmarshal(s.Body, &reply) // a proxy's error page isn't JSON
	text := fmt.Sprintf("%s: %s (%d)", r.op, d.c.redact(reply.Message), reply.Code)
	switch {
	case s.Status == http.StatusTooManyRequests:
		return &Rate{After: max(wait(reply.After), retryAfter(s.Header)),
			Chat: !reply.Global && reply.Code == 0 && s.Header.Get("X-RateLimit-Global") == ""}
	case s.Status >= 500:
		return err
	case s.Status == http.StatusUnauthorized:
		return discordToken()
	case reply.Code == 10008, reply.Code == 50005:
		return &Gone{Message: true, Reason: text}
	case s.Status == http.StatusForbidden, reply.Code == 10003, reply.Code == 10004, reply.Code == 50083:
		return &Gone{Reason: text}
	}
	return &Refused{Reason: text}
}

func discordToken() error {
	return &Fatal{Cause: BadToken, Reason: "Discord does not accept the bot token.",
		Remedy: "Reset it in the developer portal under Bot, and copy the new one."}
}

// Check requests the bot's identity.
func (d *Discord) Check(ctx context.Context) (Me, error) {
	var u discordUser
	if err := d.do(ctx, call{op: "users/@me", method: http.MethodGet, path: "/users/@me"}, &u); err != nil {
		return Me{}, err
	}
	return Me{ID: u.ID, Name: cmp.Or(u.Global, u.Name), Handle: u.Name}, nil
}

// place looks up a channel and caches the result.
func (d *Discord) place(ctx context.Context, id string) (discordPlace, error) {
	d.mu.Lock()
	p, known := d.places[id]
	d.mu.Unlock()
	if known {
		return p, nil
	}
	err := d.do(ctx, call{op: "channel", method: http.MethodGet, path: "/channels/" + id}, &p)
	if err != nil {
		return p, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.places) >= discordPlaces {
		clear(d.places)
	}
	d.places[id] = p
	return p, nil
}

// isID rejects values that would change the path.
func isID(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// discordChannel returns the channel a message goes to: a topic is a thread.
func discordChannel(to Address) (string, error) {
	id := cmp.Or(to.Topic, to.Chat)
	if !isID(id) || !isID(to.Chat) {
		return "", &Gone{Reason: "no channel of Discord's: " + id}
	}
	return id, nil
}

func (d *Discord) body(p Post) map[string]any {
	text := d.text.plain(p.Text)
	if !p.Plain {
		text, _ = d.text.render(p.Text)
	}
	if utf16Len(text) > discordMax {
		text = p.Text
	}
	return map[string]any{"content": cmp.Or(text, "…"), "flags": noEmbeds,
		"allowed_mentions": map[string]any{"parse": []string{}}}
}

// keyed makes Discord return an earlier message sent with the same key.
func discordKeyed(body map[string]any, key string) {
	if key != "" {
		sum := sha256.Sum256([]byte(key))
		body["nonce"], body["enforce_nonce"] = hex.EncodeToString(sum[:])[:25], true
	}
}

// Send posts a message, and opens the thread first if there is none yet.
func (d *Discord) Send(ctx context.Context, to Address, p Post) (Ref, error) {
	body := d.body(p)
	discordKeyed(body, p.Key)
	if isID(p.ReplyTo) && p.ReplyTo != to.Topic {
		body["message_reference"] = map[string]any{"message_id": p.ReplyTo, "fail_if_not_exists": false}
	}
	return d.post(ctx, to, func(path string) (call, error) {
		return call{op: "message", method: http.MethodPost, path: path, body: body}, nil
	})
}

func (d *Discord) post(ctx context.Context, to Address, make func(path string) (call, error)) (Ref, error) {
	channel, err := discordChannel(to)
	if err != nil {
		return Ref{}, err
	}
	var m struct {
		ID string `json:"id"`
	}
	for opened := false; ; opened = true {
		r, err := make("/channels/" + channel + "/messages")
		if err != nil {
			return Ref{}, err
		}
		err = d.do(ctx, r, &m)
		g, ok := errors.AsType[*Gone](err)
		if ok && !g.Message && to.Topic != "" && !opened && strings.Contains(g.Reason, "(10003)") {
			if err := d.openThread(ctx, to); err != nil {
				return Ref{}, err
			}
			continue
		}
		return Ref{to, m.ID}, err
	}
}

// openThread opens a message's thread, which has the message's id.
func (d *Discord) openThread(ctx context.Context, to Address) error {
	path := "/channels/" + to.Chat + "/messages/" + to.Topic + "/threads"
	err := d.do(ctx, call{op: "thread", method: http.MethodPost, path: path,
		body: map[string]any{"name": "Fawn", "auto_archive_duration": 1440}}, nil)
	if r, ok := errors.AsType[*Refused](err); ok && strings.Contains(r.Reason, "(160004)") {
		return nil // it is open already
	}
	return err
}

// Edit replaces a message.
func (d *Discord) Edit(ctx context.Context, at Ref, p Post) error {
	channel, err := discordChannel(at.Address)
	if err != nil {
		return err
	}
	if !isID(at.Message) {
		return &Gone{Message: true, Reason: "no message of Discord's: " + at.Message}
	}
	return d.do(ctx, call{op: "edit", method: http.MethodPatch,
		path: "/channels/" + channel + "/messages/" + at.Message, body: d.body(p)}, nil)
}

// Typing shows "typing" for ten seconds.
func (d *Discord) Typing(ctx context.Context, to Address) error {
	channel, err := discordChannel(to)
	if err != nil {
		return err
	}
	err = d.do(ctx, call{op: "typing", method: http.MethodPost, path: "/channels/" + channel + "/typing"}, nil)
	if g, ok := errors.AsType[*Gone](err); ok && to.Topic != "" && !g.Message {
		return nil // the thread opens with the first message
	}
	return err
}

// Upload posts an attachment.
func (d *Discord) Upload(ctx context.Context, to Address, f File, key string) (Ref, error) {
	body := map[string]any{"allowed_mentions": map[string]any{"parse": []string{}},
		"attachments": []any{map[string]any{"id": 0, "filename": f.Name}}}
	discordKeyed(body, key)
	if isID(f.ReplyTo) && f.ReplyTo != to.Topic {
		body["message_reference"] = map[string]any{"message_id": f.ReplyTo, "fail_if_not_exists": false}
	}
	payload, err := json.Marshal(body)
	if err != nil {
		return Ref{}, err
	}
	var open []io.Closer
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	return d.post(ctx, to, func(path string) (call, error) {
		raw, kind, size, err := form([][2]string{{"payload_json", string(payload)}}, "files[0]", f)
		if err != nil {
			return call{}, err
		}
		open = append(open, raw)
		return call{op: "upload", method: http.MethodPost, path: path, raw: raw, kind: kind, size: size,
			limit: transferFor}, nil
	})
}

// Fetch requests the message again, because addresses of attachments expire after a day.
func (d *Discord) Fetch(ctx context.Context, f FileRef, w io.Writer) error {
	ids := strings.Split(f.ID, ":")
	if len(ids) != 3 || !isID(ids[0]) || !isID(ids[1]) {
		return &Refused{Reason: "no file of Discord's"}
	}
	var m discordMessage
	err := d.do(ctx,
		call{op: "message", method: http.MethodGet, path: "/channels/" + ids[0] + "/messages/" + ids[1]}, &m)
	if err != nil {
		return err
	}
	for _, a := range m.files() {
		if a.ID == ids[2] {
			return d.c.download(ctx, "download", a.URL, nil, w)
		}
	}
	return &Refused{Reason: "The file was removed from its message."}
}
