package chattest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// The tokens of Slack's bot.
const (
	SlackBotToken = "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy"
	SlackAppToken = "xapp-1-A0000000000-17653672481-0123456789abcdef"
)

// Slack is a server of Slack's Web API and Socket Mode.
type Slack struct {
	state  State
	q      sockets
	files  map[string]*Sent
	shares map[string]map[string]any // messages of files, by file and channel
	last   int64                     // time stamps count up
	scopes []string                  // scopes of the bot token
}

// Grant grants these scopes to the bot token.
func (f *Slack) Grant(scopes ...string) { f.state.do(func() { f.scopes = scopes }) }

// NewSlack starts one.
func NewSlack(t testing.TB) *Slack {
	f := &Slack{files: map[string]*Sent{}, shares: map[string]map[string]any{}, last: time.Now().Unix(),
		scopes: strings.Fields("app_mentions:read channels:history chat:write files:read files:write groups:history " +
			"im:history im:write mpim:history reactions:read reactions:write")}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{method}", f.method)
	mux.HandleFunc("GET /files.info", f.method)
	mux.HandleFunc("POST /upload/{id}", f.upload)
	mux.HandleFunc("GET /files/{id}", f.file)
	mux.HandleFunc("GET /link", func(w http.ResponseWriter, r *http.Request) {
		hello := []byte(`{"type":"hello","num_connections":1,"debug_info":{"host":"applink-1","approximate_connection_time":18060}}`)
		f.q.serve(w, r, hello, f.envelope, f.heard)
	})
	f.state.rules = newRules("slack")
	f.state.path = func(r *http.Request) (string, bool) {
		return r.URL.Path, r.URL.Path != "/link" && !strings.HasPrefix(r.URL.Path, "/files/")
	}
	f.state.refuse = func(w http.ResponseWriter, _ *http.Request, _ string) { slackFail(w, "invalid_arguments") }
	f.q.start(t, &f.state, SlackBotToken, mux)
	return f
}

// State returns the common part.
func (f *Slack) State() *State { return &f.state }

// Chat returns the direct message with a person.
func (f *Slack) Chat(person string) string { return "D" + person }

// Cut ends all sockets.
func (f *Slack) Cut() { f.q.cut() }

// Repeat sends all events again.
func (f *Slack) Repeat() { f.q.repeat() }

// Recycle asks the bot to open another socket, and closes the old one once that is open.
func (f *Slack) Recycle(ctx context.Context) {
	f.state.mu.Lock()
	var old []*websocket.Conn
	for c := range f.q.conns {
		old = append(old, c)
	}
	f.state.mu.Unlock()
	for _, c := range old {
		_ = c.Write(ctx, websocket.MessageText,
			[]byte(`{"type":"disconnect","reason":"refresh_requested","debug_info":{"host":"applink-1"}}`))
	}
	f.state.wait(ctx, func() bool {
		n := f.q.open()
		for _, c := range old {
			if f.q.conns[c] {
				n--
			}
		}
		return n > 0
	})
	for _, c := range old {
		_ = c.Close(websocket.StatusNormalClosure, "")
	}
}

// SwitchOff ends all sockets because Socket Mode was switched off.
func (f *Slack) SwitchOff(ctx context.Context) {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	for c := range f.q.conns {
		_ = c.Write(ctx, websocket.MessageText,
			[]byte(`{"type":"disconnect","reason":"link_disabled","debug_info":{"host":"applink-1"}}`))
	}
}

// ts returns a new time stamp. The lock must be held.
func (f *Slack) ts() string {
	f.last++
	return strconv.FormatInt(f.last, 10) + fmt.Sprintf(".%06d", f.state.id())
}

// Say queues an event, or the two that a mention makes.
func (f *Slack) Say(m Said) {
	f.state.do(func() {
		ts := f.ts()
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(m.Text)
		if m.Mention {
			escaped = "<@UFAWN> " + escaped
		}
		e := map[string]any{"type": "message", "user": m.From, "text": escaped, "ts": ts, "event_ts": ts, "team": "T1",
			"channel": f.Chat(m.From), "channel_type": "im", "client_msg_id": strconv.Itoa(f.state.id())}
		if m.Group {
			e["channel"], e["channel_type"] = m.Chat, "channel"
		}
		if thread := cmp.Or(m.Topic, m.ReplyTo); thread != "" { // people reply in threads
			e["thread_ts"] = thread
		}
		if m.Self {
			e["user"], m.Bot = "UFAWN", true
		}
		if m.Bot {
			e["bot_id"], e["subtype"] = "B9", "bot_message"
		}
		if m.File != nil {
			id := "F" + strconv.Itoa(f.state.id())
			f.files[id] = m.File
			e["subtype"] = "file_share"
			e["files"] = []any{SlackFile(id, m.File.Name, len(m.File.Data))}
		}
		m.over(e)
		if m.Broken {
			e["text"] = []int{1}
		} else {
			f.own(e)
		}
		callback := func(event map[string]any) map[string]any {
			return map[string]any{"type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event": event,
				"event_id": "Ev" + strconv.Itoa(f.state.id()), "event_time": f.last}
		}
		f.q.push(m.Text, callback(e))
		if m.Mention {
			twin := map[string]any{"type": "app_mention"}
			for k, v := range e {
				if k != "type" && k != "channel_type" {
					twin[k] = v
				}
			}
			f.own(twin)
			f.q.push(m.Text, callback(twin))
		}
	})
}

// React queues reaction_added.
func (f *Slack) React(where, person, message, emoji string) {
	name := map[string]string{"👎": "-1", "👍": "+1", "🛑": "octagonal_sign"}[emoji]
	f.state.do(func() {
		e := map[string]any{"type": "reaction_added", "user": person, "reaction": name, "item_user": "UFAWN",
			"item": map[string]any{"type": "message", "channel": where, "ts": message}, "event_ts": f.ts()}
		f.own(e)
		f.q.push(emoji, map[string]any{"type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event": e,
			"event_id": "Ev" + strconv.Itoa(f.state.id()), "event_time": f.last})
	})
}

// own checks an event.
func (f *Slack) own(e map[string]any) {
	name, _ := e["type"].(string)
	if kind, ok := e["subtype"].(string); ok && name == "message" {
		name += " " + kind
	}
	if !f.state.rules.describes("EVENT", name) {
		f.state.T.Errorf("the stand-in is not as the platform: there is no event %s", name)
	}
	f.state.own("EVENT", name, e)
}

// SlackFile describes a file as messages do.
func SlackFile(id, name string, size int) map[string]any {
	return map[string]any{"id": id, "name": name, "title": name, "mimetype": "text/plain", "size": size,
		"created": 1767225600, "filetype": "text", "pretty_type": "Plain Text", "editable": false, "mode": "hosted",
		"is_external": false, "external_type": "", "is_public": false, "public_url_shared": false,
		"display_as_bot": false, "username": "", "permalink": "https://x.slack.com/files/U1/" + id, "channels": nil,
		"groups": nil}
}

func (f *Slack) envelope(it *item) (websocket.MessageType, []byte) {
	b, err := json.Marshal(map[string]any{"envelope_id": it.envelope, "type": "events_api", "payload": it.body,
		"accepts_response_payload": false, "retry_attempt": 0, "retry_reason": ""})
	if err != nil {
		f.state.T.Error(err)
	}
	return websocket.MessageText, b
}

func (f *Slack) heard(_ *websocket.Conn, data []byte) bool {
	f.state.frame("acknowledge", data)
	var ack struct {
		ID string `json:"envelope_id"`
	}
	if err := json.Unmarshal(data, &ack); err != nil || ack.ID == "" {
		f.state.errorf("it said %s", data)
	}
	f.state.do(func() { f.q.ack(ack.ID) })
	return false
}

func slackFail(w http.ResponseWriter, text string) {
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error": text})
}

func (f *Slack) method(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, "/")
	op := map[string]string{"auth.test": "check", "apps.connections.open": "connect", "chat.postMessage": "send",
		"chat.update": "edit", "files.completeUploadExternal": "upload", "reactions.add": "typing",
		"files.info": "file"}[method]
	want := SlackBotToken
	if method == "apps.connections.open" {
		want = SlackAppToken
	}
	if r.Header.Get("Authorization") != "Bearer "+want {
		slackFail(w, "invalid_auth")
		return
	}
	fault := f.state.fault(op)
	slow(r.Context(), fault)
	switch fault.Kind {
	case Rate:
		w.Header().Set("Retry-After", strconv.Itoa(int(fault.After/time.Second)))
		w.WriteHeader(http.StatusTooManyRequests)
		slackFail(w, "ratelimited")
		return
	case Broken:
		http.Error(w, "oops", http.StatusInternalServerError)
		return
	case ChatGone:
		slackFail(w, "channel_not_found")
		return
	case MessageGone:
		slackFail(w, "message_not_found")
		return
	case Unknown:
		slackFail(w, "invalid_auth")
		return
	case Forbidden:
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error": "missing_scope", "needed": "chat:write",
			"provided": "app_mentions:read"})
		return
	}
	c, failure := f.read(r, method)
	if fault.Kind == Unformatted && len(c.Blocks) > 0 {
		slackFail(w, "invalid_blocks")
		return
	}
	if failure != "" {
		f.state.errorf("%s: %s", method, failure)
		slackFail(w, failure)
		return
	}
	var result map[string]any
	f.state.do(func() {
		if method == "auth.test" {
			w.Header().Set("X-OAuth-Scopes", strings.Join(f.scopes, ","))
		}
		result, failure = f.act(method, c)
	})
	switch {
	case fault.Kind == Lost:
		drop(w)
	case failure != "":
		slackFail(w, failure)
	default:
		result["ok"] = true
		f.state.own(r.Method, r.URL.Path, result)
		_ = json.NewEncoder(w).Encode(result)
	}
}

type slackCall struct {
	Channel   string
	ChannelID string `json:"channel_id"`
	TS        string
	Thread    string `json:"thread_ts"`
	Text      string
	Mrkdwn    bool
	Blocks    []slackBlock
	Unfurl    *bool `json:"unfurl_links"`
	File      string
	Filename  string
	Length    int
	Files     []struct{ ID, Title string }
	Timestamp string
	Name      string
}

// read parses the arguments of a method, or returns Slack's error for them. Methods that write messages take JSON, all
// others a form whose lists are JSON.
func (f *Slack) read(r *http.Request, method string) (c slackCall, failure string) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/x-www-form-urlencoded", "":
		c.File, c.Filename = r.FormValue("file"), r.FormValue("filename")
		c.Length, _ = strconv.Atoi(r.FormValue("length"))
		c.Channel, c.ChannelID = r.FormValue("channel"), r.FormValue("channel_id")
		c.Timestamp, c.Name, c.Thread = r.FormValue("timestamp"), r.FormValue("name"), r.FormValue("thread_ts")
		if files := r.FormValue("files"); files != "" && json.Unmarshal([]byte(files), &c.Files) != nil {
			return c, "invalid_arguments"
		}
		return c, ""
	case "application/json":
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			return c, "json_not_object"
		}
		return c, ""
	}
	return c, "invalid_form_data"
}

func (f *Slack) act(method string, c slackCall) (map[string]any, string) {
	s := &f.state
	switch method {
	case "auth.test":
		return map[string]any{"url": "https://x.slack.com/", "team": "Example", "user": "fawn",
			"team_id": "T1", "user_id": "UFAWN", "bot_id": "B1"}, ""
	case "apps.connections.open":
		return map[string]any{"url": "ws" + strings.TrimPrefix(s.URL, "http") + "/link?ticket=" + SlackAppToken}, ""
	case "chat.postMessage":
		if failure := f.check(c); failure != "" {
			return nil, failure
		}
		if c.Unfurl == nil || *c.Unfurl {
			s.errorf("a link would be unfurled")
		}
		m := &Shown{ID: f.ts(), Text: c.Text, Topic: c.Thread, Rich: c.Mrkdwn, Blocks: kindsOf(c.Blocks)}
		s.shown[c.Channel] = append(s.shown[c.Channel], m)
		return map[string]any{"channel": c.Channel, "ts": m.ID}, ""
	case "chat.update":
		m := s.find(c.Channel, c.TS)
		if m == nil {
			return nil, "message_not_found"
		}
		if failure := f.check(c); failure != "" {
			return nil, failure
		}
		m.Text, m.Rich = c.Text, c.Mrkdwn
		if c.Blocks != nil { // otherwise the old ones stay
			m.Blocks = kindsOf(c.Blocks)
		}
		m.Edits++
		return map[string]any{"channel": c.Channel, "ts": c.TS, "text": c.Text}, ""
	case "reactions.add":
		return map[string]any{}, ""
	case "files.getUploadURLExternal":
		id := "F" + strconv.Itoa(s.id())
		f.files[id] = &Sent{Name: c.Filename, Data: make([]byte, 0, c.Length)}
		return map[string]any{"upload_url": s.URL + "/upload/" + id, "file_id": id}, ""
	case "files.completeUploadExternal":
		if len(c.Files) != 1 {
			return nil, "invalid_arguments"
		}
		file := f.files[c.Files[0].ID]
		if file == nil || len(file.Data) != cap(file.Data) {
			return nil, "file_not_found"
		}
		m := &Shown{ID: f.ts(), File: file, Topic: c.Thread}
		s.shown[c.ChannelID] = append(s.shown[c.ChannelID], m)
		f.shares[c.Files[0].ID] = map[string]any{c.ChannelID: []any{map[string]any{"ts": m.ID}}}
		return map[string]any{"files": []any{map[string]any{"id": c.Files[0].ID}}}, ""
	case "files.info":
		if f.files[c.File] == nil {
			return nil, "file_not_found"
		}
		shares := map[string]any{}
		if in := f.shares[c.File]; in != nil {
			shares["private"] = in
		}
		return map[string]any{"file": map[string]any{"id": c.File, "shares": shares,
			"url_private_download": s.URL + "/files/" + c.File}}, ""
	}
	return nil, "unknown_method"
}

// check finds content that Slack refuses, and mentions.
func (f *Slack) check(c slackCall) string {
	switch {
	case c.Text == "":
		return "no_text"
	case len([]rune(c.Text)) > 4000:
		f.state.errorf("a message of %d characters", len([]rune(c.Text)))
		return "msg_too_long"
	case strings.Contains(c.Text, "<!") || strings.Contains(c.Text, "<@"):
		f.state.errorf("%q addresses people", c.Text)
	}
	if wrong := checkBlocks(c.Blocks); wrong != "" {
		f.state.errorf("blocks: %s", wrong)
		return "invalid_blocks"
	}
	return ""
}

func (f *Slack) upload(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.state.do(func() {
		file := f.files[r.PathValue("id")]
		if file == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		file.Data = append(file.Data[:0], data...)
	})
}

func (f *Slack) file(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+SlackBotToken {
		http.Error(w, "<html>Sign in</html>", http.StatusForbidden)
		return
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
