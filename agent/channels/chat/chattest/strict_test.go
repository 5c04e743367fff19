package chattest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// ledger keeps the errors of a stand-in instead of failing its test.
type ledger struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (l *ledger) Helper() {}

func (l *ledger) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprintf(format, args...))
}

func (l *ledger) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Join(l.said, "\n")
	l.said = nil
	return all
}

// TestStandInsRefuseWhatThePlatformsRefuse: each request here is right but for one thing, so that a stand-in that
// becomes lenient in any of them fails.
func TestStandInsRefuseWhatThePlatformsRefuse(t *testing.T) {
	const (
		object = "application/json"
		form   = "application/x-www-form-urlencoded"
	)
	long := strings.Repeat("x", 4097)
	quiet := `"link_preview_options":{"is_disabled":true}`
	for _, c := range []struct {
		app, method, path, kind, body string
		refusal                       string // part of what is said; empty if the request is right
	}{
		{"telegram", "POST", "/getMe", "", "", ""},
		{"telegram", "POST", "/getMe", object, "{}", ""},
		{"telegram", "POST", "/getMe", object, "null", "JSON object expected"},
		{"telegram", "POST", "/getMe", object, "[]", "JSON object expected"},
		{"telegram", "POST", "/getMe", object, "{} {}", "data after"},
		{"telegram", "POST", "/getMe", "text/plain", "{}", "content type text/plain"},
		{"telegram", "POST", "/getYou", "", "", "no call"},
		{"telegram", "POST", "/sendMessage", object, `{"chat_id":5,"text":"a",` + quiet + `}`, ""},
		{"telegram", "POST", "/sendMessage", object, `{"text":"a",` + quiet + `}`, "chat_id is missing"},
		{"telegram", "POST", "/sendMessage", object, `{"chat_id":5,"text":17,` + quiet + `}`, "text is integer"},
		{"telegram", "POST", "/sendMessage", object, `{"chat_id":5,"text":null,` + quiet + `}`, "text is null"},
		{"telegram", "POST", "/sendMessage", object, `{"chat_id":5,"text":"a","txet":"b",` + quiet + `}`,
			"txet is unknown"},
		{"telegram", "POST", "/sendMessage", object, `{"chat_id":5,"text":"` + long + `",` + quiet + `}`, "4097 characters"},
		{"telegram", "POST", "/sendMessage", object, `{"chat_id":5,"text":"a","entities":[{"type":"bold","offset":0}],` +
			quiet + `}`, "entities[0].length is missing"},
		{"telegram", "POST", "/sendDocument", object, `{"chat_id":5,"document":"x"}`, "content type application/json"},
		{"slack", "POST", "/auth.test", form, "", ""},
		{"slack", "POST", "/auth.test", object, "{}", "content type application/json"},
		{"slack", "POST", "/chat.postMessage", object, `{"channel":"D1","text":"a","unfurl_links":false}`, ""},
		{"slack", "POST", "/chat.postMessage", object, `null`, "JSON object expected"},
		{"slack", "POST", "/chat.postMessage", object, `{"text":"a","unfurl_links":false}`, "channel is missing"},
		{"slack", "POST", "/chat.postMessage", object, `{"channel":"D1","text":"a","unfurl":false}`, "unfurl is unknown"},
		{"slack", "POST", "/chat.postMessage", object, `{"channel":"D1","text":"a","unfurl_links":"no"}`,
			"unfurl_links is string"},
		{"slack", "POST", "/files.completeUploadExternal", object, `{"files":[{"id":"F1","title":"a"}]}`,
			"content type application/json"},
		{"slack", "POST", "/files.completeUploadExternal", form, "channel_id=D1", "files is missing"},
		{"slack", "POST", "/files.getUploadURLExternal", form, "filename=a&length=1", ""},
		{"slack", "POST", "/files.getUploadURLExternal", form, "filename=a", "length is missing"},
		{"slack", "POST", "/files.info", form, "file=F1", "no call"},
		{"slack", "POST", "/reactions.add", form, "channel=D1&timestamp=1.2&name=eyes", ""},
		{"slack", "POST", "/reactions.add", form, "channel=D1&timestamp=1.2", "name is missing"},
		{"discord", "GET", "/users/@me", "", "", ""},
		{"discord", "POST", "/channels/5/typing", "", "", ""},
		{"discord", "POST", "/channels/5/messages", object, `{"content":"a","flags":4,"allowed_mentions":{"parse":[]}}`, ""},
		{"discord", "POST", "/channels/5/messages", object, `null`, "JSON object expected"},
		{"discord", "POST", "/channels/5/messages", form, `content=a`, "content type application/x-www-form-urlencoded"},
		{"discord", "POST", "/channels/5/messages", object, `{"content":17}`, "content is integer"},
		{"discord", "POST", "/channels/5/messages", object, `{"contents":"a"}`, "contents is unknown"},
		{"discord", "POST", "/channels/5/messages", object, `{"content":"` + long + `"}`, "more than 2000"},
		{"discord", "POST", "/channels/5/messages", object, `{"nonce":"01234567890123456789012345"}`, "more than 25"},
		{"discord", "POST", "/channels/5/messages/6/threads", object, `{"auto_archive_duration":1440}`, "name is missing"},
		{"feishu", "POST", "/callback/ws/endpoint", object, `null`, "JSON object expected"},
		{"feishu", "POST", "/callback/ws/endpoint", object, `{"AppID":"a"}`, "AppSecret is missing"},
		{"feishu", "POST", "/callback/ws/endpoint", form, `AppID=a&AppSecret=b`, "content type application/x-www-form-urlencoded"},
		{"dingtalk", "POST", "/v1.0/oauth2/accessToken", object, `null`, "JSON object expected"},
		{"dingtalk", "POST", "/v1.0/oauth2/accessToken", object, `{"appKey":"a","appSecret":5}`, "appSecret is integer"},
	} {
		t.Run(strings.Trim(c.app+" "+c.path+" "+c.refusal, " "), func(t *testing.T) {
			said := &ledger{TB: t}
			var state *State
			prefix, token := "", ""
			switch c.app {
			case "telegram":
				state, prefix = NewTelegram(said).State(), "/bot"+TelegramToken
			case "slack":
				state, token = NewSlack(said).State(), "Bearer "+SlackBotToken
			case "feishu":
				state = NewFeishu(said).State()
			case "dingtalk":
				state = NewDingTalk(said).State()
			case "discord":
				f := NewDiscord(said)
				f.places["5"] = map[string]any{"id": "5", "type": 1}
				state, token = f.State(), "Bot "+DiscordToken
			}
			r, err := http.NewRequestWithContext(t.Context(), c.method, state.URL+prefix+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.kind != "" {
				r.Header.Set("Content-Type", c.kind)
			}
			if token != "" {
				r.Header.Set("Authorization", token)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			taken := resp.StatusCode == http.StatusOK && !strings.Contains(string(answer), `"ok":false`)
			if why := said.take(); taken != (c.refusal == "") || (why == "") != taken || !strings.Contains(why, c.refusal) {
				t.Errorf("%d %s: it says %q, want %q", resp.StatusCode, answer, why, c.refusal)
			}
		})
	}
}

// TestFramesAreThoseOfTheSDKs checks what bots write to sockets.
func TestFramesAreThoseOfTheSDKs(t *testing.T) {
	for _, c := range []struct{ app, frame, body, refusal string }{
		{"slack", "acknowledge", `{"envelope_id":"e"}`, ""},
		{"slack", "acknowledge", `{"envelope_id":null}`, "envelope_id is null"},
		{"slack", "acknowledge", `{}`, "envelope_id is missing"},
		{"discord", "1", `{"op":1,"d":null}`, ""},
		{"discord", "1", `{"op":1}`, "d is missing"},
		{"discord", "2", `{"op":2,"d":{"token":"t","intents":1}}`, "d.properties is missing"},
		{"discord", "6", `{"op":6,"d":{"token":"t","session_id":"s","seq":"9"}}`, "d.seq is string"},
		{"wecom", "aibot_subscribe", `{"cmd":"aibot_subscribe","headers":{"req_id":"r"},"body":{"bot_id":"b"}}`,
			"body.secret is missing"},
		{"dingtalk", "answer", `{"code":200,"headers":{"messageId":"m","contentType":"application/json"},"message":"OK"}`,
			"data is missing"},
		{"discord", "3", `{"op":3,"d":{}}`, "no frame"},
	} {
		wrong := strings.Join(newRules(c.app).checkFrame(c.frame, []byte(c.body)), "\n")
		if (wrong == "") != (c.refusal == "") || !strings.Contains(wrong, c.refusal) {
			t.Errorf("%s %s of %s: %q, want %q", c.frame, c.body, c.app, wrong, c.refusal)
		}
	}
}

// TestStandInsSpeakAsThePlatforms checks that wrong events and answers of a stand-in are found.
func TestStandInsSpeakAsThePlatforms(t *testing.T) {
	chat := map[string]any{"id": 5, "type": "private"}
	right := map[string]any{"message_id": 7, "date": 1, "chat": chat, "text": "a", "of_tomorrow": true}
	wrong := map[string]any{"message_id": 7, "chat": chat, "text": "a"}
	r := newRules("telegram")
	if got := r.checkOwn("EVENT", "Update", map[string]any{"update_id": 1, "message": right}); len(got) > 0 {
		t.Errorf("a right event is refused: %s", got)
	}
	if got := r.checkOwn("EVENT", "Update", map[string]any{"update_id": 1, "message": wrong}); len(got) != 1 {
		t.Errorf("an event without a date: %q", got)
	}
	if got := r.checkOwn("POST", "/sendMessage", wrong); len(got) != 1 {
		t.Errorf("an answer without a date: %q", got)
	}
}
