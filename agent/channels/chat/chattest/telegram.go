package chattest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// TelegramToken is the token of Telegram's bot.
const TelegramToken = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"

const telegramBot = 110201543

// Telegram is a server of the Bot API.
type Telegram struct {
	state   State
	updates []telegramQueued
	all     []telegramQueued
	files   map[string]Sent
	cut     int

	commands string
	hook     string // address of a webhook
	alone    bool   // groups are switched off
}

// SetWebhook sets the webhook's address, as another program might.
func (f *Telegram) SetWebhook(address string) { f.state.do(func() { f.hook = address }) }

// KeepFromGroups switches groups off for the bot.
func (f *Telegram) KeepFromGroups() { f.state.do(func() { f.alone = true }) }

type telegramQueued struct {
	id   int
	text string
	body map[string]any
}

// NewTelegram starts a stand-in for Telegram.
func NewTelegram(t testing.TB) *Telegram {
	f := &Telegram{files: map[string]Sent{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/bot"+TelegramToken+"/{method}", f.method)
	mux.HandleFunc("GET /file/bot"+TelegramToken+"/{path...}", f.file)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bot") {
			telegramFail(w, 401, "Unauthorized", 0)
			return
		}
		telegramFail(w, 404, "Not Found", 0)
	})
	f.state.rules = newRules("telegram")
	f.state.path = func(r *http.Request) (string, bool) {
		return strings.CutPrefix(r.URL.Path, "/bot"+TelegramToken)
	}
	f.state.refuse = func(w http.ResponseWriter, _ *http.Request, wrong string) {
		telegramFail(w, 400, "Bad Request: "+wrong, 0)
	}
	f.state.serve(t, TelegramToken, mux)
	return f
}

// State returns the common part.
func (f *Telegram) State() *State { return &f.state }

// Chat returns the person's own id.
func (f *Telegram) Chat(person string) string { return person }

// Commands returns the bot's registered commands as JSON.
func (f *Telegram) Commands() string {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	return f.commands
}

// Cut ends the polls that wait.
func (f *Telegram) Cut() { f.state.do(func() { f.cut++ }) }

// Repeat queues all updates again, as they were.
func (f *Telegram) Repeat() {
	f.state.do(func() { f.updates = append([]telegramQueued(nil), f.all...) })
}

// Say queues an update.
func (f *Telegram) Say(m Said) {
	f.state.do(func() {
		id, n := f.state.id(), f.state.id()
		from, _ := strconv.Atoi(m.From)
		if m.Self {
			from, m.Bot = telegramBot, true
		}
		where := map[string]any{"id": from, "type": "private"}
		if m.Group {
			number, _ := strconv.Atoi(m.Chat)
			where = map[string]any{"id": number, "type": "supergroup", "title": "A group"}
		}
		msg := map[string]any{"message_id": n, "date": time.Now().Unix(), "chat": where,
			"from": map[string]any{"id": from, "is_bot": m.Bot, "first_name": m.Name}}
		text := m.Text
		if m.Mention {
			text = "@FawnBot " + text
			msg["entities"] = []any{map[string]any{"type": "mention", "offset": 0, "length": 8}}
		}
		if m.File == nil {
			msg["text"] = text
		} else {
			file := fmt.Sprintf("file%d", n)
			f.files[file] = *m.File
			msg["caption"] = text
			msg["document"] = map[string]any{"file_id": file, "file_unique_id": "u" + file, "file_name": m.File.Name, "file_size": len(m.File.Data)}
		}
		if m.ReplyTo != "" {
			to, _ := strconv.Atoi(m.ReplyTo)
			author := map[string]any{"id": 1, "is_bot": false, "first_name": "A"}
			if f.state.find(strconv.Itoa(where["id"].(int)), m.ReplyTo) != nil {
				author = map[string]any{"id": telegramBot, "is_bot": true, "first_name": "Fawn"}
			}
			msg["reply_to_message"] = map[string]any{"message_id": to, "from": author, "chat": where, "date": 1}
		}
		if m.Topic != "" {
			msg["message_thread_id"], _ = strconv.Atoi(m.Topic)
			msg["is_topic_message"] = true
		}
		m.over(msg)
		body := map[string]any{"update_id": id, "message": msg}
		if m.Broken {
			msg["message_id"] = "not a number"
		} else {
			f.state.own("EVENT", "Update", body)
		}
		q := telegramQueued{id, m.Text, body}
		f.updates, f.all = append(f.updates, q), append(f.all, q)
	})
}

// React queues a change of a person's reactions to a message.
func (f *Telegram) React(where, person, message, emoji string) {
	f.state.do(func() {
		at, _ := strconv.Atoi(where)
		from, _ := strconv.Atoi(person)
		of, _ := strconv.Atoi(message)
		id := f.state.id()
		body := map[string]any{"update_id": id, "message_reaction": map[string]any{
			"chat": map[string]any{"id": at, "type": "private"}, "message_id": of, "date": time.Now().Unix(),
			"user":         map[string]any{"id": from, "is_bot": false, "first_name": "Ada"},
			"old_reaction": []any{}, "new_reaction": []any{map[string]any{"type": "emoji", "emoji": emoji}}}}
		f.state.own("EVENT", "Update", body)
		q := telegramQueued{id, emoji, body}
		f.updates, f.all = append(f.updates, q), append(f.all, q)
	})
}

func telegramFail(w http.ResponseWriter, code int, text string, after int) {
	body := map[string]any{"ok": false, "error_code": code, "description": text}
	if after > 0 {
		body["parameters"] = map[string]any{"retry_after": after}
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func (f *Telegram) method(w http.ResponseWriter, r *http.Request) {
	method := r.PathValue("method")
	op := map[string]string{"getMe": "check", "getUpdates": "poll", "sendMessage": "send", "editMessageText": "edit",
		"sendDocument": "upload", "sendPhoto": "upload", "editMessageMedia": "attach", "sendChatAction": "typing",
		"getFile": "file", "setMyCommands": "commands"}[method]
	fault := f.state.fault(op)
	slow(r.Context(), fault)
	switch fault.Kind {
	case Rate:
		telegramFail(w, 429, "Too Many Requests: retry after 2", int(fault.After/time.Second))
		return
	case Broken:
		http.Error(w, "<html>502</html>", http.StatusBadGateway)
		return
	case ChatGone:
		telegramFail(w, 403, "Forbidden: bot was blocked by the user", 0)
		return
	case MessageGone:
		telegramFail(w, 400, "Bad Request: message to edit not found", 0)
		return
	case Unknown:
		telegramFail(w, 401, "Unauthorized", 0)
		return
	case Elsewhere:
		telegramFail(w, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", 0)
		return
	}
	result, failure := f.act(r, method, fault)
	switch {
	case fault.Kind == Lost, failure == "cut":
		drop(w)
	case failure != "":
		telegramFail(w, 400, "Bad Request: "+failure, 0)
	default:
		if method != "getUpdates" { // updates were checked when they were created
			f.state.own("POST", "/"+method, result)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
	}
}

// telegramCall holds the arguments of all methods.
type telegramCall struct {
	ChatID   int `json:"chat_id"`
	ID       int `json:"message_id"`
	Thread   int `json:"message_thread_id"`
	Text     string
	Entities []struct {
		Type           string
		Offset, Length int
		URL            string
	}
	Reply struct {
		ID      int  `json:"message_id"`
		Without bool `json:"allow_sending_without_reply"`
	} `json:"reply_parameters"`
	Preview struct {
		Disabled bool `json:"is_disabled"`
	} `json:"link_preview_options"`
	Offset   int
	Timeout  int
	FileID   string `json:"file_id"`
	Commands json.RawMessage
	Media    struct{ Type, Media string }
	Rich     *struct {
		HTML string
		Skip bool `json:"skip_entity_detection"`
	} `json:"rich_message"`
	file *Sent
}

func (f *Telegram) read(r *http.Request) (c telegramCall) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil && err != io.EOF {
			f.state.errorf("body: %v", err)
		}
		return c
	}
	if r.ContentLength < 0 {
		f.state.errorf("an upload of unknown length")
	}
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		f.state.errorf("form: %v", err)
		return c
	}
	c.ChatID, _ = strconv.Atoi(r.FormValue("chat_id"))
	c.ID, _ = strconv.Atoi(r.FormValue("message_id"))
	if media := r.FormValue("media"); media != "" {
		if err := json.Unmarshal([]byte(media), &c.Media); err != nil {
			f.state.errorf("media: %v", err)
		}
	}
	c.Thread, _ = strconv.Atoi(r.FormValue("message_thread_id"))
	if reply := r.FormValue("reply_parameters"); reply != "" {
		if err := json.Unmarshal([]byte(reply), &c.Reply); err != nil {
			f.state.errorf("reply_parameters: %v", err)
		}
	}
	for _, headers := range r.MultipartForm.File {
		file, err := headers[0].Open()
		if err != nil {
			f.state.errorf("file: %v", err)
			return c
		}
		data, _ := io.ReadAll(file)
		_ = file.Close()
		c.file = &Sent{headers[0].Filename, data}
	}
	return c
}

func (f *Telegram) act(r *http.Request, method string, fault Fault) (result any, failure string) {
	c := f.read(r)
	if method == "getUpdates" {
		if found, cut := f.poll(r.Context(), c); !cut {
			return found, ""
		}
		return nil, "cut"
	}
	if c.Rich != nil {
		if failure := f.checkRich(method, &c, fault); failure != "" {
			return nil, failure
		}
	} else if method == "sendMessage" || method == "editMessageText" {
		if failure := f.checkText(c, fault); failure != "" {
			return nil, failure
		}
	}
	f.state.do(func() { result, failure = f.change(method, c) })
	return result, failure
}

func (f *Telegram) change(method string, c telegramCall) (any, string) {
	s := &f.state
	where := strconv.Itoa(c.ChatID)
	switch method {
	case "getMe":
		return map[string]any{"id": telegramBot, "is_bot": true, "first_name": "Fawn", "username": "FawnBot",
			"can_join_groups": !f.alone, "can_read_all_group_messages": false}, ""
	case "getWebhookInfo":
		return map[string]any{"url": f.hook, "has_custom_certificate": false, "pending_update_count": 0}, ""
	case "sendMessage", "sendDocument", "sendPhoto":
		m := &Shown{ID: strconv.Itoa(s.id()), Text: c.Text, File: c.file, Rich: len(c.Entities) > 0}
		if c.Reply.ID != 0 {
			m.ReplyTo = strconv.Itoa(c.Reply.ID)
		}
		if c.Thread != 0 {
			m.Topic = strconv.Itoa(c.Thread)
		}
		s.shown[where] = append(s.shown[where], m)
		id, _ := strconv.Atoi(m.ID)
		return map[string]any{"message_id": id, "date": 1,
			"chat": map[string]any{"id": c.ChatID, "type": "private"}}, ""
	case "editMessageText":
		m := s.find(where, strconv.Itoa(c.ID))
		if m == nil {
			return nil, "message to edit not found"
		}
		rich, page := len(c.Entities) > 0, ""
		if c.Rich != nil {
			rich, page = true, c.Rich.HTML
		}
		if m.Text == c.Text && m.Rich == rich && m.HTML == page {
			return nil, "message is not modified: specified new message content and reply markup are exactly the same"
		}
		m.Text, m.Rich, m.HTML = c.Text, rich, page
		m.Edits++
		return true, ""
	case "editMessageMedia":
		m := s.find(where, strconv.Itoa(c.ID))
		if m == nil {
			return nil, "message to edit not found"
		}
		if c.file == nil || c.Media.Media != "attach://file" || c.Media.Type != "document" && c.Media.Type != "photo" {
			s.errorf("media of %+v", c.Media)
			return nil, "can't parse InputMedia"
		}
		m.Text, m.File = "", c.file
		m.Edits++
		return true, ""
	case "getFile":
		if _, ok := f.files[c.FileID]; !ok {
			return nil, "wrong file_id or the file is temporarily unavailable"
		}
		return map[string]any{"file_id": c.FileID, "file_unique_id": "u" + c.FileID, "file_path": "documents/" + c.FileID}, ""
	case "setMyCommands":
		f.commands = string(c.Commands)
	case "sendChatAction":
	default:
		return nil, "method not found"
	}
	return true, ""
}

// checkText finds content that the Bot API refuses or would change.
func (f *Telegram) checkText(c telegramCall, fault Fault) string {
	units := utf16.Encode([]rune(c.Text))
	if wrong := telegramEntities(c, units); wrong != "" {
		f.state.errorf("%s in %q", wrong, c.Text)
		return "can't parse entities"
	}
	switch {
	case strings.TrimSpace(c.Text) == "":
		return "message text is empty"
	case len(units) > 4096:
		f.state.errorf("a message of %d units", len(units))
		return "message is too long"
	case fault.Kind == Unformatted && len(c.Entities) > 0:
		return "can't parse entities: unsupported type"
	case !c.Preview.Disabled:
		f.state.errorf("a link would be unfurled")
	case c.Reply.ID != 0 && !c.Reply.Without:
		f.state.errorf("a reply that fails with the message it answers")
	case len(c.Entities) > 100:
		f.state.errorf("%d entities", len(c.Entities))
	}
	return ""
}

// telegramEntities reports entities that are outside of the text, cut a character, overlap another, or are where the Bot
// API allows none.
func telegramEntities(c telegramCall, units []uint16) string {
	low := func(at int) bool { return at < len(units) && units[at] >= 0xdc00 && units[at] < 0xe000 }
	for i, e := range c.Entities {
		end := e.Offset + e.Length
		switch {
		case e.Offset < 0 || e.Length <= 0 || end > len(units):
			return fmt.Sprintf("entity %+v outside", e)
		case low(e.Offset) || low(end):
			return fmt.Sprintf("entity %+v that cuts a character", e)
		case e.Type == "text_link" && e.URL == "":
			return fmt.Sprintf("entity %+v without an address", e)
		}
		for _, o := range c.Entities[:i] {
			last := o.Offset + o.Length
			code := o.Type == "pre" || o.Type == "code" || e.Type == "pre" || e.Type == "code"
			switch {
			case e.Offset >= last || end <= o.Offset:
			case e.Offset < o.Offset && end > o.Offset && end < last, e.Offset > o.Offset && e.Offset < last && end > last:
				return fmt.Sprintf("entities %+v and %+v that overlap", o, e)
			case code, e.Type == "blockquote" && o.Type == "blockquote":
				return fmt.Sprintf("entities %+v and %+v inside each other", o, e)
			}
		}
	}
	return ""
}

// poll waits for updates from the offset on and confirms earlier ones.
func (f *Telegram) poll(ctx context.Context, c telegramCall) (found []any, broken bool) {
	s := &f.state
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.Timeout)*time.Second)
	defer cancel()
	cut := 0
	s.do(func() {
		cut = f.cut

		kept := f.updates[:0:0]
		for _, q := range f.updates {
			if q.id < c.Offset {
				s.confirmed[q.text] = true
			} else {
				kept = append(kept, q)
			}
		}
		f.updates = kept
	})
	found = []any{}
	s.wait(ctx, func() bool {
		found = found[:0]
		for _, q := range f.updates {
			found = append(found, q.body)
		}
		return len(found) > 0 || f.cut != cut
	})
	return found, len(found) == 0 && ctx.Err() == nil
}

func (f *Telegram) file(w http.ResponseWriter, r *http.Request) {
	f.state.mu.Lock()
	sent, ok := f.files[strings.TrimPrefix(r.PathValue("path"), "documents/")]
	f.state.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = io.Copy(w, bytes.NewReader(sent.Data))
}
