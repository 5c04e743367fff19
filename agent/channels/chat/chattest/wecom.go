package chattest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// The credentials of WeCom's robot.
const (
	WeComBot    = "aib_robot0001"
	WeComSecret = "m0ckS3cretOfTheRobot0123456789abcdefghijk"
)

// WeCom is a server of WeCom's robots.
type WeCom struct {
	state   State
	q       sockets
	files   map[string][]byte // encrypted, by number
	uploads map[string]*weComUpload
	key     []byte
}

type weComUpload struct {
	name, sum string
	size      int
	data      []byte
	chunks    int
}

// NewWeCom starts one.
func NewWeCom(t testing.TB) *WeCom {
	f := &WeCom{files: map[string][]byte{}, uploads: map[string]*weComUpload{},
		key: []byte("0123456789abcdef0123456789abcdef")}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { f.q.serve(w, r, nil, f.frame, f.heard) })
	mux.HandleFunc("GET /files/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.state.mu.Lock()
		data := f.files[r.PathValue("id")]
		f.state.mu.Unlock()
		if data == nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	})
	f.state.rules = newRules("wecom")
	f.state.path = func(*http.Request) (string, bool) { return "", false } // everything is sent in frames
	f.q.once = true
	f.q.start(t, &f.state, WeComSecret, mux)
	return f
}

// State returns the common part.
func (f *WeCom) State() *State { return &f.state }

// Chat returns the person's own id.
func (f *WeCom) Chat(person string) string { return person }

// Cut ends all connections.
func (f *WeCom) Cut() { f.q.cut() }

// Repeat sends all messages again.
func (f *WeCom) Repeat() { f.q.repeat() }

// Replace tells the bot that another connection replaced it.
func (f *WeCom) Replace() {
	body := map[string]any{"msgid": "e1", "create_time": time.Now().Unix(), "aibotid": WeComBot, "from": map[string]any{"userid": ""},
		"msgtype": "event", "event": map[string]any{"eventtype": "disconnected_event"}}
	f.state.event("aibot_event_callback", "", body, Said{})
	frame, err := json.Marshal(map[string]any{"cmd": "aibot_event_callback", "headers": map[string]any{"req_id": "e1"}, "body": body})
	if err != nil {
		f.state.T.Error(err)
	}
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	for c := range f.q.conns {
		_ = c.Write(f.state.T.Context(), websocket.MessageText,
			frame)
	}
}

// Say queues aibot_msg_callback.
func (f *WeCom) Say(m Said) {
	f.state.do(func() {
		if m.Bot || m.Self {
			return // bots receive neither
		}
		text := m.Text
		if m.Mention {
			text = "@Fawn " + text
		}
		msg := map[string]any{"msgid": "m" + strconv.Itoa(f.state.id()), "aibotid": WeComBot,
			"chattype": "single", "create_time": time.Now().Unix(),
			"from": map[string]any{"userid": m.From}, "msgtype": "text", "text": map[string]any{"content": text}}
		if m.Group {
			msg["chattype"], msg["chatid"] = "group", m.Chat
		}
		if m.File != nil {
			id := strconv.Itoa(f.state.id())
			f.files[id] = f.encrypt(m.File.Data)
			delete(msg, "text")
			msg["msgtype"], msg["file"] = "file", map[string]any{"url": f.state.URL + "/files/" + id,
				"aeskey": base64.StdEncoding.EncodeToString(f.key)}
		}
		m.over(msg)
		if m.Broken {
			msg["from"] = "nobody"
		}
		kind, _ := msg["msgtype"].(string)
		f.state.event("aibot_msg_callback", kind, msg, m)
		f.q.push(m.Text, msg)
	})
}

func (f *WeCom) encrypt(data []byte) []byte {
	n := 32 - len(data)%32
	padded := append(bytes.Clone(data), bytes.Repeat([]byte{byte(n)}, n)...)
	block, err := aes.NewCipher(f.key)
	if err != nil {
		f.state.T.Error(err)
	}
	cipher.NewCBCEncrypter(block, f.key[:16]).CryptBlocks(padded, padded)
	return padded
}

func (f *WeCom) frame(it *item) (websocket.MessageType, []byte) {
	b, err := json.Marshal(map[string]any{"cmd": "aibot_msg_callback", "headers": map[string]any{"req_id": it.envelope},
		"body": it.body})
	if err != nil {
		f.state.T.Error(err)
	}
	return websocket.MessageText, b
}

type weComCall struct {
	Cmd     string
	Headers struct {
		ID string `json:"req_id"`
	}
	Body struct {
		Bot      string `json:"bot_id"`
		Secret   string
		Chat     string `json:"chatid"`
		ChatType int    `json:"chat_type"`
		Type     string `json:"msgtype"`
		Markdown struct{ Content string }
		File     struct {
			ID string `json:"media_id"`
		}
		Upload   string `json:"upload_id"`
		Filename string
		Size     int    `json:"total_size"`
		Chunks   int    `json:"total_chunks"`
		Sum      string `json:"md5"`
		Index    int    `json:"chunk_index"`
		Data     string `json:"base64_data"`
	}
}

func (f *WeCom) heard(c *websocket.Conn, data []byte) (ready bool) {
	var m weComCall
	if err := json.Unmarshal(data, &m); err != nil || m.Headers.ID == "" {
		f.state.errorf("it said %s", data)
		return false
	}
	f.state.frame(m.Cmd, data)
	fault := f.state.fault(map[string]string{"aibot_subscribe": "check",
		"aibot_send_msg": "send", "aibot_upload_media_finish": "upload"}[m.Cmd])
	slow(f.state.T.Context(), fault)
	code := map[Kind]int{Rate: 45009, Broken: -1, ChatGone: 86003, Unknown: 40001}[fault.Kind]
	var body any
	if code == 0 {
		f.state.do(func() { body, code = f.act(m) })
	}
	if fault.Kind == Lost {
		_ = c.CloseNow()
		return false
	}
	answer := map[string]any{"headers": map[string]any{"req_id": m.Headers.ID}, "errcode": code, "errmsg": "ok",
		"body": body}
	if code != 0 {
		answer["errmsg"] = "refused, hint: [1]"
	}
	b, _ := json.Marshal(answer)
	_ = c.Write(f.state.T.Context(), websocket.MessageText, b)
	return m.Cmd == "aibot_subscribe" && code == 0
}

func (f *WeCom) act(m weComCall) (body any, code int) {
	s, b := &f.state, m.Body
	switch m.Cmd {
	case "ping":
	case "aibot_subscribe":
		if b.Bot != WeComBot || b.Secret != WeComSecret {
			return nil, 40001
		}
	case "aibot_send_msg":
		shown := &Shown{ID: "s" + strconv.Itoa(s.id()), Text: b.Markdown.Content, Rich: true}
		switch {
		case b.ChatType != 1 && b.ChatType != 2, b.Type == "markdown" && b.Markdown.Content == "":
			return nil, 40058
		case len(b.Markdown.Content) > 4096:
			s.errorf("a message of %d bytes", len(b.Markdown.Content))
			return nil, 40058
		case b.Type == "file":
			up := f.uploads[b.File.ID]
			if up == nil {
				return nil, 40007
			}
			shown.File = &Sent{up.name, up.data}
		}
		s.shown[b.Chat] = append(s.shown[b.Chat], shown)
		return map[string]any{"msgid": shown.ID}, 0
	case "aibot_upload_media_init":
		id := "up" + strconv.Itoa(s.id())
		f.uploads[id] = &weComUpload{name: b.Filename, sum: b.Sum, size: b.Size, chunks: b.Chunks}
		return map[string]any{"upload_id": id}, 0
	case "aibot_upload_media_chunk":
		up := f.uploads[b.Upload]
		data, err := base64.StdEncoding.DecodeString(b.Data)
		if up == nil || err != nil || len(data) > 512<<10 {
			return nil, 40058
		}
		up.data = append(up.data, data...)
		up.chunks--
	case "aibot_upload_media_finish":
		up := f.uploads[b.Upload]
		sum := md5.Sum(up.data)
		if up.chunks != 0 || len(up.data) != up.size || hex.EncodeToString(sum[:]) != up.sum {
			s.errorf("an upload of %d bytes, %d chunks missing", len(up.data), up.chunks)
			return nil, 40058
		}
		return map[string]any{"media_id": b.Upload, "type": "file"}, 0
	default:
		s.errorf("it said %s", m.Cmd)
	}
	return nil, 0
}
