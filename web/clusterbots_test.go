package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fawn/agent/channels/chat/chattest"
)

// TestBotsAreLookedAfterAtEveryServer: one that doesn't have the bot has an answer sent again, and the bot restarted.
func TestBotsAreLookedAfterAtEveryServer(t *testing.T) {
	t.Parallel()
	f := chattest.NewTelegram(t)
	conf := clustered(t, 200) +
		fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q, allowed_users: [7]}}\n",
			chattest.TelegramToken, f.State().URL)
	a := start(t, conf)
	awaitRunning(t, a, true)
	b := start(t, conf)
	awaitRunning(t, b, true)
	b.send(t, "POST", "/api/channels/deliveries/none/retry", "").want(t, "no such answer", http.StatusNotFound)

	f.State().Fail(chattest.Fault{Op: "send", Kind: chattest.ChatGone})
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "say hello to the bridge"})
	var failed struct {
		Deliveries []struct {
			Run string `json:"run_id"`
		}
	}
	for end := time.Now().Add(patience); len(failed.Deliveries) == 0; time.Sleep(10 * time.Millisecond) {
		got := b.send(t, "GET", "/api/channels/deliveries", "")
		if err := json.Unmarshal([]byte(got.body), &failed); err != nil || time.Now().After(end) {
			t.Fatalf("no failed answer: %s %v", got.body, err)
		}
	}
	again := "/api/channels/deliveries/" + failed.Deliveries[0].Run + "/retry"
	b.send(t, "POST", again, "").want(t, "sent again at the other server", http.StatusAccepted)
	shows(t, a, f, "7", "Scripted reply.")

	before := f.State().Calls("check")
	b.send(t, "POST", "/api/channels/telegram/restart", "").holds(t, "restarted at the other server", `"success":true`)
	for end := time.Now().Add(patience); f.State().Calls("check") == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the bot was not restarted")
		}
	}
	b.send(t, "POST", "/api/channels/slack/restart", "").holds(t, "a bot that nobody has", `"success":false`)
}

// TestASignInByQRCodeGoesOnAtEveryServer, where what they share can be sealed.
func TestASignInByQRCodeGoesOnAtEveryServer(t *testing.T) {
	t.Parallel()
	f := chattest.NewWeChat(t)
	const path = "/api/channels/wechat/qr-login"
	wechat := fmt.Sprintf("channels: {wechat: {qrcode_login_enabled: true, base_url: %q, allowed_users: [ada]}}\n",
		f.State().URL)
	if got := start(t, clustered(t, 200)+wechat).send(t, "POST", path, ""); got.status < 400 || got.status > 499 ||
		!strings.Contains(got.body, "FAWN_SECRET_KEY") {
		t.Errorf("begun without a key: %d %s", got.status, got.body)
	}
	conf := clustered(t, 200) + wechat
	a, b := start(t, conf, sealing(t)), start(t, conf, sealing(t))
	var scan struct{ ID, Status string }
	ask := func(s *server, path, body string) {
		t.Helper()
		got := s.send(t, "POST", path, body)
		if err := json.Unmarshal([]byte(got.body), &scan); got.status != 200 || err != nil {
			t.Fatalf("%d %s %v", got.status, got.body, err)
		}
	}
	ask(a, path, "")
	f.Scan("scaned", "confirmed")
	ask(b, path+"/"+scan.ID+"/poll", "{}")
	if scan.Status != "scanned" {
		t.Errorf("at the other server: %+v", scan)
	}
	ask(a, path+"/"+scan.ID+"/poll", "{}")
	if scan.Status != "confirmed" {
		t.Errorf("at the first: %+v", scan)
	}
	b.shows(t, "/api/channels/wechat/status", `"running":true`, true)
}
