package chattest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// The credentials of DingTalk's app.
const (
	DingTalkClient = "dingabcdefgh12345678"
	DingTalkSecret = "Zx81QfWv0123456789abcdefghijklmnopqrstuvwxyz"
)

// DingTalk is a server of DingTalk's open platform.
type DingTalk struct {
	state State
	q     sockets
	files map[string]*Sent
	cards map[string]*card
	guids map[string]bool
}

// NewDingTalk starts one.
func NewDingTalk(t testing.TB) *DingTalk {
	f := &DingTalk{files: map[string]*Sent{}, cards: map[string]*card{}, guids: map[string]bool{}}
	mux := http.NewServeMux()
	for path, op := range map[string]string{
		"/v1.0/oauth2/accessToken": "check", "/v1.0/gateway/connections/open": "connect",
		"/v1.0/robot/oToMessages/batchSend": "send", "/v1.0/robot/groupMessages/send": "send",
		"/media/upload": "upload", "/v1.0/robot/messageFiles/download": "file",
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { f.handle(w, r, op) })
	}
	for path, op := range map[string]string{"POST /v1.0/card/instances/createAndDeliver": "card",
		"PUT /v1.0/card/streaming": "edit", "PUT /v1.0/card/instances": "card data"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { f.handle(w, r, op) })
	}
	mux.HandleFunc("GET /files/{code}", f.file)
	mux.HandleFunc("GET /connect", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("ticket") != DingTalkSecret+"+/=" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		f.state.query(r)
		ping := []byte(`{"specVersion":"1.0","type":"SYSTEM","headers":{"topic":"ping","messageId":"p1",` +
			`"contentType":"application/json"},"data":"{\"opaque\":\"x\"}"}`)
		f.q.serve(w, r, ping, f.frame, f.heard)
	})
	f.state.rules = newRules("dingtalk")
	f.state.path = func(r *http.Request) (string, bool) { // its SDK has cards and the stream, but no messages or uploads
		return r.URL.Path, r.URL.Path != "/connect" && !strings.HasPrefix(r.URL.Path, "/files/") &&
			!strings.HasPrefix(r.URL.Path, "/media/") && !strings.HasSuffix(r.URL.Path, "/batchSend") &&
			!strings.HasSuffix(r.URL.Path, "/groupMessages/send")
	}
	f.state.refuse = func(w http.ResponseWriter, _ *http.Request, wrong string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": "invalidParameter", "message": wrong})
	}
	f.q.start(t, &f.state, DingTalkSecret, mux)
	return f
}

// State returns the common part.
func (f *DingTalk) State() *State { return &f.state }

// Chat returns the private chat with a person.
func (f *DingTalk) Chat(person string) string { return "person:" + person }

// Cut ends all connections.
func (f *DingTalk) Cut() { f.q.cut() }

// Repeat sends all messages again.
func (f *DingTalk) Repeat() { f.q.repeat() }

// Disconnect asks the bot to connect again.
func (f *DingTalk) Disconnect() {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	for c := range f.q.conns {
		_ = c.Write(f.state.T.Context(), websocket.MessageText,
			[]byte(`{"specVersion":"1.0","type":"SYSTEM","headers":{"topic":"disconnect","messageId":"d1"},`+
				`"data":"{\"reason\":\"persistent connection is timeout\"}"}`))
	}
}

// Say queues a message of a robot.
func (f *DingTalk) Say(m Said) {
	f.state.do(func() {
		id := "msg" + strconv.Itoa(f.state.id())
		msg := map[string]any{"msgId": id, "msgtype": "text", "conversationId": "cid" + m.From, "conversationType": "1",
			"senderStaffId": m.From, "senderNick": m.Name, "senderId": "$:" + m.From, "senderCorpId": "corp1",
			"chatbotUserId": "$:bot", "createAt": time.Now().UnixMilli(), "text": map[string]any{"content": m.Text},
			"robotCode": DingTalkClient, "chatbotCorpId": "corp1", "isAdmin": false,
			"sessionWebhook":            "https://oapi.dingtalk.com/robot/sendBySession?session=1",
			"sessionWebhookExpiredTime": time.Now().Add(time.Hour).UnixMilli()}
		if m.Group {
			msg["conversationId"], msg["conversationType"], msg["conversationTitle"] = m.Chat, "2", "A group"
			msg["isInAtList"] = m.Mention
			msg["text"] = map[string]any{"content": " " + m.Text + " "}
		}
		if m.Bot || m.Self {
			msg["senderId"] = "$:bot"
		}
		if m.File != nil {
			f.files[id] = m.File
			delete(msg, "text")
			msg["msgtype"], msg["content"] = "file", map[string]any{"downloadCode": id, "fileName": m.File.Name}
		}
		m.over(msg)
		if m.Broken {
			msg["createAt"] = "now"
		}
		kind, _ := msg["msgtype"].(string)
		f.state.event("/v1.0/im/bot/messages/get", kind, msg, m)
		f.q.push(m.Text, msg)
	})
}

func (f *DingTalk) frame(it *item) (websocket.MessageType, []byte) {
	data, _ := json.Marshal(it.body)
	b, err := json.Marshal(map[string]any{"specVersion": "1.0", "type": "CALLBACK", "data": string(data),
		"headers": map[string]string{"topic": "/v1.0/im/bot/messages/get", "messageId": it.envelope,
			"contentType": "application/json", "time": "1"}})
	if err != nil {
		f.state.T.Error(err)
	}
	return websocket.MessageText, b
}

func (f *DingTalk) heard(_ *websocket.Conn, data []byte) bool {
	f.state.frame("answer", data)
	var answer struct {
		Code    int
		Headers map[string]string
		Data    string
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.Code != 200 {
		f.state.errorf("it said %s", data)
	}
	var echo struct{ Opaque string }
	if answer.Headers["messageId"] == "p1" && (json.Unmarshal([]byte(answer.Data), &echo) != nil || echo.Opaque != "x") {
		f.state.errorf("a ping was answered by %s", data)
	}
	f.state.do(func() { f.q.ack(answer.Headers["messageId"]) })
	return false
}

func dingTalkFail(w http.ResponseWriter, status int, code, text string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "message": text, "requestid": "R1"})
}

func (f *DingTalk) handle(w http.ResponseWriter, r *http.Request, op string) {
	token := r.Header.Get("X-Acs-Dingtalk-Access-Token")
	if op == "upload" {
		token = r.URL.Query().Get("access_token")
	}
	if op != "check" && op != "connect" && token != "token-1" {
		dingTalkFail(w, http.StatusBadRequest, "InvalidAuthentication", "不合法的access_token")
		return
	}
	fault := f.state.fault(op)
	slow(r.Context(), fault)
	switch fault.Kind {
	case Rate:
		w.Header().Set("Retry-After", strconv.Itoa(int(fault.After.Seconds())))
		dingTalkFail(w, http.StatusForbidden, "Forbidden.AccessDenied.QpsLimitForApi", "the api is limited")
		return
	case Broken:
		dingTalkFail(w, http.StatusServiceUnavailable, "ServiceUnavailable", "busy")
		return
	case ChatGone:
		dingTalkFail(w, http.StatusBadRequest, "invalidParameter.openConversationId.invalid", "无效的会话")
		return
	case Unknown:
		dingTalkFail(w, http.StatusBadRequest, "invalidClientIdOrSecret", "无效的clientId或者clientSecret")
		return
	case MessageGone:
		dingTalkFail(w, http.StatusBadRequest, "param.outTrackIdNotExist", "卡片不存在")
		return
	case Forbidden:
		dingTalkFail(w, http.StatusForbidden, "Forbidden.AccessDenied.AccessTokenPermissionDenied",
			"应用尚未开通所需的权限：[Card.Instance.Write]")
		return
	}
	result, failure := any(nil), ""
	if strings.HasPrefix(r.URL.Path, "/v1.0/card/") {
		result, failure = f.card(r, op)
	} else {
		result, failure = f.act(r, op)
	}
	switch {
	case fault.Kind == Lost:
		drop(w)
	case failure != "":
		dingTalkFail(w, http.StatusBadRequest, failure, "refused")
	default:
		_ = json.NewEncoder(w).Encode(result)
	}
}

func (f *DingTalk) act(r *http.Request, op string) (result any, failure string) {
	var c struct {
		AppKey, AppSecret, ClientID, ClientSecret, RobotCode, MsgKey, MsgParam string
		OpenConversationID, DownloadCode                                       string
		UserIDs                                                                []string
		Subscriptions                                                          []struct{ Type, Topic string }
	}
	var sent *Sent
	if op == "upload" {
		file, head, err := r.FormFile("media")
		if err != nil {
			f.state.errorf("media: %v", err)
			return nil, "bad"
		}
		data, _ := io.ReadAll(file)
		_ = file.Close()
		sent = &Sent{head.Filename, data}
	} else if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		f.state.errorf("body: %v", err)
	}
	s := &f.state
	s.do(func() {
		switch op {
		case "check":
			if c.AppKey != DingTalkClient || c.AppSecret != DingTalkSecret {
				failure = "invalidClientIdOrSecret"
			}
			result = map[string]any{"accessToken": "token-1", "expireIn": 7200}
		case "connect":
			if c.ClientID != DingTalkClient || c.ClientSecret != DingTalkSecret || len(c.Subscriptions) != 1 {
				failure = "authFailed"
			}
			result = map[string]any{"endpoint": "ws" + strings.TrimPrefix(s.URL, "http") + "/connect",
				"ticket": DingTalkSecret + "+/="}
		case "upload":
			id := "@media" + strconv.Itoa(s.id())
			f.files[id] = sent
			result = map[string]any{"errcode": 0, "media_id": id, "type": "file"}
		case "file":
			if f.files[c.DownloadCode] == nil {
				failure = "invalidParameter.downloadCode"
			}
			result = map[string]any{"downloadUrl": s.URL + "/files/" + c.DownloadCode}
		default:
			where := c.OpenConversationID
			if len(c.UserIDs) == 1 {
				where = f.Chat(c.UserIDs[0])
			}
			result, failure = f.post(where, c.MsgKey, c.MsgParam)
		}
	})
	return result, failure
}

func (f *DingTalk) post(where, key, param string) (any, string) {
	s := &f.state
	var p struct{ Title, Text, MediaID, FileName, FileType, PhotoURL string }
	if err := json.Unmarshal([]byte(param), &p); err != nil {
		s.errorf("msgParam: %v", err)
	}
	m := &Shown{ID: "key" + strconv.Itoa(s.id()), Text: p.Text, Rich: true}
	switch key {
	case "sampleMarkdown":
		if p.Title == "" || p.Text == "" || len(param) > 20000 {
			s.errorf("a message of %d bytes with the title %q", len(param), p.Title)
			return nil, "invalidParameter.msgParam"
		}
	case "sampleFile":
		m.File = f.files[p.MediaID]
		if m.File == nil || p.FileType != "txt" {
			return nil, "invalidParameter.mediaId"
		}
	case "sampleImageMsg":
		if m.File = f.files[p.PhotoURL]; m.File == nil {
			return nil, "invalidParameter.photoURL"
		}
	default:
		return nil, "invalidParameter.msgKey"
	}
	s.shown[where] = append(s.shown[where], m)
	return map[string]any{"processQueryKey": m.ID, "invalidStaffIdList": []string{},
		"flowControlledStaffIdList": []string{}}, ""
}

func (f *DingTalk) file(w http.ResponseWriter, r *http.Request) {
	f.state.mu.Lock()
	file := f.files[r.PathValue("code")]
	f.state.mu.Unlock()
	if file == nil {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(file.Data)
}
