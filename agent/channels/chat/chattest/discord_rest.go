package chattest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

func discordFail(w http.ResponseWriter, status, code int, text string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "message": text})
}

func (f *Discord) handle(w http.ResponseWriter, r *http.Request, op string) {
	if r.Header.Get("Authorization") != "Bot "+DiscordToken {
		discordFail(w, http.StatusUnauthorized, 0, "401: Unauthorized")
		return
	}
	body := f.read(r)
	if body.file != nil {
		op = "upload"
	}
	fault := f.state.fault(op)
	slow(r.Context(), fault)
	switch fault.Kind {
	case Rate:
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(map[string]any{"message": "You are being rate limited.",
			"retry_after": fault.After.Seconds(), "global": false})
		return
	case Broken:
		http.Error(w, "upstream connect error", http.StatusServiceUnavailable)
		return
	case ChatGone:
		discordFail(w, http.StatusForbidden, 50001, "Missing Access")
		return
	case MessageGone:
		discordFail(w, http.StatusNotFound, 10008, "Unknown Message")
		return
	case Unknown:
		discordFail(w, http.StatusUnauthorized, 0, "401: Unauthorized")
		return
	}
	var result any
	var status, code int
	f.state.do(func() { result, status, code = f.act(op, r, body) })
	switch {
	case fault.Kind == Lost:
		drop(w)
	case code != 0:
		discordFail(w, status, code, "refused")
	case op == "typing":
		w.WriteHeader(http.StatusNoContent)
	default:
		f.state.own(r.Method, r.URL.Path, result)
		if op == "thread" {
			w.WriteHeader(http.StatusCreated)
		}
		_ = json.NewEncoder(w).Encode(result)
	}
}

// DiscordUser describes an account.
func DiscordUser(id, name string, bot bool) map[string]any {
	return map[string]any{"id": id, "username": strings.ToLower(name), "global_name": name, "bot": bot, "avatar": nil,
		"discriminator": "0", "public_flags": 0, "flags": 0, "primary_guild": nil}
}

func discordSelf() map[string]any { return DiscordUser(discordBot, "Fawn", true) }

// DiscordMessage describes a message with nothing but words.
func DiscordMessage(id, channel string, author map[string]any, content string) map[string]any {
	return map[string]any{"id": id, "type": 0, "channel_id": channel, "author": author, "content": content,
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000-07:00"), "edited_timestamp": nil,
		"mentions": []any{}, "mention_roles": []any{}, "attachments": []any{}, "embeds": []any{}, "components": []any{},
		"flags": 0, "pinned": false, "mention_everyone": false, "tts": false}
}

func discordPrivate(id string) map[string]any {
	return map[string]any{"id": id, "type": 1, "flags": 0, "recipients": []any{}}
}

func discordChannel(id string) map[string]any {
	return map[string]any{"id": id, "type": 0, "flags": 0, "guild_id": "1", "name": "general", "position": 0}
}

func discordThread(id, parent string) map[string]any {
	return map[string]any{"id": id, "type": 11, "flags": 0, "guild_id": "1", "name": "a thread", "parent_id": parent,
		"owner_id": discordBot, "message_count": 0, "member_count": 1, "total_message_sent": 0,
		"thread_metadata": map[string]any{"archived": false, "archive_timestamp": "2026-01-01T00:00:00.000000+00:00",
			"auto_archive_duration": 1440, "locked": false}}
}

type discordCall struct {
	Content   string
	Flags     int
	Nonce     string
	Enforce   bool `json:"enforce_nonce"`
	Reference struct {
		ID   string `json:"message_id"`
		Fail *bool  `json:"fail_if_not_exists"`
	} `json:"message_reference"`
	Allowed *struct{ Parse []string } `json:"allowed_mentions"`
	file    *Sent
}

func (f *Discord) read(r *http.Request) (c discordCall) {
	raw, err := io.ReadAll(r.Body)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		r.Body = io.NopCloser(strings.NewReader(string(raw)))
		if err := r.ParseMultipartForm(64 << 20); err != nil {
			f.state.errorf("form: %v", err)
			return c
		}
		raw = []byte(r.FormValue("payload_json"))
		file, head, err := r.FormFile("files[0]")
		if err != nil {
			f.state.errorf("file: %v", err)
			return c
		}
		data, _ := io.ReadAll(file)
		_ = file.Close()
		c.file = &Sent{head.Filename, data}
	}
	if err == nil && len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			f.state.errorf("body: %v", err)
		}
	}
	return c
}

func (f *Discord) act(op string, r *http.Request, c discordCall) (result any, status, code int) {
	s := &f.state
	channel, message := r.PathValue("channel"), r.PathValue("message")
	switch op {
	case "check":
		me := discordSelf()
		me["mfa_enabled"], me["locale"] = false, "en-US"
		return me, 0, 0
	case "app":
		flags := 1 << 19 // the message content intent of a bot in few servers
		if f.blind {
			flags = 0
		}
		return map[string]any{"id": discordBot, "name": "Fawn", "icon": nil, "description": "", "type": nil,
			"verify_key": "k", "flags": flags, "flags_new": strconv.Itoa(flags), "redirect_uris": []any{},
			"interactions_endpoint_url": nil, "role_connections_verification_url": nil,
			"owner": DiscordUser("1", "Ada", false), "approximate_guild_count": 1,
			"approximate_user_install_count": 0, "approximate_user_authorization_count": 0,
			"explicit_content_filter": 0, "team": nil, "eligible_oauth2_scopes": []any{}}, 0, 0
	case "connect":
		remaining := 999
		if f.spent {
			remaining = 0
		}
		return map[string]any{"url": "ws" + strings.TrimPrefix(s.URL, "http"), "shards": 1,
			"session_start_limit": map[string]any{"total": 1000, "remaining": remaining, "reset_after": 14400000, "max_concurrency": 1}}, 0, 0
	case "thread":
		if f.places[message] != nil {
			return nil, http.StatusBadRequest, 160004
		}
		f.places[message] = discordThread(message, channel)
		return f.places[message], 0, 0
	}
	if f.places[channel] == nil {
		return nil, http.StatusNotFound, 10003
	}
	switch op {
	case "place":
		return f.places[channel], 0, 0
	case "typing":
		return map[string]any{}, 0, 0
	case "history":
		after, _ := strconv.Atoi(r.URL.Query().Get("after"))
		page := []any{}
		for _, m := range f.history[channel] {
			if id, _ := strconv.Atoi(m["id"].(string)); id > after && len(page) < 100 {
				page = append([]any{m}, page...)
			}
		}
		return page, 0, 0
	case "file":
		for _, m := range f.history[channel] {
			if m["id"] == message {
				return m, 0, 0
			}
		}
		return nil, http.StatusNotFound, 10008
	case "send", "upload":
		return f.post(channel, c)
	}
	m := s.find(channel, message)
	if m == nil {
		return nil, http.StatusNotFound, 10008
	}
	if !f.check(c) {
		return nil, http.StatusBadRequest, 50035
	}
	m.Text = c.Content
	m.Edits++
	return DiscordMessage(m.ID, channel, discordSelf(), m.Text), 0, 0
}

func (f *Discord) post(channel string, c discordCall) (any, int, int) {
	s := &f.state
	if !f.check(c) {
		return nil, http.StatusBadRequest, 50035
	}
	if id := f.nonces[c.Nonce]; c.Nonce != "" && c.Enforce && id != "" {
		return DiscordMessage(id, channel, discordSelf(), c.Content), 0, 0
	}
	if c.Reference.ID != "" && (c.Reference.Fail == nil || *c.Reference.Fail) {
		s.errorf("a reply that fails with the message it answers")
	}
	m := &Shown{ID: strconv.Itoa(1000000 + s.id()), Text: c.Content, ReplyTo: c.Reference.ID, File: c.file}
	s.shown[channel] = append(s.shown[channel], m)
	if c.Nonce != "" {
		f.nonces[c.Nonce] = m.ID
	}
	return DiscordMessage(m.ID, channel, discordSelf(), m.Text), 0, 0
}

// check finds content that Discord refuses, and pings.
func (f *Discord) check(c discordCall) bool {
	switch n := len(utf16.Encode([]rune(c.Content))); {
	case n > 2000:
		f.state.errorf("a message of %d characters", n)
		return false
	case n == 0 && c.file == nil:
		return false
	case len(c.Nonce) > 25:
		f.state.errorf("a nonce of %d characters", len(c.Nonce))
		return false
	case c.Allowed == nil || c.Allowed.Parse == nil || len(c.Allowed.Parse) > 0:
		f.state.errorf("mentions would ping")
	case c.file == nil && c.Flags&4 == 0:
		f.state.errorf("links would be unfurled")
	}
	return true
}

func (f *Discord) file(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		f.state.errorf("the token went to the file server")
	}
	f.state.mu.Lock()
	file := f.files[r.PathValue("id")]
	f.state.mu.Unlock()
	if file == nil {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(file.Data)
}
