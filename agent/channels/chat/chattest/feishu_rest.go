package chattest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

func feishuFail(w http.ResponseWriter, status, code int, text string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "msg": text})
}

func (f *Feishu) token() string { return "t-token" + strconv.Itoa(f.tokens) }

func (f *Feishu) handle(w http.ResponseWriter, r *http.Request, op string) {
	f.state.mu.Lock()
	token := f.token()
	f.state.mu.Unlock()
	if op != "token" && op != "connect" && r.Header.Get("Authorization") != "Bearer "+token {
		feishuFail(w, http.StatusBadRequest, 99991663,
			"Invalid access token for authorization. Please make a request with token attached.")
		return
	}
	if op == "file" {
		f.resource(w, r)
		return
	}
	fault := f.state.fault(op)
	slow(r.Context(), fault)
	switch fault.Kind {
	case Rate:
		w.Header().Set("X-Ogw-Ratelimit-Reset", strconv.Itoa(int(fault.After.Seconds())))
		feishuFail(w, http.StatusTooManyRequests, 99991400, "request trigger frequency limit")
		return
	case Broken:
		http.Error(w, "upstream", http.StatusBadGateway)
		return
	case ChatGone:
		feishuFail(w, http.StatusBadRequest, 230002, "Bot/User can NOT be out of the chat.")
		return
	case MessageGone:
		feishuFail(w, http.StatusBadRequest, 230011, "The message was withdrawn.")
		return
	case Unknown:
		feishuFail(w, http.StatusOK, 10014, "app secret invalid")
		return
	}
	var result map[string]any
	var code int
	c := f.read(r)
	f.state.do(func() { result, code = f.act(op, r, c, fault) })
	switch {
	case fault.Kind == Lost:
		drop(w)
	case code != 0:
		feishuFail(w, http.StatusBadRequest, code, "refused")
	default:
		result["code"], result["msg"] = 0, "ok"
		_ = json.NewEncoder(w).Encode(result)
	}
}

type feishuCall struct {
	App      string `json:"app_id"`
	Secret   string `json:"app_secret"`
	AppID    string `json:"AppID"`
	AppKey   string `json:"AppSecret"`
	Receiver string `json:"receive_id"`
	Type     string `json:"msg_type"`
	Content  string
	UUID     string
	file     *Sent
}

func (f *Feishu) read(r *http.Request) (c feishuCall) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		for _, part := range []string{"file", "image"} {
			file, head, err := r.FormFile(part)
			if err != nil {
				continue
			}
			data, _ := io.ReadAll(file)
			_ = file.Close()
			c.file = &Sent{head.Filename, data}
		}
		return c
	}
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil && err != io.EOF {
		f.state.errorf("body: %v", err)
	}
	return c
}

func (f *Feishu) act(op string, r *http.Request, c feishuCall, fault Fault) (map[string]any, int) {
	s := &f.state
	switch op {
	case "token":
		if c.App != FeishuApp || c.Secret != FeishuSecret {
			return nil, 10014
		}
		return map[string]any{"tenant_access_token": f.token(), "expire": 7200}, 0
	case "connect":
		if c.AppID != FeishuApp || c.AppKey != FeishuSecret {
			return nil, 514
		}
		at := "ws" + strings.TrimPrefix(s.URL, "http") + "/link?device_id=1&service_id=9&access_key=" + FeishuSecret
		return map[string]any{"data": map[string]any{"URL": at, "ClientConfig": map[string]any{"PingInterval": 120}}}, 0
	case "check":
		return map[string]any{"bot": map[string]any{"app_name": "Fawn", "open_id": feishuBot}}, 0
	case "scopes":
		list := []any{map[string]any{"scope_name": "contact:user.base:readonly", "grant_status": 2, "scope_type": "tenant"}}
		for _, name := range f.scopes {
			list = append(list, map[string]any{"scope_name": name, "grant_status": 1, "scope_type": "tenant"})
		}
		return map[string]any{"data": map[string]any{"scopes": list}}, 0
	case "typing":
		return map[string]any{}, 0
	case "upload":
		key := "file_" + strconv.Itoa(s.id())
		f.files[key] = c.file
		return map[string]any{"data": map[string]any{"file_key": key}}, 0
	case "edit":
		for _, all := range s.shown {
			for _, m := range all {
				if m.ID == r.PathValue("id") {
					var code int
					m.Text, m.Rich, code = f.card(c.Content, fault)
					m.Edits++
					return map[string]any{}, code
				}
			}
		}
		return nil, 230011
	}
	return f.post(r, c, fault)
}

func (f *Feishu) post(r *http.Request, c feishuCall, fault Fault) (map[string]any, int) {
	s := &f.state
	where := c.Receiver
	if id := r.PathValue("id"); id != "" {
		for _, it := range f.q.items {
			msg := it.body.(map[string]any)["event"].(map[string]any)["message"].(map[string]any)
			if msg["message_id"] == id {
				where = msg["chat_id"].(string)
			}
		}
		if where == "" {
			return nil, 230011
		}
	} else if r.URL.Query().Get("receive_id_type") != "chat_id" {
		return nil, 230001
	}
	if len(c.UUID) > 50 {
		s.errorf("a uuid of %d characters", len(c.UUID))
	}
	if id := f.uuids[c.UUID]; c.UUID != "" && id != "" {
		return map[string]any{"data": map[string]any{"message_id": id}}, 0
	}
	m := &Shown{ID: "om_" + strconv.Itoa(s.id()), ReplyTo: r.PathValue("id")}
	switch c.Type {
	case "interactive":
		var code int
		if m.Text, m.Rich, code = f.card(c.Content, fault); code != 0 {
			return nil, code
		}
	case "file", "image":
		var key struct {
			File string `json:"file_key"`
		}
		if json.Unmarshal([]byte(c.Content), &key) != nil || f.files[key.File] == nil {
			return nil, 230001
		}
		m.File = f.files[key.File]
	}
	s.shown[where] = append(s.shown[where], m)
	f.uuids[c.UUID] = m.ID
	return map[string]any{"data": map[string]any{"message_id": m.ID}}, 0
}

// card parses a card and finds content that Feishu refuses.
func (f *Feishu) card(content string, fault Fault) (text string, rich bool, code int) {
	var card struct {
		Config struct {
			Multi bool `json:"update_multi"`
		}
		Elements []struct {
			Tag     string
			Content string
			Text    struct{ Content string }
		}
	}
	if len(content) > 30<<10 {
		f.state.errorf("a card of %d bytes", len(content))
		return "", false, 230025
	}
	if json.Unmarshal([]byte(content), &card) != nil || len(card.Elements) != 1 || !card.Config.Multi {
		f.state.errorf("the card %s", content)
		return "", false, 230099
	}
	e := card.Elements[0]
	if strings.Contains(e.Content, "<at") {
		f.state.errorf("%q addresses people", e.Content)
	}
	rich = e.Tag == "markdown"
	if rich && fault.Kind == Unformatted {
		return "", false, 230099
	}
	return e.Content + e.Text.Content, rich, 0
}

func (f *Feishu) resource(w http.ResponseWriter, r *http.Request) {
	f.state.mu.Lock()
	file := f.files[r.PathValue("id")+r.PathValue("key")]
	f.state.mu.Unlock()
	if file == nil || r.URL.Query().Get("type") != "file" {
		feishuFail(w, http.StatusBadRequest, 234003, "file not in msg")
		return
	}
	_, _ = w.Write(file.Data)
}
