package channels_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

// BenchmarkChats measures what people and platforms notice, with the store and the run manager as they are, a model
// that answers at once and platforms on this machine. Goals hold for two cores that do nothing else; a figure that
// misses one is said.
func BenchmarkChats(b *testing.B) {
	b.Run("first text", firstText)
	b.Run("a thousand at once", thousand)
	b.Run("acknowledgement", acknowledged)
	b.Run("a thousand open answers", reopened)
	b.Run("idle", idle)
}

func figure(b *testing.B, value, goal float64, unit string) {
	b.Helper()
	b.ReportMetric(value, unit)
	if goal > 0 && value > goal {
		b.Logf("%s is %.2f, the goal is %.2f", unit, value, goal)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// at is the value below which a part of a list is.
func at(list []time.Duration, part float64) time.Duration {
	slices.Sort(list)
	return list[min(int(part*float64(len(list))), len(list)-1)]
}

// firstText is from when a message can be read to when the first words of its answer show, besides the time of a call
// to the platform.
func firstText(b *testing.B) {
	p := newPlatform(b)
	seen := make(chan struct{}, 1)
	p.saw = func(_, text string) {
		if strings.HasPrefix(text, "re:") {
			select {
			case seen <- struct{}{}:
			default:
			}
		}
	}
	w := start(b, setup{bot: newBot(p.url)})
	client := newBot(p.url)
	var took, calls []time.Duration
	for i := range 300 {
		began := time.Now()
		p.say("p"+strconv.Itoa(i), "hello")
		<-seen
		took = append(took, time.Since(began))
		w.settled(b)
		select {
		case <-seen:
		default:
		}
		began = time.Now()
		must.Do(b, client.Typing(b.Context(), chat.Address{Chat: "x"}))
		calls = append(calls, time.Since(began))
	}
	client.client.CloseIdleConnections()
	figure(b, ms(at(took, 0.5)), 5, "p50-ms")
	figure(b, ms(at(took, 0.99)), 40, "p99-ms")
	figure(b, float64(at(took, 0.5))/float64(at(calls, 0.5)), 0, "calls") // in times of a bare call
}

func thousand(b *testing.B) {
	const n = 1000
	p := newPlatform(b)
	p.page = 100 // as many as Telegram hands out at once
	var mu sync.Mutex
	visible := map[string]time.Time{}
	all := make(chan struct{})
	p.saw = func(id, text string) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := visible[id]; !ok && strings.HasPrefix(text, "re:") {
			if visible[id] = time.Now(); len(visible) == n {
				close(all)
			}
		}
	}
	before := heap()
	w := start(b, setup{bot: newBot(p.url), settings: func(s *channels.Settings) { s.MaxRuns = 64 }})
	began := time.Now()
	for i := range n {
		p.say("p"+strconv.Itoa(i), "hello")
	}
	<-all
	figure(b, time.Since(began).Seconds(), 1.5, "all-visible-s")
	most := heap()
	w.settled(b)
	figure(b, time.Since(began).Seconds(), 3, "all-finished-s")
	figure(b, (most-before)/(1<<20), 64, "heap-MB")
}

// heap is what is in use after a collection.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// acknowledged is how long platforms that want an answer to each event wait for it while a thousand come at once.
func acknowledged(b *testing.B) {
	for _, name := range []string{"slack", "feishu"} {
		a := apps(b, name)
		bot := must.Get(a.keys.open(name, a.fake.State().URL))(b)
		w := start(b, setup{provider: name, bot: bot})
		for i := range 1000 {
			a.fake.Say(chattest.Said{From: strconv.Itoa(i), Name: "p", Text: fmt.Sprint("hello ", i)})
		}
		soon(b, time.Now().Add(2*time.Minute), func() string {
			if got := len(a.fake.State().Acks()); got < 1000 {
				return fmt.Sprint(got, " are acknowledged")
			}
			return ""
		})
		figure(b, ms(at(a.fake.State().Acks(), 0.99)), 100, name+"-p99-ms")
		soon(b, time.Now().Add(2*time.Minute), func() string {
			open := must.Get(w.open(b.Context()))(b)
			return open
		})
		w.close()
	}
}

// reopened is how soon a server that starts has delivered the answers that its last one could not.
func reopened(b *testing.B) {
	const n = 1000
	p := newPlatform(b)
	p.fault = func(string) string { return "gone for now" }
	dir := b.TempDir()
	w := start(b, setup{dir: dir, bot: newBot(p.url), settings: func(s *channels.Settings) { s.MaxRuns = 64 }})
	for i := range n {
		p.say("p"+strconv.Itoa(i), "hello")
	}
	patience := time.Now().Add(2 * time.Minute)
	soon(b, patience, func() string {
		lines, err := w.db.OpenLines(b.Context(), "telegram")
		answers, aerr := w.db.OpenAnswers(b.Context(), "telegram")
		if err != nil || aerr != nil || len(lines) > 0 || len(answers) < n {
			return fmt.Sprint(len(lines), " lines and ", len(answers), " answers are open ", err, aerr)
		}
		return ""
	})
	w.close()
	all, shown := make(chan struct{}), 0
	p.mu.Lock()
	p.fault = nil
	p.saw = func(_, text string) {
		if strings.HasPrefix(text, "re:") {
			if shown++; shown == n {
				close(all)
			}
		}
	}
	p.mu.Unlock()
	began := time.Now()
	start(b, setup{dir: dir, bot: newBot(p.url)})
	<-all
	figure(b, time.Since(began).Seconds(), 2, "all-delivered-s")
}

// idle is what a connected bot takes that nobody writes to.
func idle(b *testing.B) {
	for _, name := range []string{"telegram", "slack", "discord", "feishu", "dingtalk", "wecom", "wechat"} {
		a := apps(b, name)
		w := start(b, setup{provider: name, bot: nil, settings: func(s *channels.Settings) { s.Bots = nil }})
		bot := must.Get(a.keys.open(name, a.fake.State().URL))(b)
		kib, routines := heap(), runtime.NumGoroutine()
		w.hub.Apply(channels.Settings{
			Bots: []channels.Bot{{Provider: name, Open: func() (chat.Channel, error) { return bot, nil }}},
		})
		until(b, func() string {
			if s, _ := w.hub.Status(name); !s.Running {
				return "it is not connected: " + s.Error
			}
			return ""
		})
		b.ReportMetric((heap()-kib)/1024, name+"-KiB") // both sides of the connection
		b.ReportMetric(float64(runtime.NumGoroutine()-routines), name+"-goroutines")
		w.close()
	}
}
