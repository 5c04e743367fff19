package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat/chattest"
	"fawn/web"
	"fawn/web/webtest"
)

// TestAWeChatBotIsSignedInByQRCodeOverTheAPI, where that is switched on: the token goes to secrets.env and nowhere
// else, and the bot answers.
func TestAWeChatBotIsSignedInByQRCodeOverTheAPI(t *testing.T) {
	t.Parallel()
	f, dir := chattest.NewWeChat(t), t.TempDir()
	const path = "/api/channels/wechat/qr-login"
	a := start(t, scripted(t)).send(t, "POST", path, "")
	a.want(t, "by default", 400, "not enabled")
	s := start(t, scripted(t)+fmt.Sprintf(
		"channels: {wechat: {qrcode_login_enabled: true, base_url: %q, allowed_users: [ada@im.wechat]}}\n", f.State().URL),
		func(o *web.Options) { o.Data = dir })
	var scan struct {
		ID, Status, Error string
		Code              string `json:"qrcode_content"`
		Expires           int    `json:"expires_in"`
		Provider          struct {
			Configured bool
			Values     map[string]string `json:"credential_values"`
		}
	}
	do := func(method, path, body string, status int) answer {
		t.Helper()
		a := s.send(t, method, path, body)
		a.must(t, fmt.Sprintf("%s %s", method, path), status, "!"+chattest.WeChatToken)
		if status == 200 {
			must.Do(t, json.Unmarshal([]byte(a.body), &scan))
		}
		return a
	}
	do("POST", path, "", 200)
	if scan.Status != "pending" || !strings.HasPrefix(scan.Code, "https://liteapp.weixin.qq.com/") ||
		scan.Expires < 100 {
		t.Errorf("%+v", scan)
	}
	do("DELETE", path+"/"+scan.ID, "", 204)
	do("POST", path+"/"+scan.ID+"/poll", "{}", 404)
	do("POST", path, "", 200)
	do("POST", path+"/"+scan.ID+"/poll", `{"verify_code":"x"}`, 400)
	f.Scan("scaned", "need_verifycode", "confirmed")
	for _, step := range [][2]string{{"", "scanned"}, {"", "verification_required"},
		{chattest.WeChatDigits, "scanned"}, {"", "confirmed"}} {
		do("POST", path+"/"+scan.ID+"/poll", fmt.Sprintf(`{"verify_code":%q}`, step[0]), 200)
		if scan.Status != step[1] || scan.Error != "" {
			t.Errorf("%+v, want %s", scan, step[1])
		}
	}
	if !scan.Provider.Configured || scan.Provider.Values["bot_token"] != "********" {
		t.Errorf("the app is %+v", scan.Provider)
	}
	where := f.Chat("ada@im.wechat")
	f.Say(chattest.Said{From: "ada@im.wechat", Name: "Ada", Text: "hello"})
	last := ""
	for end := time.Now().Add(patience); !strings.Contains(last, "Scripted") && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		if list := f.State().Shown(where); len(list) > 0 {
			last = list[len(list)-1].Text
		}
	}
	webtest.Holds(t, "the chat shows", last, "Scripted reply")
	keepsToken(t, dir)
	webtest.Holds(t, "the token is in the log", s.log.String(), "!"+chattest.WeChatToken)
}

// keepsToken: WeChat's token is in secrets.env only.
func keepsToken(t *testing.T, dir string) {
	t.Helper()
	for name, want := range map[string]bool{"secrets.env": true, "settings.yaml": false} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(text), chattest.WeChatToken) != want {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// TestAWeChatBotIsSignedInByQRCodeOnItsPage without scripts.
func TestAWeChatBotIsSignedInByQRCodeOnItsPage(t *testing.T) {
	t.Parallel()
	f, dir := chattest.NewWeChat(t), t.TempDir()
	webtest.Holds(t, "it is offered by default", start(t, scripted(t)).send(t, "GET", "/workspace/settings/channels", "").body, "!Sign in by QR code")
	s := start(t, scripted(t)+fmt.Sprintf("channels: {wechat: {qrcode_login_enabled: true, base_url: %q}}\n",
		f.State().URL), func(o *web.Options) { o.Data = dir })
	post := func(action, form string, want ...string) string {
		t.Helper()
		a := s.send(t, "POST", "/ui/channels/by-name/wechat/"+action, form,
			"Content-Type", "application/x-www-form-urlencoded")
		for _, w := range want {
			if !strings.Contains(a.body, w) {
				t.Fatalf("%s %s: %d without %q: %s", action, form, a.status, w, a.body)
			}
		}
		return a.body
	}
	id := func(page string) string {
		_, rest, _ := strings.Cut(page, `name="id" value="`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	page := s.send(t, "GET", "/workspace/settings/channels", "").body
	if !strings.Contains(page, "Sign in by QR code") {
		t.Fatalf("it is not offered: %s", page)
	}
	first := id(post("scan", "", "<svg", "Scan this code with WeChat"))
	post("unscan", "id="+first)
	post("scanned", "id="+first, "The QR code has expired.")
	now := id(post("scan", "", "<svg"))
	f.Scan("scaned", "need_verifycode", "confirmed")
	post("scanned", "id="+now, "Scanned. Confirm on your phone.", "<svg")
	post("scanned", "id="+now, "Code from WeChat", `name="digits"`)
	post("scanned", "id="+now+"&digits=abc", "That code isn’t right.")
	post("scanned", "id="+now+"&digits="+chattest.WeChatDigits, "Scanned.")
	post("scanned", "id="+now)
	webtest.Holds(t, "the page", s.send(t, "GET", "/workspace/settings/channels?open=wechat", "").body, "Connected as", "!"+chattest.WeChatToken)
	keepsToken(t, dir)
}
