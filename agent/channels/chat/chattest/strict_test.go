package chattest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
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

// A refusal is a request that is right but for one thing.
type refusal struct {
	app, method, path, kind, body string
	why                           string // part of the expected refusal; empty for a valid request
}

func refusals() []refusal {
	const (
		object = "application/json"
		form   = "application/x-www-form-urlencoded"
	)
	long := strings.Repeat("x", 4097)
	quiet := `"link_preview_options":{"is_disabled":true}`
	return []refusal{
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
		{"feishu", "POST", "/callback/ws/endpoint", object, `{"AppID":5,"AppSecret":"b"}`, "AppID is integer"},
		{"feishu", "POST", "/callback/ws/endpoint", form, `AppID=a&AppSecret=b`, "content type application/x-www-form-urlencoded"},
		{"dingtalk", "POST", "/v1.0/oauth2/accessToken", object, `null`, "JSON object expected"},
		{"dingtalk", "POST", "/v1.0/oauth2/accessToken", object, `{"appKey":"a","appSecret":5}`, "appSecret is integer"},
	}
}

// try makes a request at a stand-in, whose rules mutate may change, and reports how the stand-in judges it otherwise
// than the table; "" if it does not.
func (c refusal) try(t *testing.T, mutate func(*State)) string {
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
		f.places["5"] = discordPrivate("5")
		state, token = f.State(), "Bot "+DiscordToken
	}
	if mutate != nil {
		mutate(state)
	}
	r := must.Get(http.NewRequestWithContext(t.Context(), c.method, state.URL+prefix+c.path, strings.NewReader(c.body)))(t)
	if c.kind != "" {
		r.Header.Set("Content-Type", c.kind)
	}
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	taken := resp.StatusCode/100 == 2 && !strings.Contains(string(answer), `"ok":false`)
	if why := said.take(); taken != (c.why == "") || (why == "") != taken || !strings.Contains(why, c.why) {
		return fmt.Sprintf("%d %s: it says %q, want %q", resp.StatusCode, answer, why, c.why)
	}
	return ""
}

// TestStandInsRefuseWhatThePlatformsRefuse finds a stand-in that becomes lenient in one thing.
func TestStandInsRefuseWhatThePlatformsRefuse(t *testing.T) {
	for _, c := range refusals() {
		t.Run(strings.Trim(c.app+" "+c.path+" "+c.why, " "), func(t *testing.T) {
			if wrong := c.try(t, nil); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// TestALenientStandInIsFound takes one kind of strictness away from one stand-in at a time: the table of refusals must
// notice each.
func TestALenientStandInIsFound(t *testing.T) {
	each := func(change func(*shape)) func(*State) {
		return func(s *State) {
			for _, set := range s.rules.sets {
				for _, c := range set.Calls {
					c.Query.walk(change)
					c.Body.walk(change)
				}
				for _, kind := range set.Types {
					kind.walk(change)
				}
			}
		}
	}
	every := []string{"telegram", "slack", "discord", "feishu", "dingtalk"}
	for _, m := range []struct {
		name   string
		apps   []string
		mutate func(*State)
	}{
		{"all of it", every, func(s *State) { s.rules = nil }},
		{"media types", []string{"telegram", "slack", "discord", "feishu"}, func(s *State) {
			for _, set := range s.rules.sets {
				for _, c := range set.Calls {
					c.Content = nil
				}
			}
		}},
		{"required fields", []string{"telegram", "slack", "discord", "feishu"}, each(func(s *shape) { s.Required = nil })},
		{"unknown fields", []string{"telegram", "slack", "discord"}, each(func(s *shape) { s.Open = true })},
		{"types", every, each(func(s *shape) {
			s.Type = []string{"array", "boolean", "file", "integer", "null", "number", "object", "scalar", "string"}
		})},
		{"limits", []string{"telegram", "discord"}, each(func(s *shape) { s.Max = 0 })},
		{"the list of calls", []string{"telegram", "slack"}, func(s *State) {
			s.path = func(*http.Request) (string, bool) { return "", false }
		}},
	} {
		for _, app := range m.apps {
			t.Run(app+" without "+m.name, func(t *testing.T) {
				for _, c := range refusals() {
					if c.app == app && c.try(t, m.mutate) != "" {
						return
					}
				}
				t.Error("no test notices it")
			})
		}
	}
}

// walk changes a description and all below it.
func (s *shape) walk(change func(*shape)) {
	if s == nil {
		return
	}
	change(s)
	for _, f := range s.Fields {
		f.walk(change)
	}
	s.Items.walk(change)
	for _, one := range s.Any {
		one.walk(change)
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
	update := func(m map[string]any) map[string]any { return map[string]any{"update_id": 1, "message": m} }
	slack := map[string]any{"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "text": "a",
		"ts": "1.2", "event_ts": "1.2"}
	discord := DiscordMessage("7", "5", DiscordUser("1", "Ada", false), "a")
	weCom := map[string]any{"msgid": "m", "aibotid": "b", "chattype": "single", "from": map[string]any{"userid": "u"},
		"msgtype": "text", "text": map[string]any{"content": "a"}}
	dingTalk := map[string]any{"conversationId": "c", "chatbotCorpId": "c", "chatbotUserId": "b", "msgId": "m", "senderNick": "Ada",
		"isAdmin": false, "senderStaffId": "s", "sessionWebhookExpiredTime": 1, "createAt": 1, "senderCorpId": "c",
		"conversationType": "1", "senderId": "s", "sessionWebhook": "", "robotCode": "r", "msgtype": "text",
		"text": map[string]any{"content": "a"}}
	for _, c := range []struct {
		app, method, path string
		right             map[string]any
		lacks             string // a field without which it is wrong
		wrap              func(map[string]any) map[string]any
	}{
		{"telegram", "EVENT", "Update", map[string]any{"message_id": 7, "date": 1, "chat": chat, "text": "a"}, "date", update},
		{"telegram", "POST", "/sendMessage", map[string]any{"message_id": 7, "date": 1, "chat": chat}, "date", nil},
		{"slack", "EVENT", "message", slack, "event_ts", nil},
		{"slack", "POST", "/chat.postMessage", map[string]any{"ok": true, "channel": "C1", "ts": "1.2"}, "ts", nil},
		{"slack", "EVENT", "message file_share", map[string]any{"type": "message", "subtype": "file_share", "channel": "C1",
			"channel_type": "im", "user": "U1", "text": "", "ts": "1.2", "event_ts": "1.2",
			"files": []any{SlackFile("F1", "a.txt", 1)}}, "channel_type", nil},
		{"discord", "EVENT", "MESSAGE_CREATE", discord, "mention_roles", nil},
		{"discord", "POST", "/channels/5/messages", discord, "flags", nil},
		{"discord", "GET", "/channels/5", discordChannel("5"), "name", nil},
		{"discord", "GET", "/channels/5", discordThread("5", "6"), "thread_metadata", nil},
		{"wecom", "EVENT", "aibot_msg_callback", weCom, "chattype", nil},
		{"wecom", "EVENT", "aibot_msg_callback text", weCom, "text", nil},
		{"dingtalk", "EVENT", "/v1.0/im/bot/messages/get", dingTalk, "isAdmin", nil},
		{"dingtalk", "EVENT", "/v1.0/im/bot/messages/get text", dingTalk, "text", nil},
	} {
		r, wrap := newRules(c.app), c.wrap
		if wrap == nil {
			wrap = func(m map[string]any) map[string]any { return m }
		}
		c.right["of_tomorrow"] = true
		if got := r.checkOwn(c.method, c.path, wrap(c.right)); len(got) > 0 {
			t.Errorf("%s %s of %s is right, but %q", c.method, c.path, c.app, got)
		}
		wrong := maps.Clone(c.right)
		delete(wrong, c.lacks)
		if got := r.checkOwn(c.method, c.path, wrap(wrong)); len(got) != 1 || c.path != "/channels/5" && !strings.Contains(got[0], c.lacks) {
			t.Errorf("%s %s of %s without %s: %q", c.method, c.path, c.app, c.lacks, got)
		}
	}
}

// TestInventedFieldsOfEventsAreFound checks what the SDKs' own classes read: a field that they don't know, or one of
// another type, is no event of the platform.
func TestInventedFieldsOfEventsAreFound(t *testing.T) {
	for _, c := range []struct{ app, event, body, fault string }{
		{"feishu", "im.message.receive_v1", `{"schema":"2.0","event":{"message":{"message_id":"m","mentions":[{"key":"k"}]}}}`, ""},
		{"feishu", "im.message.receive_v1", `{"event":{"message":{"id":"m"}}}`, "event.message.id is unknown"},
		{"feishu", "im.message.receive_v1", `{"event":{"message":{"mentions":{}}}}`, "event.message.mentions is object"},
		{"feishu", "im.message.receive_v1", `{"header":{"event":"e"}}`, "header.event is unknown"},
		{"dingtalk", "/v1.0/im/bot/messages/get", `{"conversationTitle":"t","content":{"downloadCode":"c"}}`, ""},
		{"dingtalk", "/v1.0/im/bot/messages/get", `{"title":"t"}`, "title is unknown"},
		{"dingtalk", "/v1.0/im/bot/messages/get", `{"atUsers":"u"}`, "atUsers is string"},
		{"wecom", "aibot_msg_callback text", `{"msgid":"m","user":"u"}`, "user is unknown"},
		{"wecom", "aibot_msg_callback", `{"from":"u"}`, "from is string"},
	} {
		v := must.Get(decodeOne([]byte(c.body)))(t)
		var wrong []string
		for _, one := range newRules(c.app).checkSaid("EVENT", c.event, v, false) {
			if !strings.Contains(one, missingField) {
				wrong = append(wrong, one)
			}
		}
		if all := strings.Join(wrong, "\n"); (all == "") != (c.fault == "") || !strings.Contains(all, c.fault) {
			t.Errorf("%s of %s: %q, want %q", c.body, c.app, all, c.fault)
		}
	}
}
