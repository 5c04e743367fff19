package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat/chattest"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// shows waits until a chat of a bot ends with a text, and fails when the token shows anywhere.
func shows(t *testing.T, s *server, f *chattest.Telegram, where, want string) {
	t.Helper()
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		list := f.State().Shown(where)
		if got = ""; len(list) > 0 {
			got = list[len(list)-1].Text
		}
		if strings.Contains(got, want) {
			webtest.Holds(t, "the token is in the log", s.log.String(), "!"+chattest.TelegramToken)
			return
		}
	}
	t.Fatalf("chat %s shows %q, want %q", where, got, want)
}

// TestAChannelFollowsTheConfiguration: one that is switched off is left at once, and comes back.
func TestAChannelFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	f := chattest.NewTelegram(t)
	base := scripted(t)
	on := base + fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q, allowed_users: [7]}}\n",
		chattest.TelegramToken, f.State().URL)
	s := start(t, base)
	s.configure(t, on)
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "one"})
	shows(t, s, f, "7", "Scripted reply.")
	s.configure(t, base)
	awaitRunning(t, s, false)
	s.configure(t, on)
	awaitRunning(t, s, true)
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "/new"})
	shows(t, s, f, "7", "new conversation")
}

// awaitRunning waits until Telegram's channel runs, or doesn't.
func awaitRunning(t *testing.T, s *server, want bool) {
	t.Helper()
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		got = s.send(t, "GET", "/api/channels/telegram/status", "").body
		if strings.Contains(got, fmt.Sprintf(`"running":%v`, want)) {
			return
		}
	}
	t.Fatalf("running is not %v: %s", want, got)
}

// TestAnAccountIsConnectedOverTheAPI does what DeerFlow's front end does: looks at the apps, asks for a code, sends
// it to the bot, finds the connection and ends it.
func TestAnAccountIsConnectedOverTheAPI(t *testing.T) {
	t.Parallel()
	f := chattest.NewTelegram(t)
	s := start(t, scripted(t)+fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q}}\n",
		chattest.TelegramToken, f.State().URL))
	awaitRunning(t, s, true)
	list := s.send(t, "GET", "/api/channels/providers", "").body
	webtest.Holds(t, "the token is not masked", list, `"bot_token":"********"`, "!"+chattest.TelegramToken)
	var offer struct {
		Mode, URL, Code string
		Expires         int `json:"expires_in"`
	}
	a := s.send(t, "POST", "/api/channels/telegram/connect", "")
	if err := json.Unmarshal([]byte(a.body), &offer); err != nil || offer.Mode != "deep_link" || offer.Expires != 600 ||
		!strings.HasSuffix(offer.URL, "?start="+offer.Code) || offer.Code == "" {
		t.Fatalf("%d %s %v", a.status, a.body, err)
	}
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "hello"})
	shows(t, s, f, "7", "connected account")
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "/start " + offer.Code})
	var all struct {
		Connections []struct {
			ID, Status string
			Account    string `json:"external_account_id"`
		}
	}
	for end := time.Now().Add(patience); time.Now().Before(end) &&
		len(all.Connections) == 0; time.Sleep(5 * time.Millisecond) {
		a := s.send(t, "GET", "/api/channels/connections", "")
		must.Do(t, json.Unmarshal([]byte(a.body), &all))
	}
	if len(all.Connections) != 1 || all.Connections[0].Status != "connected" || all.Connections[0].Account != "7" {
		t.Fatalf("connections: %+v", all)
	}
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "hello again"})
	shows(t, s, f, "7", "Scripted reply.")
	s.send(t, "DELETE", "/api/channels/connections/"+all.Connections[0].ID, "").want(t, "disconnect", 204)
	s.send(t, "GET", "/api/channels/connections", "").holds(t, "afterwards", `"status":"revoked"`)
	s.send(t, "POST", "/api/channels/telegram/test", `{"values": {"bot_token": "********"}}`).holds(t, "test with the stored token", `"ok":true`)
}

// TestAGroupIsSwitchedOverTheAPI: where somebody let the bot in, the owner can shut it out, and forget the group.
func TestAGroupIsSwitchedOverTheAPI(t *testing.T) {
	t.Parallel()
	f := chattest.NewTelegram(t)
	s := start(t,
		scripted(t)+fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q, allowed_users: [7]}}\n",
			chattest.TelegramToken, f.State().URL))
	write := func(text string) {
		f.Say(chattest.Said{Group: true, Chat: "-100", From: "7", Name: "Ada", Mention: true, Text: text})
	}
	write("/allow")
	shows(t, s, f, "-100", "I can answer in this group now.")
	const chat = "/api/channels/chats/telegram/-100"
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/channels/chats?provider=telegram", "", 200, `"chat_id":"-100","topic_id":"","kind":"group"`},
		{"PATCH", chat, `{"members":"some"}`, 422, "all or paired"},
		{"PATCH", chat, `{"members":"all"}`, 200, `"enabled":true`},
		{"PATCH", chat, `{"enabled":false}`, 200, `"enabled":false`},
		{"PATCH", "/api/channels/chats/telegram/-101", `{"enabled":false}`, 404, "Chat not found"},
	} {
		s.send(t, c.method, c.path, c.body).want(t, fmt.Sprintf("%s %s %s", c.method, c.path, c.body), c.status, c.want)
	}
	write("are you there?")
	shows(t, s, f, "-100", "I don't answer in this group yet.")
	for _, status := range []int{204, 404} {
		s.send(t, "DELETE", chat, "").want(t, "forget", status)
	}
}

// TestAThreadOfAStrangerHasHarmlessToolsOnly: also for runs that begin in it over the API.
func TestAThreadOfAStrangerHasHarmlessToolsOnly(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	s := start(t, scriptedBy(model))
	for thread, metadata := range map[string]string{"own": `{"open": true}`,
		"theirs": `{"channel_source": {"type": "im_channel", "open": true}}`} {
		model.Forget()
		s.send(t, "POST", "/api/threads", fmt.Sprintf(`{"thread_id": %q, "metadata": %s}`, thread, metadata))
		s.send(t, "POST", "/api/threads/"+thread+"/runs/wait",
			`{"assistant_id": "lead_agent", "input": {"messages": [{"role": "user", "content": "hello"}]}}`)
		var names []string
		for _, r := range model.Requests() {
			sent := webtest.Decode[struct {
				Tools []struct{ Function struct{ Name string } }
			}](t, string(r.Body))
			for _, tool := range sent.Tools {
				names = append(names, tool.Function.Name)
			}
		}
		if all := len(names) > 1; len(names) == 0 || all != (thread == "own") || !slices.Contains(names, "web_search") {
			t.Errorf("tools of the thread %s: %q", thread, names)
		}
	}
}

// TestAnAnswerOfThePageReachesOutToAChat that its owner connected: in a conversation that began on the page, and to no
// chat of others.
func TestAnAnswerOfThePageReachesOutToAChat(t *testing.T) {
	t.Parallel()
	f := chattest.NewTelegram(t)
	s := start(t, scripted(t)+fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q}}\n",
		chattest.TelegramToken, f.State().URL))
	awaitRunning(t, s, true)
	webtest.Holds(t, "there is a choice of no chats", s.send(t, "GET", "/workspace/chats/new", "").body, "!also-to")
	offer := webtest.Decode[struct{ Code string }](t, s.send(t, "POST", "/api/channels/telegram/connect", "").body)
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "/start " + offer.Code})
	shows(t, s, f, "7", "Your account is connected")
	webtest.Holds(t, "there is no choice", s.send(t, "GET", "/workspace/chats/new", "").body, "Telegram · Ada")
	say := func(thread, also string) {
		t.Helper()
		form := url.Values{"thread": {thread}, "text": {"say hello"}, "also": {also}}
		a := s.send(t, "POST", "/ui/threads", form.Encode(), "Content-Type",
			"application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
		if a.status/100 > 3 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	const thread = "0f4c1a52-7d0e-4c07-9f0a-5b1f3a1f7a11"
	say(thread, `{"provider":"telegram","chat":"8"}`) // a stranger's
	say("0f4c1a52-7d0e-4c07-9f0a-5b1f3a1f7a12", `{"provider":"telegram","chat":"7"}`)
	shows(t, s, f, "7", "Scripted reply.")
	if got := f.State().Shown("8"); len(got) > 0 {
		t.Errorf("a stranger is told %+v", got)
	}
	list := f.State().Shown("7")
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "go on", ReplyTo: list[len(list)-1].ID})
	for end := time.Now().Add(patience); time.Now().Before(end) && len(f.State().Shown("7")) == len(list); {
		time.Sleep(5 * time.Millisecond)
	}
	body := s.send(t, "GET", "/api/threads/0f4c1a52-7d0e-4c07-9f0a-5b1f3a1f7a12/state", "").body
	webtest.Holds(t, "a reply does not go on in the conversation", body, "go on")
}

// TestTryingABotTellsWhatItLacks, over the API and on the page.
func TestTryingABotTellsWhatItLacks(t *testing.T) {
	t.Parallel()
	f := chattest.NewSlack(t)
	f.Grant("chat:write", "im:history", "channels:history", "groups:history", "files:write", "reactions:read", "reactions:write")
	s := start(t, scripted(t)+fmt.Sprintf("channels: {slack: {enabled: false, base_url: %q}}\n", f.State().URL))
	a := s.send(t, "POST", "/api/channels/slack/test", fmt.Sprintf(`{"values": {"bot_token": %q, "app_token": %q}}`,
		chattest.SlackBotToken, chattest.SlackAppToken))
	if want := `"missing":[{"permission":"files:read","prevents":"The bot can't read files that people send."}]`; a.status != 200 ||
		!strings.Contains(a.body, want) || !strings.Contains(a.body, `"ok":true`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	form := url.Values{"bot_token": {chattest.SlackBotToken}, "app_token": {chattest.SlackAppToken}}
	a = s.send(t, "POST", "/ui/channels/by-name/slack/test", form.Encode(), "Content-Type",
		"application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin", "HX-Request", "true")
	a.holds(t, "the page says no", "Signed in as @fawn", "<code>files:read</code>", "can’t read files that people send", "OAuth &amp; Permissions")
}
