package channels_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
)

// inproc is a bot whose platform is in this process, so that clocks can be turned. It notes when it is called.
type inproc struct {
	limits chat.Limits
	say    chan chat.Update
	begun  time.Time
	calls  []call
	text   string
}

type call struct {
	op string
	at time.Duration
}

func (b *inproc) note(op string) { b.calls = append(b.calls, call{op, time.Since(b.begun)}) }

func (b *inproc) Limits() chat.Limits { return b.limits }

func (b *inproc) Check(context.Context) (chat.Me, error) { return chat.Me{ID: "1", Name: "Fawn"}, nil }

func (b *inproc) Run(ctx context.Context, in chat.Inbox) error {
	in.Status(nil)
	for {
		select {
		case u := <-b.say:
			if err := in.Take(ctx, []chat.Update{u}, nil); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *inproc) Send(_ context.Context, to chat.Address, p chat.Post) (chat.Ref, error) {
	b.note("send")
	b.text = p.Text
	return chat.Ref{Address: to, Message: fmt.Sprint("m", len(b.calls))}, nil
}

func (b *inproc) Edit(_ context.Context, _ chat.Ref, p chat.Post) error {
	b.note("edit")
	b.text = p.Text
	return nil
}

func (b *inproc) Upload(_ context.Context, to chat.Address, _ chat.File, _ string) (chat.Ref, error) {
	b.note("upload")
	return chat.Ref{Address: to, Message: fmt.Sprint("f", len(b.calls))}, nil
}

func (b *inproc) Typing(context.Context, chat.Address) error { b.note("typing"); return nil }

func (b *inproc) Fetch(context.Context, chat.FileRef, io.Writer) error { return nil }

// TestProgressOfALongRunDoesNotSpam has a run write a word each fifth of a second for ten minutes, with a tool at work in
// each minute. Per platform, it counts what the bot sends in each minute, by a clock that is turned.
func TestProgressOfALongRunDoesNotSpam(t *testing.T) {
	for name, most := range map[string]int{"telegram": 45, "slack": 45, "discord": 45, "feishu": 60, "dingtalk": 0,
		"dingtalk cards": 50, "wecom": 0} {
		t.Run(name, func(t *testing.T) {
			p, _ := channels.ProviderOf(provider(name))
			real := must.Get(p.Open(appKeys[name], chat.Options{}))(t)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := &inproc{limits: real.Limits(), say: make(chan chat.Update), begun: time.Now()}
				w := must.Get(open(t.Context(), setup{dir: dir, bot: b, model: modelOf(longRun)}))(t)
				b.say <- chat.Update{ID: "u1", Message: "1", Address: chat.Address{Chat: "ada"}, Sender: chat.Person{ID: "ada"}, Text: "work"}
				time.Sleep(longRuns + time.Minute)
				w.close()
				minutes := make([]int, int(longRuns/time.Minute)+1)
				sends, last := 0, time.Duration(0)
				for _, c := range b.calls {
					if c.op == "send" {
						sends++
					}
					if c.at < longRuns {
						minutes[int(c.at/time.Minute)]++
					}
					last = c.at
				}
				t.Logf("calls per minute %d, %d sends", minutes, sends)
				for i, n := range minutes {
					bound := most
					switch {
					case i > 3 && most > 0:
						bound = 8
					case i > 0 && most > 0:
						bound = 25
					case most == 0: // a sign that somebody types
						bound = 1
					}
					if n > bound {
						t.Errorf("%d calls in minute %d, more than %d", n, i, bound)
					}
				}
				if sends > 5 { // two messages, what comes is named in a third, and a file
					t.Errorf("%d messages", sends)
				}
				if late := last - longRuns; late < 0 || late > 10*time.Second {
					t.Errorf("the end was shown %v after it", late)
				}
			})
		})
	}
}

const longRuns = 10 * time.Minute

// longRun writes for ten minutes.
func longRun(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
	turns := 0
	for _, m := range req.Messages {
		if m.Type == agent.TypeTool {
			turns++
		}
	}
	for range int(time.Minute / (200 * time.Millisecond)) {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			yield(agent.Chunk{}, ctx.Err())
			return
		}
		if !yield(agent.Chunk{Text: "w "}, nil) {
			return
		}
	}
	if turns+1 < int(longRuns/time.Minute) {
		yield(agent.Chunk{Calls: []agent.CallDelta{{ID: fmt.Sprint("c", turns), Name: "look", Args: "{}"}}}, nil)
		yield(agent.Chunk{Finish: "tool_calls"}, nil)
		return
	}
	yield(agent.Chunk{Finish: "stop"}, nil)
}
