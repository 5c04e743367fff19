package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/channels/chat/chattest"
	"fawn/web/webtest"
)

// TestATaskSendsItsResultOverTheAPI to a chat of an account that its owner connected, and to no other; when the account
// is disconnected, that is told wherever its results are.
func TestATaskSendsItsResultOverTheAPI(t *testing.T) {
	t.Parallel()
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
		create(bad).want(t, bad, 422, `"loc":["body","deliver_to"]`)
	}
	offer := webtest.Decode[struct{ Code string }](t, s.send(t, "POST", "/api/channels/telegram/connect", "").body)
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "/start " + offer.Code})
	shows(t, s, f, "7", "Your account is connected")
	webtest.Same(t, "the choice", s.send(t, "GET", "/api/channels/destinations", "").body, `{"chats":[{"provider":"telegram","chat":"7","name":"Ada","group":false}]}`)
	create(`{"provider":"telegram","chat":"8"}`).want(t, "a stranger's chat", 422, "isn't a chat of an account that you connected")
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
		s.send(t, "PATCH", path, c.body).want(t, c.body, 200, c.want)
	}
	s.send(t, "PATCH", "/api/runs/crons/"+task.ID, `{"on_run_completed":"delete"}`).want(t, "the threads would be deleted before they are sent", 422)
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

	all := webtest.Decode[struct{ Connections []struct{ ID string } }](t, s.send(t, "GET", "/api/channels/connections", "").body)
	s.send(t, "DELETE", "/api/channels/connections/"+all.Connections[0].ID, "").must(t, "disconnect", 204)
	before := len(f.State().Shown("7"))
	s.send(t, "POST", path+"/trigger", "")
	runs(`"delivery":{"state":"failed","error":"this chat is no longer connected"}`)
	webtest.Same(t, "it was sent all the same", len(f.State().Shown("7")), before)
	a = s.send(t, "GET", "/api/channels/deliveries?state=failed", "")
	a.holds(t, "undelivered", "no longer connected")
	page := s.send(t, "GET", "/workspace/scheduled-tasks", "").body
	webtest.Holds(t, "the page", page,
		"This chat is no longer connected, so results can’t be sent there.", "The chat was no longer connected.", "result not sent",
		"result sent")
}

// TestAResultIsRepliedToOnEveryChatAppThatTells: a reply to the result of a task goes on in its thread, through the
// whole server.
func TestAResultIsRepliedToOnEveryChatAppThatTells(t *testing.T) {
	t.Parallel()
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
