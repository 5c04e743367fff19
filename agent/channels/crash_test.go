package channels_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/e2e/gate"
)

// A child process gets its data folder and the address of the platform by these.
const (
	crashDir = "FAWN_TEST_CRASH_DIR"
	crashURL = "FAWN_TEST_CRASH_URL"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if name := os.Getenv(crashApp); name != "" {
			crashChild(dir, name)
		}
		if _, err := open(context.Background(), setup{dir: dir, bot: newBot(os.Getenv(crashURL)),
			tasks: true}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {} // until it is killed
	}
	agenttest.Main(m)
}

// TestAKilledServerAnswersEachMessageOnce kills the server at random points while people write: in the end each message
// stands in exactly one answer, whole and in order, and no text stands twice.
func TestAKilledServerAnswersEachMessageOnce(t *testing.T) {
	kills := gate.Pick(3, 12, 300)
	p := newPlatform(t)
	dir := t.TempDir()
	const chats = 20
	sent := make([]int, chats)
	answered := func() string {
		for who := range chats {
			shown := strings.Join(p.chat("p"+strconv.Itoa(who)), "\n")
			for n := 1; n <= sent[who]; n++ {
				if !strings.Contains(shown, fmt.Sprintf("ask-%d-%d.", who, n)) {
					return fmt.Sprintf("message %d of %d is not answered: %s", n, who, shown)
				}
			}
		}
		return ""
	}
	for kill := range kills {
		conns := p.open()
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), crashDir+"="+dir, crashURL+"="+p.url)
		child.Stderr = os.Stderr
		must.Do(t, child.Start())
		for range 4 {
			who := rand.IntN(chats)
			sent[who]++
			kind := []string{"", "slow "}[rand.IntN(2)]
			p.say("p"+strconv.Itoa(who), fmt.Sprintf("%sask-%d-%d.", kind, who, sent[who]))
		}
		if kill%2 == 1 { // a run that was cut off three times is given up
			until(t, answered)
		} else {
			time.Sleep(time.Duration(20+rand.IntN(250)) * time.Millisecond)
		}
		p.kill(t, child, conns)
	}
	w := start(t, setup{dir: dir, bot: newBot(p.url)})
	until(t, answered)
	w.settled(t)
	for who := range chats {
		id := "p" + strconv.Itoa(who)
		var order []int
		for _, text := range p.chat(id) {
			if !strings.HasPrefix(text, "re: ") {
				t.Errorf("%s reads %q", id, text)
			}
			for part := range strings.SplitSeq(text, fmt.Sprintf("ask-%d-", who)) {
				if n, err := strconv.Atoi(strings.SplitN(part, ".", 2)[0]); err == nil {
					order = append(order, n)
				}
			}
		}
		want := make([]int, sent[who])
		for i := range want {
			want[i] = i + 1
		}
		if !slices.Equal(order, want) {
			t.Errorf("%s: answered %v, want %v; the chat shows %q", id, order, want, p.chat(id))
		}
		if n := p.orphans(id); n > kills {
			t.Errorf("%s: %d placeholders are left after %d kills", id, n, kills)
		}
	}
	if findings, err := w.db.Check(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("check: %v %v", findings, err)
	}
}
