package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// TelegramConfig configures a bot registered with @BotFather.
type TelegramConfig struct {
	Token    string
	Commands []Command // offered while typing
	Rich     bool      // complete answers are rich messages, with headings and tables as such
	Options
}

// A Command is a command offered to people.
type Command struct {
	Name  string `json:"command"` // without the slash
	About string `json:"description"`
}

// Telegram uses long polls of the Bot API: a poll confirms the updates of the one before, so nothing is confirmed
// before it is stored.
type Telegram struct {
	cfg    TelegramConfig
	c      *client
	method string // path of methods
	text   *dialect
}

const (
	telegramMax  = 4096 // UTF-16 units
	telegramPoll = 50 * time.Second
)

// NewTelegram returns a channel. It makes no network call.
func NewTelegram(cfg TelegramConfig) (*Telegram, error) {
	if cfg.Token == "" {
		return nil, errors.New("bot_token is missing")
	}
	if strings.ContainsFunc(cfg.Token, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '/' || r == '?' || r == '#' || r == '%'
	}) {
		return nil, errors.New("bot_token isn't a Telegram token")
	}
	c, err := newClient(cfg.Options, "https://api.telegram.org", nil, cfg.Token)
	if err != nil {
		return nil, err
	}
	return &Telegram{cfg: cfg, c: c, method: "/bot" + cfg.Token + "/", text: entitiesText()}, nil
}

// Limits returns the limits of the Bot API and its FAQ.
func (t *Telegram) Limits() Limits {
	return Limits{Max: telegramMax, Count: utf16Len, EditEvery: time.Second, GroupEditEvery: 3 * time.Second,
		MaxFile: 50 << 20, MaxImage: 10 << 20, CanEdit: true, Ends: t.cfg.Rich,
		Chat:  Bucket{1, time.Second},
		Group: Bucket{20, time.Minute}, Bot: Bucket{30, time.Second}, Format: FormatEntities}
}

// telegramReply is the frame of every answer.
type telegramReply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter float64 `json:"retry_after"`
	} `json:"parameters"`
}

// do calls a method. It returns the errors documented for Channel.
func (t *Telegram) do(ctx context.Context, r call, into any) error {
	r.method, r.path = http.MethodPost, t.method+r.op
	var reply telegramReply
	err := t.c.do(ctx, r, &reply)
	if s, ok := errors.AsType[*statusError](err); ok {
		if json.Unmarshal(s.Body, &reply) != nil || reply.Code == 0 {
			reply = telegramReply{Code: s.Status, Description: http.StatusText(s.Status)}
		}
	} else if err != nil {
		return err
	}
	if !reply.OK {
		return t.refused(r.op, reply)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(reply.Result, into); err != nil {
		return t.c.clean(r.op+": reading the answer", err)
	}
	return nil
}

func (t *Telegram) call(ctx context.Context, method string, body map[string]any, into any) error {
	return t.do(ctx, call{op: method, body: body}, into)
}

// refused explains an error response. Only its text distinguishes the cases of status 400.
func (t *Telegram) refused(op string, r telegramReply) error {
	text := t.c.redact(r.Description)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(strings.ToLower(text), p) {
				return true
			}
		}
		return false
	}
	switch {
	case r.Code == 429:
		return &Rate{After: wait(r.Parameters.RetryAfter), Chat: op != "getUpdates" && op != "getMe"}
	case r.Code == 401, r.Code == 404:
		return &Fatal{Cause: BadToken, Reason: "Telegram does not know this bot token.",
			Remedy: "Copy the token from @BotFather again; it changes when it is revoked."}
	case r.Code == 409:
		return &Fatal{Cause: Elsewhere, Reason: "Another program or a webhook uses this bot.",
			Remedy: "Stop the other program, or delete the webhook, or use a bot of its own here.", Retry: time.Minute}
	case r.Code >= 500:
		return &faultError{fmt.Sprintf("%s: status %d", op, r.Code)}
	case has("message is not modified"):
		return nil
	case has("message to edit not found", "message can't be edited", "message_id_invalid"):
		return &Gone{Message: true, Reason: text}
	case r.Code == 403, has("chat not found", "chat was deactivated", "upgraded to a supergroup", "not enough rights",
		"have no rights", "chat_write_forbidden", "peer_id_invalid", "message thread not found", "topic_closed",
		"topic_deleted"):
		return &Gone{Reason: text}
	}
	return &Refused{Reason: op + ": " + text}
}

// Check requests the bot's identity.
func (t *Telegram) Check(ctx context.Context) (Me, error) {
	var u telegramUser
	if err := t.call(ctx, "getMe", nil, &u); err != nil {
		return Me{}, err
	}
	return Me{ID: strconv.FormatInt(u.ID, 10), Name: u.name(), Handle: u.Username}, nil
}

// Run polls for updates until ctx ends.
func (t *Telegram) Run(ctx context.Context, in Inbox) error {
	return again(ctx, t.cfg.Options, in, func(ctx context.Context, up func()) error {
		me, err := t.Check(ctx)
		if err != nil {
			return err
		}
		if len(t.cfg.Commands) > 0 {
			if err := t.call(ctx, "setMyCommands", map[string]any{"commands": t.cfg.Commands}, nil); err != nil {
				return err
			}
		}
		up()
		for {
			if err := t.poll(ctx, in, me); err != nil {
				return err
			}
		}
	})
}

// poll confirms the stored updates and fetches new ones.
func (t *Telegram) poll(ctx context.Context, in Inbox, me Me) error {
	poll := cmp.Or(t.cfg.Beat, telegramPoll)
	body := map[string]any{"timeout": int(poll.Seconds()), "allowed_updates": []string{"message", "message_reaction"}}
	if offset, err := strconv.ParseInt(in.Cursor("offset"), 10, 64); err == nil {
		body["offset"] = offset
	}
	var raw []json.RawMessage
	if err := t.do(ctx, call{op: "getUpdates", body: body, limit: poll + min(callTime, 2*poll)}, &raw); err != nil {
		return err
	}
	var batch []Update
	next := int64(0)
	for _, r := range raw {
		var u telegramUpdate
		err := json.Unmarshal(r, &u)
		if err != nil {
			var id struct {
				ID int64 `json:"update_id"`
			}
			if json.Unmarshal(r, &id) != nil {
				return errors.New("getUpdates: an update without an id")
			}
			u = telegramUpdate{ID: id.ID}
			batch = append(batch, Update{ID: "update:" + strconv.FormatInt(id.ID, 10),
				Problem: "not understood: " + t.c.redact(err.Error())})
		}
		next = max(next, u.ID+1)
		if up, ok := u.Message.update(me); ok {
			batch = append(batch, up)
		}
		if up, ok := u.Reaction.update(u.ID); ok {
			batch = append(batch, up)
		}
	}
	if next == 0 {
		return nil
	}
	return in.Take(ctx, batch, map[string]string{"offset": strconv.FormatInt(next, 10)})
}

// target returns the destination of a message.
func telegramTarget(to Address) map[string]any {
	body := map[string]any{"chat_id": to.Chat}
	if n, err := strconv.ParseInt(to.Chat, 10, 64); err == nil {
		body["chat_id"] = n
	}
	if thread, ok := strings.CutPrefix(to.Topic, "t"); ok {
		if n, err := strconv.ParseInt(thread, 10, 64); err == nil {
			body["message_thread_id"] = n
		}
	}
	return body
}

// replyTo makes a message a reply to another one, if that still exists.
func telegramReplyTo(body map[string]any, message string) {
	if n, err := strconv.ParseInt(message, 10, 64); err == nil {
		body["reply_parameters"] = map[string]any{"message_id": n, "allow_sending_without_reply": true}
	}
}

// write sends or edits text, without formatting if Telegram refuses that.
func (t *Telegram) write(ctx context.Context, method string, body map[string]any, p Post, into any) error {
	body["link_preview_options"] = map[string]any{"is_disabled": true}
	text, entities := p.Text, []entity(nil)
	if !p.Plain {
		text, entities = t.text.render(p.Text)
	}
	if utf16Len(text) > telegramMax {
		text, entities = p.Text, nil
	}
	body["text"] = cmp.Or(text, "…")
	if len(entities) > 0 {
		body["entities"] = entities[:min(len(entities), 100)]
	}
	err := t.call(ctx, method, body, into)
	r, ok := errors.AsType[*Refused](err)
	if ok && len(entities) > 0 && strings.Contains(strings.ToLower(r.Reason), "entit") {
		delete(body, "entities")
		err = t.call(ctx, method, body, into)
	}
	return err
}

// Send posts a message.
func (t *Telegram) Send(ctx context.Context, to Address, p Post) (Ref, error) {
	body := telegramTarget(to)
	telegramReplyTo(body, p.ReplyTo)
	var m telegramMessage
	if err := t.write(ctx, "sendMessage", body, p, &m); err != nil {
		return Ref{}, err
	}
	return Ref{to, strconv.FormatInt(m.ID, 10)}, nil
}

// Edit replaces a message.
func (t *Telegram) Edit(ctx context.Context, at Ref, p Post) error {
	id, err := strconv.ParseInt(at.Message, 10, 64)
	if err != nil {
		return &Gone{Message: true, Reason: "no message of Telegram's: " + at.Message}
	}
	body := telegramTarget(at.Address)
	delete(body, "message_thread_id")
	body["message_id"] = id
	if t.cfg.Rich && p.Final && !p.Plain {
		err := t.writeRich(ctx, body, p.Text)
		if _, refused := errors.AsType[*Refused](err); !refused {
			return err
		}
	}
	return t.write(ctx, "editMessageText", body, p, nil)
}

// Typing shows "typing" for five seconds.
func (t *Telegram) Typing(ctx context.Context, to Address) error {
	body := telegramTarget(to)
	body["action"] = "typing"
	return t.call(ctx, "sendChatAction", body, nil)
}

// Fetch downloads a file. The address holds the token, so it goes nowhere else.
func (t *Telegram) Fetch(ctx context.Context, f FileRef, w io.Writer) error {
	var file struct {
		Path string `json:"file_path"`
	}
	if err := t.call(ctx, "getFile", map[string]any{"file_id": f.ID}, &file); err != nil {
		return err
	}
	if file.Path == "" {
		return &Refused{Reason: "Telegram does not hand out this file; bots get files of at most 20 MB."}
	}
	return t.c.download(ctx, "download", t.c.base+"/file"+t.method+file.Path, nil, w)
}

// utf16Cut splits text into the part that an entity covers and the parts before and after it.
func utf16Cut(text string, offset, length int) (before, part, after string, ok bool) {
	u := utf16.Encode([]rune(text))
	if offset < 0 || length < 0 || offset > len(u) || length > len(u)-offset {
		return "", "", "", false
	}
	s := func(u []uint16) string { return string(utf16.Decode(u)) }
	return s(u[:offset]), s(u[offset : offset+length]), s(u[offset+length:]), true
}
