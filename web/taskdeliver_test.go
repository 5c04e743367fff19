package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/channels/chat/chattest"
)

// TestATaskSendsItsResultOverTheAPI to a chat of an account that its owner connected, and to no other; when the account
// is disconnected, that is told wherever its results are.
func TestATaskSendsItsResultOverTheAPI(t *testing.T) {
	f := chattest.NewTelegram(t)
	s := start(t, scripted(t)+fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q}}\n",
		chattest.TelegramToken, f.State().URL))
	awaitRunning(t, s, true)
	create := func(deliver string) answer {
		return s.send(t, "POST", "/api/scheduled-tasks",
			`{"title":"Morning report","prompt":"report","schedule_type":"cron","schedule_spec":{"cron":"0 0 1 1 *"},"timezone":"UTC","deliver_to":`+deliver+`}`)
	}
	const mine = `{"provider":"telegram","chat":"7"}`
	for _, bad := range []string{mine, `{"provider":"telegram","chat":"-100"}`, `{"provider":"slack","chat":"7"}`,
		`"7"`, `{}`} {
		if a := create(bad); a.status != 422 || !strings.Contains(a.body, `"loc":["body","deliver_to"]`) {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
	var offer struct{ Code string }
	if err := json.Unmarshal([]byte(s.send(t, "POST", "/api/channels/telegram/connect", "").body), &offer); err != nil {
		t.Fatal(err)
	}
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "/start " + offer.Code})
	shows(t, s, f, "7", "Your account is connected")
	if a := s.send(t, "GET", "/api/channels/destinations", ""); a.body !=
		`{"chats":[{"provider":"telegram","chat":"7","name":"Ada","group":false}]}` {
		t.Errorf("the choice: %s", a.body)
	}
	if a := create(`{"provider":"telegram","chat":"8"}`); a.status != 422 ||
		!strings.Contains(a.body, "isn't a chat of an account that you connected") {
		t.Errorf("a stranger's chat: %d %s", a.status, a.body)
	}
	var task struct {
		ID      string
		Deliver map[string]string `json:"deliver_to"`
	}
	a := create(mine)
	if err := json.Unmarshal([]byte(a.body), &task); err != nil || a.status != 200 || task.Deliver["chat"] != "7" {
		t.Fatalf("%d %s %v", a.status, a.body, err)
	}
	path := "/api/scheduled-tasks/" + task.ID
	for _, c := range []struct{ body, want string }{{`{"deliver_to":null}`, `"deliver_to":null`},
		{`{"title":"Report"}`, `"deliver_to":null`}, {`{"deliver_to":` + mine + `}`, `"deliver_to":` + mine},
		{`{"title":"Morning report"}`, `"deliver_to":` + mine}} {
		if a := s.send(t, "PATCH", path, c.body); a.status != 200 || !strings.Contains(a.body, c.want) {
			t.Errorf("%s: %d %s", c.body, a.status, a.body)
		}
	}
	if a := s.send(t, "PATCH", "/api/runs/crons/"+task.ID, `{"on_run_completed":"delete"}`); a.status != 422 {
		t.Errorf("the threads would be deleted before they are sent: %d %s", a.status, a.body)
	}
	runs := func(want string) {
		t.Helper()
		var got string
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if got = s.send(t, "GET", path+"/runs?limit=1", "").body; strings.Contains(got, want) &&
				strings.Contains(got, `"status":"success"`) {
				return
			}
		}
		t.Fatalf("the runs are %s, want %s", got, want)
	}
	s.send(t, "POST", path+"/trigger", "")
	shows(t, s, f, "7", "Morning report\n\nScripted reply.")
	runs(`"delivery":{"state":"sent","error":null}`)

	var all struct{ Connections []struct{ ID string } }
	if err := json.Unmarshal([]byte(s.send(t, "GET", "/api/channels/connections", "").body), &all); err != nil {
		t.Fatal(err)
	}
	if a := s.send(t, "DELETE", "/api/channels/connections/"+all.Connections[0].ID, ""); a.status != 204 {
		t.Fatalf("disconnect: %d %s", a.status, a.body)
	}
	before := len(f.State().Shown("7"))
	s.send(t, "POST", path+"/trigger", "")
	runs(`"delivery":{"state":"failed","error":"this chat is no longer connected"}`)
	if got := f.State().Shown("7"); len(got) != before {
		t.Errorf("it was sent all the same: %+v", got)
	}
	a = s.send(t, "GET", "/api/channels/deliveries?state=failed", "")
	if !strings.Contains(a.body, "no longer connected") {
		t.Errorf("undelivered: %s", a.body)
	}
	page := s.send(t, "GET", "/workspace/scheduled-tasks", "").body
	if !strings.Contains(page, "This chat is no longer connected, so results can’t be sent there.") ||
		!strings.Contains(page, "The chat was no longer connected.") ||
		!strings.Contains(page, "result not sent") || !strings.Contains(page, "result sent") {
		t.Errorf("the page: %s", page)
	}
}

// TestAResultIsRepliedToOnEveryChatAppThatTells: a reply to the result of a task goes on in its thread, through the
// whole server.
func TestAResultIsRepliedToOnEveryChatAppThatTells(t *testing.T) {
	apps := chatApps(t)
	names := []string{"telegram", "slack", "discord", "feishu"}
	conf := scripted(t) + "channels:\n"
	for _, name := range names {
		app := apps[name]
		conf += fmt.Sprintf("  %s: {enabled: true, %s, base_url: %q}\n", name, app.keys, app.fake.State().URL)
	}
	s := start(t, conf)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resultIsRepliedTo(t, s, name, apps[name])
		})
	}
}

func resultIsRepliedTo(t *testing.T, s *server, name string, app chatApp) {
	where := app.fake.Chat(app.person)
	shown := func(what string, n int) (id string) {
		t.Helper()
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			found := 0
			for _, m := range app.fake.State().Shown(where) {
				if strings.Contains(m.Text, what) {
					found, id = found+1, m.ID
				}
			}
			if found == n {
				return id
			}
		}
		t.Fatalf("%q is not shown %d times: %+v", what, n, app.fake.State().Shown(where))
		return ""
	}
	get := func(method, path, body string, into any) {
		t.Helper()
		var a answer
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if a = s.send(t, method, path, body); a.status/100 == 2 {
				break
			}
		}
		if err := json.Unmarshal([]byte(a.body), into); err != nil || a.status/100 != 2 {
			t.Fatalf("%s: %d %s %v", path, a.status, a.body, err)
		}
	}
	var offer struct{ Code string }
	get("POST", "/api/channels/"+name+"/connect", "", &offer)
	app.fake.Say(chattest.Said{From: app.person, Name: "Ada", Text: "/connect " + offer.Code})
	shown("Your account is connected", 1)
	var task struct{ ID string }
	get("POST", "/api/scheduled-tasks", fmt.Sprintf(`{"title":"Report","prompt":"report","schedule_type":"cron",
		"schedule_spec":{"cron":"0 0 1 1 *"},"timezone":"UTC","deliver_to":{"provider":%q,"chat":%q}}`, name, where), &task)
	var done struct{}
	get("POST", "/api/scheduled-tasks/"+task.ID+"/trigger", "", &done)
	result := shown("Scripted reply", 1)
	// No person replies before the server knows the message.
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := s.app.DB().ChannelChat(t.Context(), name, where, result); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the message is not known: %v", err)
		}
	}
	app.fake.Say(chattest.Said{From: app.person, Name: "Ada", Text: "what of it", ReplyTo: result})
	shown("Scripted reply", 2)
	var runs []struct {
		Thread string `json:"thread_id"`
	}
	get("GET", "/api/scheduled-tasks/"+task.ID+"/runs?limit=1", "", &runs)
	if len(runs) != 1 {
		t.Fatalf("the runs are %+v", runs)
	}
	var state struct {
		Values struct {
			Messages []struct{ Type, Content string }
		}
	}
	said := ""
	for end := time.Now().Add(patience); said != "human ai human ai" && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		state.Values.Messages, said = nil, "" // the run ends after its answer shows
		get("GET", "/api/threads/"+runs[0].Thread+"/state", "", &state)
		for _, m := range state.Values.Messages {
			said = strings.TrimSpace(said + " " + m.Type)
		}
	}
	if said != "human ai human ai" || state.Values.Messages[2].Content != "what of it" {
		t.Errorf("the thread of the task: %+v", state.Values.Messages)
	}
}
