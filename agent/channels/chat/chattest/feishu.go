package chattest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protowire"
)

// The credentials of Feishu's app.
const (
	FeishuApp    = "cli_a1b2c3d4e5"
	FeishuSecret = "dskLLdkasdjlasdKKKaslkd93kkaasdj"
)

const feishuBot = "ou_fawn"

// Feishu is a stand-in for Feishu's open platform.
type Feishu struct {
	state  State
	q      sockets
	files  map[string]*Sent
	uuids  map[string]string
	tokens int
	scopes []string // scopes granted by the tenant
}

// Grant grants these scopes to the app.
func (f *Feishu) Grant(scopes ...string) { f.state.do(func() { f.scopes = scopes }) }

// NewFeishu starts one.
func NewFeishu(t testing.TB) *Feishu {
	f := &Feishu{files: map[string]*Sent{}, uuids: map[string]string{},
		scopes: []string{"im:message", "im:message:send_as_bot", "im:resource"}}
	mux := http.NewServeMux()
	for pattern, op := range map[string]string{
		"POST /open-apis/auth/v3/tenant_access_token/internal": "token", "POST /callback/ws/endpoint": "connect",
		"GET /open-apis/application/v6/scopes": "scopes",
		"GET /open-apis/bot/v3/info":           "check", "POST /open-apis/im/v1/messages": "send",
		"POST /open-apis/im/v1/messages/{id}/reply": "send", "PATCH /open-apis/im/v1/messages/{id}": "edit",
		"POST /open-apis/im/v1/messages/{id}/reactions": "typing", "POST /open-apis/im/v1/files": "upload",
		"POST /open-apis/im/v1/images": "upload", "GET /open-apis/im/v1/messages/{id}/resources/{key}": "file",
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { f.handle(w, r, op) })
	}
	mux.HandleFunc("GET /link", func(w http.ResponseWriter, r *http.Request) {
		if f.state.fault("link").Kind == Forbidden {
			w.Header().Set("Handshake-Status", "403")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.URL.Query().Get("access_key") != FeishuSecret {
			w.Header().Set("Handshake-Status", "514")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		f.q.serve(w, r, feishuControl("pong"), f.frame, f.heard)
	})
	f.state.rules = newRules("feishu")
	f.state.path = func(r *http.Request) (string, bool) { return r.URL.Path, r.URL.Path != "/link" }
	f.state.refuse = func(w http.ResponseWriter, _ *http.Request, wrong string) {
		feishuFail(w, http.StatusBadRequest, 99992402, "field validation failed: "+wrong)
	}
	f.q.start(t, &f.state, FeishuSecret, mux)
	return f
}

// State returns the common part.
func (f *Feishu) State() *State { return &f.state }

// Chat returns the private chat with a person.
func (f *Feishu) Chat(person string) string { return "oc_p2p" + person }

// Cut ends all connections.
func (f *Feishu) Cut() { f.q.cut() }

// Repeat sends all events again.
func (f *Feishu) Repeat() { f.q.repeat() }

// Expire invalidates all current tokens.
func (f *Feishu) Expire() { f.state.do(func() { f.tokens++ }) }

// Say queues im.message.receive_v1.
func (f *Feishu) Say(m Said) {
	f.state.do(func() {
		id := "om_" + strconv.Itoa(f.state.id())
		content, kind := map[string]any{"text": m.Text}, "text"
		msg := map[string]any{"message_id": id, "create_time": strconv.FormatInt(time.Now().UnixMilli(), 10),
			"chat_id": f.Chat(m.From), "chat_type": "p2p"}
		if m.Group {
			msg["chat_id"], msg["chat_type"] = m.Chat, "group"
		}
		if m.ReplyTo != "" {
			msg["parent_id"], msg["root_id"] = m.ReplyTo, m.ReplyTo
		}
		if m.Topic != "" {
			msg["root_id"] = m.Topic
		}
		if m.Mention {
			content["text"] = "@_user_1 " + m.Text
			msg["mentions"] = []any{map[string]any{"key": "@_user_1", "name": "Fawn",
				"id": map[string]any{"open_id": feishuBot}}}
		}
		if m.File != nil {
			f.files[id+"file_v2_x"] = m.File
			content, kind = map[string]any{"file_key": "file_v2_x", "file_name": m.File.Name}, "file"
		}
		b, _ := json.Marshal(content)
		msg["content"], msg["message_type"] = string(b), kind
		m.over(msg)
		if m.Broken {
			msg["content"] = "{"
		}
		sender := map[string]any{"sender_id": map[string]any{"open_id": m.From}, "sender_type": "user",
			"tenant_key": "t1"}
		if m.Bot || m.Self {
			sender["sender_type"] = "app"
		}
		event := map[string]any{"schema": "2.0",
			"header": map[string]any{"event_id": "ev" + strconv.Itoa(f.state.id()), "token": "",
				"create_time": msg["create_time"], "event_type": "im.message.receive_v1", "tenant_key": "t1",
				"app_id": FeishuApp},
			"event": map[string]any{"sender": sender, "message": msg}}
		f.state.event("im.message.receive_v1", "", event, m)
		f.q.push(m.Text, event)
	})
}

func feishuHeaders(b []byte, pairs ...string) []byte {
	for i := 0; i < len(pairs); i += 2 {
		var h []byte
		h = protowire.AppendString(protowire.AppendTag(h, 1, protowire.BytesType), pairs[i])
		h = protowire.AppendString(protowire.AppendTag(h, 2, protowire.BytesType), pairs[i+1])
		b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), h)
	}
	return b
}

func feishuFrame(method uint64) (b []byte) {
	for n, v := range []uint64{1, 7, 9, method} {
		b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(n+1), protowire.VarintType), v)
	}
	return b
}

func feishuControl(kind string) []byte { return feishuHeaders(feishuFrame(0), "type", kind) }

// frame returns the last frame of an event; a long event is split, with its other parts sent first.
func (f *Feishu) frame(it *item) (websocket.MessageType, []byte) {
	payload, err := json.Marshal(it.body)
	if err != nil {
		f.state.T.Error(err)
	}
	parts := [][]byte{payload}
	if strings.Contains(it.text, "in parts") {
		third := len(payload) / 3
		parts = [][]byte{payload[:third], payload[third : 2*third], payload[2*third:]}
	}
	for i, part := range parts {
		b := feishuHeaders(feishuFrame(1), "type", "event", "message_id", it.envelope,
			"trace_id", "trace-"+it.envelope, "sum", strconv.Itoa(len(parts)),
			"seq", strconv.Itoa(i))
		b = protowire.AppendBytes(protowire.AppendTag(b, 8, protowire.BytesType), part)
		if i == len(parts)-1 {
			return websocket.MessageBinary, b
		}
		_ = it.on.Write(f.state.T.Context(), websocket.MessageBinary, b)
	}
	return 0, nil
}

func (f *Feishu) heard(c *websocket.Conn, data []byte) bool {
	var method uint64
	var payload string
	headers := map[string]string{}
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			f.state.errorf("a frame that cannot be read")
			return false
		}
		data = data[n:]
		if typ == protowire.VarintType {
			v, n := protowire.ConsumeVarint(data)
			if num == 4 {
				method = v
			}
			data = data[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(data)
		data = data[n:]
		switch num {
		case 5:
			_, _, tag := protowire.ConsumeTag(v)
			key, n := protowire.ConsumeString(v[tag:])
			v = v[tag+n:]
			_, _, tag = protowire.ConsumeTag(v)
			headers[key], _ = protowire.ConsumeString(v[tag:])
		case 8:
			payload = string(v)
		}
	}
	var answer struct{ Code int }
	if method == 1 {
		_ = json.Unmarshal([]byte(payload), &answer)
	}
	switch {
	case method == 0 && headers["type"] == "ping":
		_ = c.Write(f.state.T.Context(), websocket.MessageBinary, feishuControl("pong"))
	case method == 1 && answer.Code == http.StatusOK:
		f.state.do(func() { f.q.ack(headers["message_id"]) })
	default:
		f.state.errorf("it said %v %s", headers, payload)
	}
	return false
}
