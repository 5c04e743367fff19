package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// SlackConfig is an app with Socket Mode.
type SlackConfig struct {
	BotToken string // xoxb-
	AppToken string // xapp-, of the whole app, with connections:write
	Options
}

// Slack uses Socket Mode: envelopes are redelivered until they are acknowledged, after they are stored.
type Slack struct {
	cfg  SlackConfig
	c    *client
	text *dialect

	mu  sync.Mutex
	who slackIdentity // guarded by mu
}

type slackIdentity struct {
	User   string `json:"user_id"`
	Name   string `json:"user"`
	Bot    string `json:"bot_id"`
	Team   string `json:"team_id"`
	Called string `json:"team"`
}

// slackMax is below the 4,000 characters that Slack recommends: marks take some.
const slackMax = 3900

// NewSlack returns a channel. It makes no network call.
func NewSlack(cfg SlackConfig) (*Slack, error) {
	switch {
	case cfg.BotToken == "":
		return nil, errors.New("bot_token is missing")
	case cfg.AppToken == "":
		return nil, errors.New("app_token is missing")
	case strings.HasPrefix(cfg.BotToken, "xapp-") || strings.HasPrefix(cfg.AppToken, "xoxb-"):
		return nil, errors.New("bot_token and app_token are the wrong way round: the bot's begins with xoxb-, the app's with xapp-")
	}
	c, err := newClient(cfg.Options, "https://slack.com/api", []string{"files.slack.com", ".slack-edge.com"},
		cfg.BotToken, cfg.AppToken)
	if err != nil {
		return nil, err
	}
	return &Slack{cfg: cfg, c: c, text: slackText()}, nil
}

// Limits returns the limits documented on Slack's pages about rate limits and messages.
func (s *Slack) Limits() Limits {
	return Limits{Max: slackMax, Count: s.text.count(utf16Size), EditEvery: 1200 * time.Millisecond,
		GroupEditEvery: 1200 * time.Millisecond, MaxFile: 1 << 30, MaxImage: 1 << 30, CanEdit: true,
		Chat: Bucket{1, time.Second}, Group: Bucket{1, time.Second}, Bot: Bucket{50, time.Minute},
		Format: FormatMarkdown}
}

const slackForm = "application/x-www-form-urlencoded"

// slackReply contains the fields common to all responses.
type slackReply struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Needed string `json:"needed"`
}

// json calls a method that takes JSON: methods that write messages with lists and objects.
func (s *Slack) json(ctx context.Context, method string, body map[string]any, into any) error {
	return s.do(ctx, call{op: method, body: body, header: bearer(s.cfg.BotToken)}, into)
}

// form calls any other method. Slack reads JSON for some of them and answers invalid_arguments for the rest, a form it
// reads for all.
func (s *Slack) form(ctx context.Context, method string, values url.Values, into any) error {
	raw := values.Encode()
	return s.do(ctx, call{op: method, raw: strings.NewReader(raw), size: int64(len(raw)),
		kind: slackForm, header: bearer(s.cfg.BotToken)}, into)
}

// get calls a method that only reads, with its arguments in the address.
func (s *Slack) get(ctx context.Context, address string, into any) error {
	method, _, _ := strings.Cut(address, "?")
	return s.do(ctx, call{op: method, method: http.MethodGet, path: "/" + address, header: bearer(s.cfg.BotToken)}, into)
}

// do calls a method. It returns the errors documented for Channel.
func (s *Slack) do(ctx context.Context, r call, into any) error {
	r.method, r.path = cmp.Or(r.method, http.MethodPost), cmp.Or(r.path, "/"+r.op)
	var raw json.RawMessage
	if err := s.c.do(ctx, r, &raw); err != nil {
		if rate := rateOf(err); rate != nil {
			rate.Chat = strings.HasPrefix(r.op, "chat.")
			return rate
		}
		return err
	}
	var reply slackReply
	if err := json.Unmarshal(raw, &reply); err != nil {
		return s.c.clean(r.op+": reading the answer", err)
	}
	if !reply.OK {
		return s.refused(r.op, reply)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return s.c.clean(r.op+": reading the answer", err)
	}
	return nil
}

func (s *Slack) refused(op string, r slackReply) error {
	text := op + ": " + s.c.redact(r.Error)
	token, field := "bot token (xoxb-…)", "bot_token"
	if strings.HasPrefix(op, "apps.") {
		token, field = "app-level token (xapp-…)", "app_token"
	}
	switch r.Error {
	case "ratelimited", "rate_limited":
		return &Rate{Chat: strings.HasPrefix(op, "chat.")}
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "not_allowed_token_type",
		"no_permission":
		return &Fatal{Cause: BadToken, Need: field,
			Reason: "Slack does not accept the " + token + ": " + r.Error + ".",
			Remedy: "Install the app to the workspace again and copy the token."}
	case "missing_scope":
		return &Fatal{Cause: NoPermission, Need: s.c.redact(r.Needed),
			Reason: "The Slack app lacks the permission " + s.c.redact(r.Needed) + ".",
			Remedy: "Add it under OAuth & Permissions, then install the app to the workspace again."}
	case "message_not_found", "cant_update_message", "edit_window_closed":
		return &Gone{Message: true, Reason: text}
	case "channel_not_found", "is_archived", "not_in_channel", "restricted_action", "cannot_dm_bot", "user_disabled",
		"thread_not_found", "restricted_action_read_only_channel", "team_access_not_granted", "messages_tab_disabled":
		return &Gone{Reason: text}
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "":
		return &faultError{text}
	}
	return &Refused{Reason: text}
}

// Check checks both tokens.
func (s *Slack) Check(ctx context.Context) (Me, error) {
	who, err := s.identify(ctx)
	if err != nil {
		return Me{}, err
	}
	if _, err := s.address(ctx); err != nil {
		return Me{}, err
	}
	return Me{ID: who.User, Name: who.Name, Handle: who.Name}, nil
}

func (s *Slack) identify(ctx context.Context) (slackIdentity, error) {
	var who slackIdentity
	if err := s.form(ctx, "auth.test", nil, &who); err != nil {
		return who, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.who = who
	return who, nil
}

// address requests a socket's address, which is a secret.
func (s *Slack) address(ctx context.Context) (string, error) {
	var at struct {
		URL string `json:"url"`
	}
	err := s.do(ctx, call{op: "apps.connections.open", kind: slackForm, header: bearer(s.cfg.AppToken)}, &at)
	return at.URL, err
}

// Run reads envelopes.
func (s *Slack) Run(ctx context.Context, in Inbox) error {
	return again(ctx, s.cfg.Options, in, func(ctx context.Context, up func()) error { return s.session(ctx, in, up) })
}

// session lasts until a socket breaks. Slack recycles sockets and announces it: then the next one is opened first, and
// the old one is read until it ends.
func (s *Slack) session(ctx context.Context, in Inbox, up func()) error {
	if _, err := s.identify(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var old sync.WaitGroup
	defer old.Wait()
	defer cancel()
	for {
		sock, err := s.connect(ctx)
		if err != nil {
			return err
		}
		up()
		if err := s.read(ctx, sock, in); !errors.Is(err, errRecycled) {
			sock.close(0)
			return err
		}
		old.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			for errors.Is(s.read(ctx, sock, in), errRecycled) {
			}
			sock.close(websocket.StatusNormalClosure)
		})
	}
}

func (s *Slack) connect(ctx context.Context) (*socket, error) {
	address, err := s.address(ctx)
	if err != nil {
		return nil, err
	}
	sock, err := s.c.dial(ctx, "Slack's socket", address, nil)
	if err != nil {
		return nil, err
	}
	sock.keep(ctx, cmp.Or(s.cfg.Beat, 30*time.Second))
	return sock, nil
}

// errRecycled means that Slack will soon close the socket.
var errRecycled = errors.New("the socket is being recycled")

type slackEnvelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Reason  string          `json:"reason"`
	Payload json.RawMessage `json:"payload"`
}

// read stores the events of a socket and then acknowledges them.
func (s *Slack) read(ctx context.Context, sock *socket, in Inbox) error {
	for {
		frames, err := sock.batch(ctx)
		if err != nil {
			return err
		}
		var batch []Update
		var taken []string
		var end error
		for i, data := range frames {
			var e slackEnvelope
			if json.Unmarshal(data, &e) != nil {
				continue // nothing to acknowledge
			}
			if e.Type == "disconnect" {
				end, sock.rest = slackEnd(e), frames[i+1:]
				break
			}
			if e.ID == "" {
				continue
			}
			if u, ok := s.update(e); ok {
				batch = append(batch, u)
			}
			taken = append(taken, e.ID)
		}
		if len(batch) > 0 {
			if err := in.Take(ctx, batch, nil); err != nil {
				return err
			}
		}
		for _, id := range taken {
			if err := sock.writeJSON(ctx, map[string]string{"envelope_id": id}); err != nil {
				return err
			}
		}
		if end != nil {
			return end
		}
	}
}

// slackEnd returns the reason why Slack ends a socket.
func slackEnd(e slackEnvelope) error {
	if e.Reason == "link_disabled" {
		return &Fatal{Cause: SwitchedOff, Reason: "Socket Mode is switched off for the Slack app.",
			Remedy: "Switch it on in the settings of the app."}
	}
	return errRecycled
}

// Send posts a message. The topic of a channel is its thread.
func (s *Slack) Send(ctx context.Context, to Address, p Post) (Ref, error) {
	body := s.body(to, p)
	body["unfurl_links"], body["unfurl_media"] = false, false
	if to.Topic != "" {
		body["thread_ts"] = to.Topic
	}
	var m struct {
		TS string `json:"ts"`
	}
	if err := s.write(ctx, "chat.postMessage", body, &m); err != nil {
		return Ref{}, err
	}
	return Ref{to, m.TS}, nil
}

// Edit replaces a message.
func (s *Slack) Edit(ctx context.Context, at Ref, p Post) error {
	body := s.body(at.Address, p)
	body["ts"] = at.Message
	if body["blocks"] == nil {
		body["blocks"] = []any{} // an update without blocks keeps the old ones
	}
	return s.write(ctx, "chat.update", body, nil)
}

// write sends a message, without its layout if Slack refuses that.
func (s *Slack) write(ctx context.Context, method string, body map[string]any, into any) error {
	err := s.json(ctx, method, body, into)
	r, refused := errors.AsType[*Refused](err)
	if laid, _ := body["blocks"].([]slackObject); refused && len(laid) > 0 &&
		(strings.Contains(r.Reason, "block") || strings.Contains(r.Reason, "table")) {
		delete(body, "blocks")
		if method == "chat.update" {
			body["blocks"] = []any{}
		}
		err = s.json(ctx, method, body, into)
	}
	return err
}

func (s *Slack) body(to Address, p Post) map[string]any {
	text := s.text.plain(p.Text)
	if !p.Plain {
		text, _ = s.text.render(p.Text)
	}
	body := map[string]any{"channel": to.Chat, "text": cmp.Or(text, "…"), "mrkdwn": !p.Plain, "parse": "none",
		"link_names": false}
	if !p.Plain {
		if blocks := slackBlocks(p.Text); blocks != nil {
			body["blocks"] = blocks
		}
	}
	return body
}

// Typing adds a reaction to the thread's first message. In private chats Slack has none for bots.
func (s *Slack) Typing(ctx context.Context, to Address) error {
	if to.Topic == "" {
		return nil
	}
	values := url.Values{"channel": {to.Chat}, "timestamp": {to.Topic}, "name": {"eyes"}}
	err := s.form(ctx, "reactions.add", values, nil)
	if _, ok := errors.AsType[*Rate](err); ok {
		return err
	}
	return nil // it exists already, or the app lacks the permission: the answer comes anyway
}
