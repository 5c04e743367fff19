package channels_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
	"fawn/web/e2e/gate"
)

// crashApp is the name of the chat app that a child process talks to.
const crashApp = "FAWN_TEST_CRASH_APP"

// keys are what is configured for an app.
type keys map[string]string

func (k keys) Text(key string) string { return k[key] }
func (k keys) Switch(key string, otherwise bool) bool {
	return otherwise || k[key] == "true"
}
func (k keys) open(name, url string) (chat.Channel, error) {
	p, _ := channels.ProviderOf(provider(name))
	ch, err := p.Open(k, chat.Options{BaseURL: url, FirstWait: 10 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	if self, ok := ch.(chat.Known); ok {
		return struct {
			hurried
			chat.Known
		}{hurried{ch}, self}, nil
	}
	if at, ok := ch.(chat.Attacher); ok {
		return struct {
			hurried
			chat.Attacher
		}{hurried{ch}, at}, nil
	}
	return hurried{ch}, nil
}

// hurried is a channel without the pace of its platform.
type hurried struct{ chat.Channel }

func (h hurried) Limits() chat.Limits {
	l := h.Channel.Limits()
	l.EditEvery, l.GroupEditEvery = time.Millisecond, time.Millisecond
	l.Chat, l.Group, l.Bot = chat.Bucket{}, chat.Bucket{}, chat.Bucket{}
	return l
}

// app is a stand-in of a chat app with its keys.
type app struct {
	fake  chattest.Fake
	keys  keys
	once  bool // what was delivered is not delivered again
	maybe bool // a message is sent at most once
}

// variants are apps with keys that change how answers are sent.
var variants = []string{"telegram rich", "dingtalk cards", "dingtalk no-cards"}

// provider is the app of a variant.
func provider(name string) string {
	p, _, _ := strings.Cut(name, " ")
	return p
}

func apps(t testing.TB, name string) app {
	switch name {
	case "telegram rich":
		return app{fake: chattest.NewTelegram(t), keys: appKeys[name]}
	case "dingtalk cards":
		return app{fake: chattest.NewDingTalk(t), keys: appKeys[name]}
	case "dingtalk no-cards":
		return app{fake: chattest.NewDingTalk(t), keys: appKeys[name], maybe: true}
	case "telegram":
		return app{fake: chattest.NewTelegram(t), keys: appKeys[name]}
	case "slack":
		return app{fake: chattest.NewSlack(t), keys: appKeys[name]}
	case "discord":
		return app{fake: chattest.NewDiscord(t), keys: appKeys[name]}
	case "feishu":
		return app{fake: chattest.NewFeishu(t), keys: appKeys[name]}
	case "dingtalk":
		return app{fake: chattest.NewDingTalk(t), keys: appKeys[name], maybe: true}
	case "wecom":
		return app{fake: chattest.NewWeCom(t), keys: appKeys[name], maybe: true, once: true}
	case "wechat":
		return app{fake: chattest.NewWeChat(t), keys: appKeys[name], maybe: true}
	}
	t.Fatalf("there is no stand-in of %s", name)
	return app{}
}

var appKeys = map[string]keys{
	"telegram":      {"bot_token": chattest.TelegramToken},
	"slack":         {"bot_token": chattest.SlackBotToken, "app_token": chattest.SlackAppToken},
	"discord":       {"bot_token": chattest.DiscordToken},
	"feishu":        {"app_id": chattest.FeishuApp, "app_secret": chattest.FeishuSecret},
	"dingtalk":      {"client_id": chattest.DingTalkClient, "client_secret": chattest.DingTalkSecret},
	"telegram rich": {"bot_token": chattest.TelegramToken, "rich_messages": "true"},
	"dingtalk cards": {"client_id": chattest.DingTalkClient, "client_secret": chattest.DingTalkSecret,
		"card_template_id": chattest.DingTalkTemplate},
	"dingtalk no-cards": {"client_id": chattest.DingTalkClient, "client_secret": chattest.DingTalkSecret,
		"card_template_id": "unknown.schema"},
	"wecom":  {"bot_id": chattest.WeComBot, "bot_secret": chattest.WeComSecret},
	"wechat": {"bot_token": chattest.WeChatToken},
}

// crashChild is a server with one bot until it is killed. It says on an address of its own what is open.
func crashChild(dir, name string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	bot, err := appKeys[name].open(name, os.Getenv(crashURL))
	fail(err)
	w, err := open(context.Background(), setup{dir: dir, provider: provider(name), bot: bot})
	fail(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Println(l.Addr())
	fail(http.Serve(l, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		open, err := w.open(r.Context())
		if err != nil {
			open = err.Error()
		}
		_, _ = io.WriteString(rw, open)
	})))
}

// child starts a server. what asks it what is open.
func child(t *testing.T, dir, name, url string) (kill func(), what func() string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), crashDir+"="+dir, crashURL+"="+url, crashApp+"="+name)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	address := ""
	kill = func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	return kill, func() string {
		if address == "" {
			line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
			address = strings.TrimSpace(line)
		}
		res, err := http.Get("http://" + address)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return string(body)
	}
}

// TestAKilledServerAnswersEachMessageOnceOnEveryPlatform kills the server at random points while people write, through
// the adapter of each platform. In the end each message that the platform delivers again stands in exactly one answer,
// whole and in order. Where messages can neither be edited nor sent twice as one, an answer may be missing, and the
// next one says so.
func TestAKilledServerAnswersEachMessageOnceOnEveryPlatform(t *testing.T) {
	kills := gate.Pick(2, 4, 300)
	names := slices.Clone(variants)
	for _, p := range channels.Providers() {
		names = append(names, p.Name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of them wait
			killed(t, name, apps(t, name), kills)
		})
	}
}

func killed(t *testing.T, name string, a app, kills int) {
	const chats = 20
	dir, state := t.TempDir(), a.fake.State()
	person := func(who int) string { return strconv.Itoa(4700 + who) }
	sent := make([]int, chats)
	var said []string
	for n := range kills {
		conns := state.Conns()
		kill, what := child(t, dir, name, state.URL)
		for range 4 {
			who := rand.IntN(chats)
			sent[who]++
			text := fmt.Sprintf("%sask-%d-%d.", []string{"", "slow "}[rand.IntN(2)], who, sent[who])
			said = append(said, text)
			a.fake.Say(chattest.Said{From: person(who), Name: "p", Text: text})
		}
		if n%2 == 1 { // a run that was cut off three times is given up
			quiet := 0
			until(t, func() string {
				if i := slices.IndexFunc(said, func(s string) bool { return !a.once && !state.Confirmed(s) }); i >= 0 {
					return said[i] + " is not confirmed"
				}
				if open := what(); open != "" {
					quiet = 0
					return open
				}
				if quiet++; a.once && quiet < 20 { // what was written to a socket may not be read yet
					return "not quiet yet"
				}
				return ""
			})
		} else {
			time.Sleep(time.Duration(20+rand.IntN(250)) * time.Millisecond)
		}
		kill()
		state.WaitLeft(conns) // and what is written to the socket of a bot that was killed is lost
	}
	bot := must.Get(a.keys.open(name, state.URL))(t)
	w := start(t, setup{dir: dir, provider: provider(name), bot: bot})
	if a.once { // all that is delivered comes before what was said last
		sent[0]++
		last := fmt.Sprintf("ask-0-%d.", sent[0])
		said = append(said, last)
		a.fake.Say(chattest.Said{From: person(0), Name: "p", Text: last})
		until(t, func() string {
			all := state.Shown(a.fake.Chat(person(0)))
			if !slices.ContainsFunc(all, func(m chattest.Shown) bool { return strings.Contains(m.Text, last) }) {
				return fmt.Sprintf("%s is not answered: %+v", last, all)
			}
			return ""
		})
	}
	until(t, func() string {
		if i := slices.IndexFunc(said, func(s string) bool { return !a.once && !state.Confirmed(s) }); i >= 0 {
			return said[i] + " is not confirmed"
		}
		return ""
	})
	w.settled(t)
	taken, lost := counted(t, dir)
	answered, noted := 0, 0
	for who := range chats {
		var order []int
		for _, m := range state.Shown(a.fake.Chat(person(who))) {
			if m.Text == "…" {
				continue
			}
			text, note := strings.CutPrefix(m.Text, "My last message may be missing: /again\n\n")
			if note {
				noted++
			}
			if !strings.HasPrefix(text, "re: ") {
				t.Errorf("%s: the chat shows %q", person(who), m.Text)
			}
			for part := range strings.SplitSeq(text, fmt.Sprintf("ask-%d-", who)) {
				if n, err := strconv.Atoi(strings.SplitN(part, ".", 2)[0]); err == nil {
					order = append(order, n)
				}
			}
		}
		answered += len(order)
		if !slices.IsSorted(order) || len(slices.Compact(slices.Clone(order))) != len(order) {
			t.Errorf("%s: answered %v", person(who), order)
		}
		if !a.maybe && len(order) != sent[who] {
			failed, err := w.db.Undelivered(t.Context(), 10)
			t.Logf("not delivered: %+v, %v", failed, err)
			t.Errorf("%s: %d of %d messages are answered: %v", person(who), len(order), sent[who], order)
		}
	}
	if d, ok := a.fake.(*chattest.DingTalk); ok && d.Open() > 0 {
		t.Errorf("%d cards look as if more came", d.Open())
	}
	switch {
	case !a.once && taken != len(said):
		t.Errorf("%d of %d messages were taken", taken, len(said))
	case !a.maybe && lost > 0, answered > taken, answered+lost < taken:
		t.Errorf("%d messages taken, %d answered, %d in answers that may be missing", taken, answered, lost)
	}
	t.Logf("%d kills, %d messages said, %d taken, %d answered, %d in answers that may be missing, said %d times", kills,
		len(said), taken, answered, lost, noted)
}

// counted is how many messages were taken, and how many of them are in answers that may be missing.
func counted(t *testing.T, dir string) (taken, lost int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "fawn.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.QueryRow(`SELECT count(*) FROM channel_in`).Scan(&taken)
	if err == nil {
		err = db.QueryRow(`SELECT count(*) FROM channel_in WHERE run IN (SELECT run FROM channel_out WHERE state = 'unknown')`).Scan(&lost)
	}
	if err != nil {
		t.Fatal(err)
	}
	return taken, lost
}
