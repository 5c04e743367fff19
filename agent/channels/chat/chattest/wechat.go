package chattest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// WeChatToken is the token of WeChat's bot.
const WeChatToken = "b1a2c3d4e5@im.bot:060000a1b2c3d4e5f60718293a4b5c6d7e"

// WeChat is a server of iLink.
type WeChat struct {
	state   State
	all     []weChatQueued
	again   bool              // the next poll returns everything, whatever its cursor
	tokens  map[string]string // owner of each token
	blobs   map[string][]byte // encrypted files, by the key that finds them
	uploads map[string]weChatUpload
	cut     int
	code    string   // the last QR code
	scans   []string // its sequence of states
}

type weChatQueued struct {
	text string
	body map[string]any
}

type weChatUpload struct {
	size int
	sum  string
	key  []byte
}

// NewWeChat starts one.
func NewWeChat(t testing.TB) *WeChat {
	f := &WeChat{tokens: map[string]string{}, blobs: map[string][]byte{}, uploads: map[string]weChatUpload{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ilink/bot/{method}", f.method)
	mux.HandleFunc("POST /c2c/upload", f.store)
	mux.HandleFunc("GET /c2c/download", f.load)
	mux.HandleFunc("GET /ilink/bot/{method}", f.scan)
	f.state.serve(t, WeChatToken, mux)
	return f
}

// State returns the common part.
func (f *WeChat) State() *State { return &f.state }

// Chat returns the person's own id.
func (f *WeChat) Chat(person string) string { return person }

// Cut ends the polls that wait.
func (f *WeChat) Cut() { f.state.do(func() { f.cut++ }) }

// Repeat delivers all messages again, whatever cursor is sent.
func (f *WeChat) Repeat() { f.state.do(func() { f.again = true }) }

// Say queues a message, with a token for its answers.
func (f *WeChat) Say(m Said) {
	f.state.do(func() {
		id := f.state.id()
		token := "context-" + strconv.Itoa(id)
		f.tokens[token] = m.From
		kind := 1
		if m.Bot || m.Self {
			kind = 2
		}
		item := map[string]any{"type": 1, "text_item": map[string]any{"text": m.Text}}
		if m.File != nil {
			key, query := []byte("0123456789abcdef"), "in "+strconv.Itoa(id)
			f.blobs[query] = weChatCrypt(m.File.Data, key)
			media := map[string]any{"encrypt_query_param": query,
				"aes_key": base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(key)))}
			item = map[string]any{"type": 4, "file_item": map[string]any{"media": media, "file_name": m.File.Name}}
		}
		body := map[string]any{"message_id": 7448678501208390000 + id, "from_user_id": m.From,
			"to_user_id": "bot@im.bot", "message_type": kind, "message_state": 2,
			"create_time_ms": time.Now().UnixMilli(), "context_token": token, "item_list": []any{item}}
		m.over(body)
		if m.Broken {
			body["create_time_ms"] = "now"
		}
		f.all = append(f.all, weChatQueued{m.Text, body})
	})
}

// weChatCrypt encrypts with padding.
func weChatCrypt(data, key []byte) []byte {
	pad := aes.BlockSize - len(data)%aes.BlockSize
	out := append(bytes.Clone(data), bytes.Repeat([]byte{byte(pad)}, pad)...)
	block, _ := aes.NewCipher(key)
	for i := 0; i < len(out); i += aes.BlockSize {
		block.Encrypt(out[i:], out[i:])
	}
	return out
}

func weChatFail(w http.ResponseWriter, code int, text string) {
	_ = json.NewEncoder(w).Encode(map[string]any{"ret": code, "errcode": code, "errmsg": text})
}

type weChatCall struct {
	Cursor  string `json:"get_updates_buf"`
	User    string `json:"ilink_user_id"`
	Ticket  string `json:"typing_ticket"`
	FileKey string
	RawSize int
	RawSum  string `json:"rawfilemd5"`
	Size    int    `json:"filesize"`
	Key     string `json:"aeskey"`
	Msg     struct {
		To    string `json:"to_user_id"`
		ID    string `json:"client_id"`
		Kind  int    `json:"message_type"`
		State int    `json:"message_state"`
		Token string `json:"context_token"`
		Items []struct {
			Type int
			Text struct{ Text string } `json:"text_item"`
			File struct {
				Media struct {
					Query string `json:"encrypt_query_param"`
					Key   string `json:"aes_key"`
				}
				Name string `json:"file_name"`
				Len  string
			} `json:"file_item"`
		} `json:"item_list"`
	}
	Base struct {
		Version string `json:"channel_version"`
	} `json:"base_info"`
}

func (f *WeChat) method(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+WeChatToken ||
		r.Header.Get("AuthorizationType") != "ilink_bot_token" || r.Header.Get("X-WECHAT-UIN") == "" {
		weChatFail(w, -14, "session timeout")
		return
	}
	var c weChatCall
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Base.Version == "" {
		f.state.errorf("body: %v", err)
	}
	method := r.PathValue("method")
	op := map[string]string{"getupdates": "poll", "sendmessage": "send", "getconfig": "check", "sendtyping": "typing",
		"getuploadurl": "upload"}[method]
	if method == "getconfig" && c.User != "" {
		op = "ticket"
	}
	fault := f.state.fault(op)
	slow(r.Context(), fault)
	switch fault.Kind {
	case Rate:
		weChatFail(w, -2, "freq limit")
		return
	case Broken:
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	case ChatGone:
		weChatFail(w, -2, "unknown error")
		return
	case Unknown:
		weChatFail(w, -14, "session timeout")
		return
	}
	var result map[string]any
	if method == "getupdates" {
		if result = f.poll(r.Context(), c.Cursor); result == nil {
			drop(w)
			return
		}
	} else {
		f.state.do(func() { result = f.act(method, c) })
	}
	if fault.Kind == Lost {
		drop(w)
		return
	}
	_ = json.NewEncoder(w).Encode(result)
}

// poll waits for messages after the cursor and confirms earlier ones.
func (f *WeChat) poll(ctx context.Context, cursor string) map[string]any {
	s := &f.state
	at, _ := strconv.Atoi(strings.TrimPrefix(cursor, "cursor-"))
	cut := 0
	s.do(func() {
		cut = f.cut
		for _, q := range f.all[:min(at, len(f.all))] {
			s.confirmed[q.text] = true
		}
	})
	msgs, end := []any{}, 0
	s.wait(ctx, func() bool {
		msgs, end = msgs[:0], len(f.all)
		from := min(at, end)
		if f.again {
			from = 0
		}
		for _, q := range f.all[from:] {
			msgs = append(msgs, q.body)
		}
		f.again = f.again && len(msgs) == 0
		return len(msgs) > 0 || f.cut != cut
	})
	if len(msgs) == 0 {
		return nil
	}
	return map[string]any{"ret": 0, "msgs": msgs, "get_updates_buf": "cursor-" + strconv.Itoa(end),
		"longpolling_timeout_ms": 35000}
}

func (f *WeChat) act(method string, c weChatCall) map[string]any {
	s := &f.state
	fail := func(code int, text string) map[string]any { return map[string]any{"ret": code, "errmsg": text} }
	switch method {
	case "getconfig":
		return map[string]any{"ret": 0, "typing_ticket": "ticket " + c.User}
	case "sendtyping":
		if c.Ticket != "ticket "+c.User {
			return fail(-1, "bad ticket")
		}
	case "getuploadurl":
		key, err := hex.DecodeString(c.Key)
		if err != nil || len(key) != 16 || c.Size != (c.RawSize/16+1)*16 {
			s.errorf("an upload of %d bytes as %d with the key %q", c.RawSize, c.Size, c.Key)
		}
		f.uploads[c.FileKey] = weChatUpload{c.RawSize, c.RawSum, key}
		return map[string]any{"ret": 0, "upload_param": "up " + c.FileKey}
	case "sendmessage":
		m := c.Msg
		switch {
		case f.tokens[m.Token] != m.To:
			return fail(-2, "unknown error")
		case m.Kind != 2 || m.State != 2 || m.ID == "" || len(m.Items) != 1:
			s.errorf("a message of %+v", m)
			return fail(-1, "bad param")
		}
		it, shown := m.Items[0], &Shown{ID: m.ID}
		if shown.Text = it.Text.Text; it.Type == 4 {
			data, ok := f.blobs[it.File.Media.Query]
			if !ok || it.File.Len != strconv.Itoa(len(data)) {
				return fail(-1, "no such media")
			}
			shown.File = &Sent{it.File.Name, data}
		} else if n := len([]rune(shown.Text)); n == 0 || n > 2000 {
			s.errorf("a message of %d characters", n)
			return fail(-1, "bad param")
		}
		s.shown[m.To] = append(s.shown[m.To], shown)
	default:
		s.errorf("it called %s", method)
	}
	return map[string]any{"ret": 0}
}

// store decrypts an upload, as the people's apps do, and keeps it.
func (f *WeChat) store(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	f.state.mu.Lock()
	up, ok := f.uploads[r.URL.Query().Get("filekey")]
	f.state.mu.Unlock()
	if err != nil || !ok || r.URL.Query().Get("encrypted_query_param") != "up "+r.URL.Query().Get("filekey") ||
		len(data)%16 != 0 {
		http.Error(w, "no such upload", http.StatusBadRequest)
		return
	}
	block, _ := aes.NewCipher(up.key)
	for i := 0; i < len(data); i += 16 {
		block.Decrypt(data[i:], data[i:])
	}
	data = data[:len(data)-int(data[len(data)-1])]
	if sum := md5.Sum(data); len(data) != up.size || hex.EncodeToString(sum[:]) != up.sum {
		f.state.errorf("an upload of %d bytes has another sum", len(data))
	}
	query := "out " + r.URL.Query().Get("filekey")
	f.state.do(func() { f.blobs[query] = data })
	w.Header().Set("X-Encrypted-Param", query)
}

func (f *WeChat) load(w http.ResponseWriter, r *http.Request) {
	f.state.mu.Lock()
	data, ok := f.blobs[r.URL.Query().Get("encrypted_query_param")]
	f.state.mu.Unlock()
	if r.Header.Get("Authorization") != "" {
		f.state.errorf("the token went to the file server")
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data)
}
