package channels_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/store"
)

// failures are the ways in which things fail, with the tests of what happens then: those of this package and of chat.
var failures = map[string][]string{
	"network gone, DNS, 5xx, TLS": {"TestBetweenTwoTriesItWaitsLonger", "ABrokenConnectionComesBack",
		"AServerErrorMayBeTriedAgain", "TestFaultsOfThePlatformLoseNothing", "TestAnAnswerThatWasNotTakenIsSentAgain"},
	"token wrong or revoked": {"AWrongTokenEndsTheChannel", "TestAWrongTokenIsSaidWithItsRemedy",
		"TestWhatWaitsGoesOnWithARepairedToken"},
	"another program uses the bot": {"TestTelegramWaitsForTheOtherProgram", "TestWeComSaysThatAnotherProgramTookItsPlace"},
	"a switch or scope of the app": {"TestDiscordNamesTheSwitch", "TestSlackNamesTheScopeAndTheSwitch",
		"TestFeishuNamesTheLongConnection"},
	"silent socket":              {"TestASilentConnectionIsMadeAnew"},
	"Slack recycles the socket":  {"TestSlackRecyclesSocketsWithoutLoss"},
	"Discord reconnect, invalid": {"TestDiscordResumes", "TestDiscordReadsWhatALostSessionMissed", "TestDiscordSavesItsSessions"},
	"429 anywhere": {"TooManyCallsSayHowLongToWait", "TestFaultsOfThePlatformLoseNothing",
		"TestAnAnswerThatWasNotTakenIsSentAgain", "TestThePaceOfAPlatformIsKept"},
	"blocked, kicked, deleted": {"AChatThatIsGoneSaysSo", "AMessageThatIsGoneSaysSo",
		"TestADeletedMessageIsReplacedAndABlockedBotGivesUp"},
	"killed": {"TestAKilledServerAnswersEachMessageOnce", "TestAKilledServerAnswersEachMessageOnceOnEveryPlatform",
		"TestAnAnswerThatMayBeMissingIsNotSentTwiceAndSaid", "TestARunThatEndsWhileItIsLookedForIsNotTakenForRemoved"},
	"run fails or is interrupted": {"TestARunThatFailsSaysWhy", "TestStopEndsTheRunAndKeepsItsText"},
	"thread deleted in the web":   {"TestADeletedThreadEndsItsAnswerAndTheNextMessageOpensAnother"},
	"database full":               {"TestAFullDatabaseConfirmsNothing", "NothingIsConfirmedBeforeItIsTaken"},
	"clock jumps, machine sleeps": {"TestASilentConnectionIsMadeAnew", "TestACodeExpiresByTheClockOnTheWall"},
	"an update that cannot be read": {"ABadUpdateBlocksNothing",
		"TestAnUpdateThatCannotBeReadIsKeptAndBlocksNothing"},
}

// TestEachFailureHasItsTests: those that are named are there.
func TestEachFailureHasItsTests(t *testing.T) {
	var all strings.Builder
	for _, pattern := range []string{"*_test.go", "chat/*_test.go", "chat/chattest/suite.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, f := range files {
			data := must.Get(os.ReadFile(f))(t)
			all.Write(data)
		}
	}
	for what, tests := range failures {
		for _, name := range tests {
			if !strings.Contains(all.String(), "func "+name+"(") &&
				!strings.Contains(all.String(), `{"`+name+`", (*suite).`) {
				t.Errorf("%s: there is no %s", what, name)
			}
		}
	}
}

func TestWhatWaitsGoesOnWithARepairedToken(t *testing.T) {
	p := newPlatform(t)
	p.misbehave(func(string) string { return "error" })
	dir := t.TempDir()
	w := start(t, setup{dir: dir, bot: newBot(p.url)})
	p.say("ada", "hello")
	until(t, func() string {
		if rows, err := w.db.OpenAnswers(t.Context(), "telegram"); err != nil || len(rows) != 1 || rows[0].Tries == 0 {
			return fmt.Sprintf("%+v, %v", rows, err)
		}
		return ""
	})
	w.close()
	b := newBot(p.url)
	b.poison = true
	w = start(t, setup{dir: dir, bot: b})
	until(t, func() string {
		if s, _ := w.hub.Status("telegram"); s.Remedy == "" || s.Running {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
	p.misbehave(nil)
	w.hub.Apply(channels.Settings{Bots: []channels.Bot{{Provider: "telegram", Allowed: []string{"*"}, Stamp: "2",
		Open: func() (chat.Channel, error) { return newBot(p.url), nil }}}})
	p.await(t, "ada", "re: hello")
	w.settled(t)
}

func TestADeletedThreadEndsItsAnswerAndTheNextMessageOpensAnother(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.say("ada", "hang on")
	p.await(t, "ada", "re: hang on")
	c := must.Get(w.db.ChannelChat(t.Context(), "telegram", "ada", ""))(t)
	must.Do(t, w.runs.DeleteThread(t.Context(), c.Thread))
	w.settled(t)
	p.say("ada", "hello")
	until(t, func() string {
		if got := p.chat("ada"); len(got) == 0 || got[len(got)-1] != "re: hello" {
			return fmt.Sprintf("shown: %q", got)
		}
		return ""
	})
	w.settled(t)
	if next, err := w.db.ChannelChat(t.Context(), "telegram", "ada", ""); err != nil || next.Thread == c.Thread {
		t.Errorf("it goes on in the deleted thread: %v", err)
	}
}

// TestAFullDatabaseConfirmsNothing: what cannot be stored comes again, and reading goes on by itself.
func TestAFullDatabaseConfirmsNothing(t *testing.T) {
	p := newPlatform(t)
	dir := t.TempDir()
	w := start(t, setup{dir: dir, bot: newBot(p.url)})
	p.say("ada", "first")
	p.await(t, "ada", "re: first")
	w.settled(t)
	db := must.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, "fawn.db")+"?_pragma=busy_timeout(10000)"))(t)
	defer db.Close()
	must.Get(db.Exec(`CREATE TRIGGER no_room BEFORE INSERT ON channel_in
		BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`))(t)
	p.say("ada", "second")
	until(t, func() string {
		if s, _ := w.hub.Status("telegram"); !strings.Contains(s.Error, "full") {
			return fmt.Sprintf("status: %+v", s)
		}
		return ""
	})
	p.mu.Lock()
	if p.polled != 1 {
		t.Errorf("%d messages are confirmed, 1 is stored", p.polled)
	}
	p.mu.Unlock()
	must.Get(db.Exec(`DROP TRIGGER no_room`))(t)
	p.await(t, "ada", "re: first", "re: second")
	until(t, func() string {
		if s, _ := w.hub.Status("telegram"); !s.Running || s.Error != "" {
			return fmt.Sprintf("status: %+v", s)
		}
		return ""
	})
	w.settled(t)
}

func TestAnUpdateThatCannotBeReadIsKeptAndBlocksNothing(t *testing.T) {
	p := newPlatform(t)
	dir := t.TempDir()
	w := start(t, setup{dir: dir, bot: newBot(p.url)})
	p.write(chat.Update{ID: "bad", Problem: "not understood"})
	p.say("ada", "hello")
	p.await(t, "ada", "re: hello")
	w.settled(t)
	db := must.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, "fawn.db")+"?mode=ro"))(t)
	defer db.Close()
	var state, reason string
	if err := db.QueryRow(`SELECT state, reason FROM channel_in WHERE id = 'bad'`).Scan(&state, &reason); err != nil ||
		state != store.InboundFailed || reason != "not understood" {
		t.Errorf("%s, %s, %v", state, reason, err)
	}
}

func TestACodeExpiresByTheClockOnTheWall(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	must.Do(t, w.db.AddChannelCode(t.Context(), "o", "telegram", "late", time.Now().Add(-time.Second), 5))
	c := store.Connection{ID: "1", Provider: "telegram", Account: "7"}
	if _, err := w.db.Connect(t.Context(), "late", c); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a code of yesterday: %v", err)
	}
}
