package egress_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard/netguardtest"
)

// TestAConnectionIsHeldUntilTheAnswer over each way to speak to the proxy: it goes on with a
// yes, is refused with a no, and is let go when the client hangs up.
func TestAConnectionIsHeldUntilTheAnswer(t *testing.T) {
	asked, answers := make(chan egress.Question), make(chan egress.Answer)
	ended := make(chan error, 1)
	l := newLab(t, egress.Policy{}, func(l *lab) {
		l.Await = func(ctx context.Context, q egress.Question) bool {
			asked <- q
			select {
			case a := <-answers:
				return a != "" &&
					l.decisions.Remember(ctx, egress.Decision{Thread: q.Thread, Host: q.Host, Answer: a,
						At: q.At}) == nil
			case <-ctx.Done():
				ended <- ctx.Err()
				return false
			}
		}
	})
	for i, c := range []struct {
		scheme, proxy string
		answer        egress.Answer
		open          bool
	}{
		{"http", "http", egress.Thread, true},
		{"http", "http", egress.No, false},
		{"http", "http", "", false},
		{"https", "http", egress.Once, true},
		{"https", "http", egress.No, false},
		{"https", "socks5", egress.Always, true},
		{"http", "socks5", "", false},
	} {
		t.Run(fmt.Sprint(c.scheme, " over ", c.proxy, " ", c.answer), func(t *testing.T) {
			server := l.plain
			if c.scheme == "https" {
				server = l.tls
			}
			host := fmt.Sprintf("held%d.example.com", i)
			done := make(chan error, 1)
			go func() {
				resp, err := l.client(c.proxy).Get(netguardtest.At(server, host, "/"))
				if err == nil {
					resp.Body.Close()
					if resp.StatusCode != 200 {
						err = fmt.Errorf("%s", resp.Status)
					}
				}
				done <- err
			}()
			if q := <-asked; q.Host != host || q.Thread != "t1" {
				t.Errorf("question %+v", q)
			}
			select {
			case err := <-done:
				t.Errorf("the connection did not wait: %v", err)
			default:
			}
			answers <- c.answer
			if err := <-done; (err == nil) != c.open {
				t.Error(err)
			}
			if r := l.record(); (r.Verdict == egress.Allowed) != c.open {
				t.Errorf("record %+v", r)
			}
		})
	}
	conn := l.dial()
	must.Get(fmt.Fprintf(conn, "CONNECT gone.example:%d HTTP/1.1\r\nHost: gone.example\r\n\r\n", netguardtest.PortOf(l.tls)))(t)
	<-asked
	conn.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("a connection whose client is gone is still held")
	}
}
