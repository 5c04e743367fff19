package chattest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// DiscordToken is the token of Discord's bot.
const DiscordToken = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"

const discordBot = "198622483471925248"

// Discord is a server of Discord's REST API and its gateway.
type Discord struct {
	state    State
	q        sockets
	sessions int
	resumed  int
	lost     bool // the next resume is refused
	spent    bool // no more sessions may begin today
	blind    bool // the message content intent is off
	code     websocket.StatusCode
	places   map[string]map[string]any
	history  map[string][]map[string]any // messages of people, by channel
	nonces   map[string]string
	files    map[string]*Sent
}

// NewDiscord starts one.
func NewDiscord(t testing.TB) *Discord {
	f := &Discord{places: map[string]map[string]any{}, history: map[string][]map[string]any{},
		nonces: map[string]string{}, files: map[string]*Sent{}}
	mux := http.NewServeMux()
	for pattern, op := range map[string]string{
		"GET /users/@me": "check", "GET /gateway/bot": "connect", "GET /channels/{channel}": "place",
		"GET /oauth2/applications/@me":     "app",
		"GET /channels/{channel}/messages": "history", "GET /channels/{channel}/messages/{message}": "file",
		"POST /channels/{channel}/messages": "send", "PATCH /channels/{channel}/messages/{message}": "edit",
		"POST /channels/{channel}/typing": "typing", "POST /channels/{channel}/messages/{message}/threads": "thread",
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { f.handle(w, r, op) })
	}
	mux.HandleFunc("GET /cdn/{id}", f.file)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		f.state.query(r)
		f.q.serve(w, r, nil, f.event, f.heard, []byte(`{"op":10,"d":{"heartbeat_interval":200}}`))
	})
	f.state.rules = newRules("discord")
	f.state.path = func(r *http.Request) (string, bool) {
		return r.URL.Path, r.URL.Path != "/" && !strings.HasPrefix(r.URL.Path, "/cdn/")
	}
	f.state.refuse = func(w http.ResponseWriter, _ *http.Request, wrong string) {
		discordFail(w, http.StatusBadRequest, 50035, "Invalid Form Body: "+wrong)
	}
	f.q.start(t, &f.state, DiscordToken, mux)
	return f
}

// State returns the common part.
func (f *Discord) State() *State { return &f.state }

// Chat returns the direct message with a person.
func (f *Discord) Chat(person string) string { return "90" + person }

// Cut ends all connections.
func (f *Discord) Cut() { f.q.cut() }

// Repeat sends all events again, with new numbers.
func (f *Discord) Repeat() { f.q.repeat() }

// Forget refuses to resume; unsent messages are then only in the channels.
func (f *Discord) Forget() {
	f.state.do(func() {
		f.lost = true
		for _, it := range f.q.items {
			it.done = true
		}
	})
}

// Blind switches the message content intent off.
func (f *Discord) Blind() { f.state.do(func() { f.blind = true }) }

// Exhaust uses up today's sessions.
func (f *Discord) Exhaust() { f.state.do(func() { f.spent = true }) }

// Close closes the next connection with a code after the bot identified itself.
func (f *Discord) Close(code int) { f.state.do(func() { f.code = websocket.StatusCode(code) }) }

// Tell sends a frame to the bot.
func (f *Discord) Tell(frame string) {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	for c := range f.q.conns {
		_ = c.Write(f.state.T.Context(), websocket.MessageText, []byte(frame))
	}
}

// Sessions counts new sessions and resumed ones.
func (f *Discord) Sessions() (began, resumed int) {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	return f.sessions, f.resumed
}

// Say queues MESSAGE_CREATE.
func (f *Discord) Say(m Said) {
	f.state.do(func() {
		id := strconv.Itoa(1000000 + f.state.id())
		channel := f.Chat(m.From)
		f.places[channel] = discordPrivate(channel)
		if m.Group {
			channel = m.Chat
			f.places[channel] = discordChannel(channel)
		}
		if m.Topic != "" {
			f.places[m.Topic] = discordThread(m.Topic, channel)
			channel = m.Topic
		}
		author := DiscordUser(m.From, m.Name, m.Bot)
		if m.Self {
			author = discordSelf()
		}
		msg := DiscordMessage(id, channel, author, m.Text)
		if m.Mention {
			msg["content"] = "<@" + discordBot + "> " + m.Text
			msg["mentions"] = []any{discordSelf()}
		}
		if m.ReplyTo != "" {
			msg["type"], msg["message_reference"] = 19, map[string]any{"type": 0, "channel_id": channel,
				"message_id": m.ReplyTo}
		}
		if m.File != nil {
			f.files[id] = m.File
			at := f.state.URL + "/cdn/" + id
			msg["attachments"] = []any{map[string]any{"id": "5" + id, "filename": m.File.Name, "size": len(m.File.Data),
				"url": at, "proxy_url": at}}
		}
		m.over(msg)
		f.history[channel] = append(f.history[channel], msg)
		if m.Broken {
			broken := map[string]any{}
			for k, v := range msg {
				broken[k] = v
			}
			broken["content"] = 17
			msg = broken
		} else {
			f.state.own("EVENT", "MESSAGE_CREATE", msg)
		}
		f.q.push(m.Text, msg)
	})
}

// React queues MESSAGE_REACTION_ADD.
func (f *Discord) React(where, person, message, emoji string) {
	f.state.do(func() {
		e := map[string]any{"user_id": person, "channel_id": where, "message_id": message, "type": 0, "burst": false,
			"message_author_id": discordBot, "emoji": map[string]any{"id": nil, "name": emoji}}
		f.state.own("EVENT", "MESSAGE_REACTION_ADD", e)
		f.q.push(emoji, e)
	})
}

func (f *Discord) event(it *item) (websocket.MessageType, []byte) {
	kind := "MESSAGE_CREATE"
	if m, _ := it.body.(map[string]any); m["emoji"] != nil {
		kind = "MESSAGE_REACTION_ADD"
	}
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	seq := f.state.id()
	it.self.envelope = strconv.Itoa(seq)
	b, err := json.Marshal(map[string]any{"op": 0, "t": kind, "s": seq, "d": it.body})
	if err != nil {
		f.state.T.Error(err)
	}
	return websocket.MessageText, b
}

// have notes that the bot has everything up to seq. It needs the lock.
func (f *Discord) have(seq int) {
	for _, it := range f.q.items {
		if n, err := strconv.Atoi(it.envelope); err == nil && n <= seq && !it.done {
			it.done = true
			f.state.confirmed[it.text] = true
		}
	}
}

func (f *Discord) heard(c *websocket.Conn, data []byte) (ready bool) {
	var m struct {
		Op   int
		Data json.RawMessage `json:"d"`
	}
	var login struct {
		Token   string
		Session string `json:"session_id"`
		Seq     int
		Intents int
	}
	if err := json.Unmarshal(data, &m); err != nil {
		f.state.errorf("it said %s", data)
	}
	f.state.frame(strconv.Itoa(m.Op), data)
	answer := ""
	f.state.do(func() {
		switch m.Op {
		case 1:
			seq := 0
			_ = json.Unmarshal(m.Data, &seq)
			f.have(seq)
			answer = `{"op":11}`
			return
		case 2, 6:
		default:
			f.state.errorf("it said %s", data)
			return
		}
		if json.Unmarshal(m.Data, &login) != nil || login.Token != DiscordToken {
			f.code = 4004
		}
		if m.Op == 2 && login.Intents&(1<<15) == 0 {
			f.state.errorf("without MESSAGE_CONTENT messages are empty")
		}
		if m.Op == 2 && login.Intents&(1<<10|1<<13) != 1<<10|1<<13 {
			f.state.errorf("without their intents there are no reactions")
		}
		switch {
		case f.code != 0:
		case m.Op == 6 && (f.lost || login.Session != "session-"+strconv.Itoa(f.sessions)):
			answer, f.lost = `{"op":9,"d":false}`, false
		case m.Op == 6:
			f.resumed++
			f.have(login.Seq)
			answer, ready = `{"op":0,"t":"RESUMED","s":`+strconv.Itoa(login.Seq)+`,"d":{}}`, true
		default:
			f.sessions, f.lost, ready = f.sessions+1, false, true
			event := map[string]any{"v": 10, "user": discordSelf(), "guilds": []any{},
				"session_id":         "session-" + strconv.Itoa(f.sessions),
				"resume_gateway_url": "ws" + strings.TrimPrefix(f.state.URL, "http"),
				"application":        map[string]any{"id": discordBot, "flags": 0}}
			f.state.own("EVENT", "READY", event)
			b, _ := json.Marshal(map[string]any{"op": 0, "t": "READY", "s": f.state.id(), "d": event})
			answer = string(b)
		}
	})
	f.state.mu.Lock()
	code := f.code
	f.code = 0
	f.state.mu.Unlock()
	if code != 0 {
		_ = c.Close(code, "Authentication failed.")
		return false
	}
	_ = c.Write(f.state.T.Context(), websocket.MessageText, []byte(answer))
	return ready
}
