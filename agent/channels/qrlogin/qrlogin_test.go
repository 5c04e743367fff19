package qrlogin_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
	"fawn/agent/channels/qrlogin"
	"fawn/agent/clusterstate"
)

// TestABotIsSignedInByQRCode: what each status of iLink's becomes, and that the token is handed over once.
func TestABotIsSignedInByQRCode(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []string
		digits   []string // of each look
		want     []string // state and problem after each look
		kept     int
	}{
		{"confirmed", []string{"scaned", "confirmed"}, []string{"", "", ""},
			[]string{"scanned ", "confirmed ", "confirmed "}, 1},
		{"nothing yet", nil, []string{"", ""}, []string{"pending ", "pending "}, 0},
		{"digits", []string{"need_verifycode", "confirmed"}, []string{"", "1", chattest.WeChatDigits, ""},
			[]string{"verification_required ", "verification_required verification_rejected", "scanned ", "confirmed "},
			1},
		{"expired", []string{"expired", "confirmed"}, []string{"", ""}, []string{"expired ", "expired "}, 0},
		{"cancelled in the app", []string{"canceled"}, []string{""}, []string{"failed "}, 0},
		{"bound already", []string{"binded_redirect"}, []string{""}, []string{"failed already_bound"}, 0},
		{"led elsewhere", []string{"scaned_but_redirect"}, []string{""}, []string{"failed invalid_response"}, 0},
		{"token of elsewhere", []string{"elsewhere"}, []string{""}, []string{"failed invalid_response"}, 0},
		{"unknown", []string{"dancing"}, []string{""}, []string{"failed invalid_response"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake, scans, id := scanOf(t)
			fake.Scan(c.statuses...)
			ctx, kept := t.Context(), 0
			for i, digits := range c.digits {
				s, err := scans.Poll(ctx, "ada", id, digits, goesOn(t, fake), func(keys map[string]string) error {
					if kept++; keys["bot_token"] != chattest.WeChatToken || keys["base_url"] != "" ||
						keys["ilink_bot_id"] == "" {
						t.Errorf("it brought %v", keys)
					}
					return nil
				})
				if got := string(s.State) + " " + s.Problem; err != nil || got != c.want[i] {
					t.Errorf("look %d: %q, %v, want %q", i, got, err, c.want[i])
				}
			}
			if kept != c.kept {
				t.Errorf("the token was handed over %d times", kept)
			}
		})
	}
}

// scanOf is a sign-in of ada's that has begun.
func scanOf(t *testing.T) (*chattest.WeChat, *qrlogin.Scans, string) {
	t.Helper()
	fake, scans := chattest.NewWeChat(t), qrlogin.New(nil)
	s, err := scans.Start(t.Context(), "ada", scanner(t, fake))
	if err != nil || s.State != chat.ScanWaits || s.Code == "" || s.ID == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	return fake, scans, s.ID
}

func scanner(t *testing.T, fake *chattest.WeChat) qrlogin.Scanner {
	t.Helper()
	s := must.Get(goesOn(t, fake)(nil))(t)
	return s
}

// goesOn makes scanners from their states.
func goesOn(t *testing.T, fake *chattest.WeChat) func(json.RawMessage) (qrlogin.Scanner, error) {
	t.Helper()
	p, _ := channels.ProviderOf("wechat")
	return func(state json.RawMessage) (qrlogin.Scanner, error) {
		return p.Scan(chat.Options{BaseURL: fake.State().URL}, state)
	}
}

// is always has the same scanner.
func is(s qrlogin.Scanner) func(json.RawMessage) (qrlogin.Scanner, error) {
	return func(json.RawMessage) (qrlogin.Scanner, error) { return s, nil }
}

// TestASignInGoesOnAtAnyServer: each look is at another one, and what it brings is stored once.
func TestASignInGoesOnAtAnyServer(t *testing.T) {
	fake, ctx := chattest.NewWeChat(t), t.Context()
	notes := &clusterstate.Alone{}
	servers := []*qrlogin.Scans{qrlogin.New(notes), qrlogin.New(notes)}
	s := must.Get(servers[0].Start(ctx, "ada", scanner(t, fake)))(t)
	if _, err := servers[1].Start(ctx, "bob", scanner(t, fake)); !errors.Is(err, qrlogin.ErrScanning) {
		t.Errorf("somebody else begins at the other server: %v", err)
	}
	fake.Scan("scaned", "need_verifycode", "confirmed")
	var states []chat.ScanState
	kept := 0
	for i, digits := range []string{"", "", chattest.WeChatDigits, "", ""} {
		now := must.Get(servers[(i+1)%2].Poll(ctx, "ada", s.ID, digits, goesOn(t, fake), func(map[string]string) error {
			kept++
			return nil
		}))(t)
		states = append(states, now.State)
	}
	want := []chat.ScanState{chat.ScanSeen, chat.ScanDigits, chat.ScanSeen, chat.ScanDone, chat.ScanDone}
	if !slices.Equal(states, want) || kept != 1 {
		t.Errorf("%v, stored %d times", states, kept)
	}
	if now, err := servers[1].Get(ctx, "ada", s.ID); err != nil || now.Code != s.Code {
		t.Errorf("the other server knows %+v, %v", now, err)
	}
	must.Report(t, servers[1].Cancel(ctx, "ada", s.ID))
	if _, err := servers[0].Get(ctx, "ada", s.ID); !errors.Is(err, qrlogin.ErrNoScan) {
		t.Errorf("after it was ended at the other: %v", err)
	}
}

// TestAStateThatIsNoneIsRefused, also one that leads to another host.
func TestAStateThatIsNoneIsRefused(t *testing.T) {
	fake := chattest.NewWeChat(t)
	for _, state := range []string{`{}`, `nonsense`, `{"Code": "c", "Base": "https://weixin.qq.com.example"}`} {
		if _, err := goesOn(t, fake)(json.RawMessage(state)); err == nil {
			t.Errorf("%s is taken", state)
		}
	}
}

// TestASignInBelongsToWhoBeganIt: others neither see nor replace it, and what was cancelled brings nothing.
func TestASignInBelongsToWhoBeganIt(t *testing.T) {
	fake, scans, id := scanOf(t)
	ctx := t.Context()
	keep := func(map[string]string) error { t.Error("it was stored"); return nil }
	if _, err := scans.Poll(ctx, "bob", id, "", goesOn(t, fake), keep); !errors.Is(err, qrlogin.ErrNoScan) {
		t.Errorf("somebody else looks: %v", err)
	}
	if err := scans.Cancel(t.Context(), "bob", id); !errors.Is(err, qrlogin.ErrNoScan) {
		t.Errorf("somebody else cancels: %v", err)
	}
	if _, err := scans.Start(ctx, "bob", scanner(t, fake)); !errors.Is(err, qrlogin.ErrScanning) {
		t.Errorf("somebody else begins: %v", err)
	}
	slow := make(chan struct{})
	late := make(chan error, 1)
	other := slowScanner{begun: make(chan struct{}), end: slow}
	s := must.Get(scans.Start(ctx, "ada", other))(t)
	if _, err := scans.Get(t.Context(), "ada", id); !errors.Is(err, qrlogin.ErrNoScan) {
		t.Errorf("the first goes on: %v", err)
	}
	go func() {
		_, err := scans.Poll(ctx, "ada", s.ID, "", is(other), keep)
		late <- err
	}()
	<-other.begun
	must.Do(t, scans.Cancel(t.Context(), "ada", s.ID))
	close(slow)
	if err := <-late; !errors.Is(err, qrlogin.ErrNoScan) {
		t.Errorf("a confirmation after it was cancelled: %v", err)
	}
}

// slowScanner is confirmed when end is closed.
type slowScanner struct{ begun, end chan struct{} }

func (slowScanner) State() json.RawMessage { return nil }

func (slowScanner) Code(context.Context) (string, error) { return "code", nil }

func (s slowScanner) Poll(context.Context, string) chat.Scanned {
	close(s.begun)
	<-s.end
	return chat.Scanned{State: chat.ScanDone, Keys: map[string]string{"bot_token": "t"}}
}

// TestAQRCodeExpires, also while somebody else waits for their turn.
func TestAQRCodeExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scans := qrlogin.New(nil)
		end := make(chan struct{})
		slow := slowScanner{begun: make(chan struct{}), end: end}
		s := must.Get(scans.Start(t.Context(), "ada", slow))(t)
		late := make(chan qrlogin.Scan, 1)
		go func() {
			s, err := scans.Poll(t.Context(), "ada", s.ID, "", is(slow), func(map[string]string) error {
				t.Error("it was stored")
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			late <- s
		}()
		time.Sleep(qrlogin.ScanTime)
		close(end)
		if s := <-late; s.State != chat.ScanExpired {
			t.Errorf("a confirmation that comes too late: %+v", s)
		}
		if s, err := scans.Get(t.Context(), "ada", s.ID); err != nil || s.State != chat.ScanExpired {
			t.Errorf("%+v, %v", s, err)
		}
		if _, err := scans.Start(t.Context(), "bob", slowScanner{}); err != nil {
			t.Errorf("nobody else can begin: %v", err)
		}
	})
}

// slow is a scanner whose looks end when they are told to.
type slow struct{ looks, end chan struct{} }

func (slow) State() json.RawMessage { return nil }

func (s slow) Code(context.Context) (string, error) { return "code", nil }

func (s slow) Poll(context.Context, string) chat.Scanned {
	s.looks <- struct{}{}
	<-s.end
	return chat.Scanned{State: chat.ScanSeen}
}

// TestASignInIsCancelledWhileSomeLook: one of them at the platform, the other in line behind it.
func TestASignInIsCancelledWhileSomeLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, scans := slow{make(chan struct{}, 2), make(chan struct{})}, qrlogin.New(nil)
		begun := must.Get(scans.Start(t.Context(), "ada", s))(t)
		errs := make(chan error, 2)
		for range cap(errs) {
			go func() {
				_, err := scans.Poll(t.Context(), "ada", begun.ID, "", is(s), nil)
				errs <- err
			}()
			synctest.Wait()
		}
		if err := scans.Cancel(t.Context(), "ada", begun.ID); err != nil || len(s.looks) != 1 {
			t.Fatalf("%d look, %v", len(s.looks), err)
		}
		close(s.end)
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, qrlogin.ErrNoScan) {
				t.Error(err)
			}
		}
	})
}
