package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fawn/agent/agenttest/must"
	"fawn/web/account"
	"fawn/web/e2e/gate"
	"fawn/web/webtest"
)

// TestAFloodOfSignInsKeepsTheOwnerOutOfNothing: 1,000 attempts of one address, 10,000 at night, sixteen at a
// time. A handful is looked at; all others are refused before a hash is made, or else they would take minutes. Meanwhile and
// afterwards the owner signs in from somewhere else.
func TestAFloodOfSignInsKeepsTheOwnerOutOfNothing(t *testing.T) {
	t.Parallel()
	s := start(t, "server: {trusted_proxies: [loopback]}\nauth: {required: always}\n")
	s.owner(t)
	signIn := func(from, password string) (int, string, error) {
		form := url.Values{"username": {"ann@x.org"}, "password": {password}}
		res, err := s.request(t.Context(), "POST", "/api/v1/auth/login/local", strings.NewReader(form.Encode()),
			"Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For", from)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, res.Header.Get("Retry-After"), err
	}
	const attacker = "203.0.113.66"
	attempts := gate.Pick[int32](1000, 10_000, 10_000)
	var sent, looked, refused atomic.Int32
	attack, _ := errgroup.WithContext(t.Context())
	for range 16 {
		attack.Go(func() error {
			for {
				n := sent.Add(1)
				if n > attempts {
					return nil
				}
				status, wait, err := signIn(attacker, fmt.Sprint("guess number ", n))
				switch {
				case err != nil:
					return err
				case status == http.StatusUnauthorized:
					looked.Add(1)
				case status == http.StatusTooManyRequests && wait != "" && wait != "0":
					refused.Add(1)
				default:
					return fmt.Errorf("attempt %d: %d", n, status)
				}
			}
		})
	}
	owner := func(from string) {
		t.Helper()
		began := time.Now()
		if status, _, err := signIn(from, correct); status != http.StatusOK || err != nil {
			t.Errorf("the owner from %s: %d %v", from, status, err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the owner from %s waited %s", from, took)
		}
	}
	webtest.UntilSeen(t, func() bool { return refused.Load() > 100 }, func() string {
		return fmt.Sprint(sent.Load(), " were sent")
	})
	owner("198.51.100.7")
	must.Do(t, attack.Wait())
	if l, r := looked.Load(), refused.Load(); l > 10 || l+r != attempts {
		t.Errorf("%d were looked at and %d refused", l, r)
	}
	owner("198.51.100.8")
	if status, wait, err := signIn(attacker, correct); status != http.StatusTooManyRequests || wait == "" ||
		err != nil {
		t.Errorf("the attacker with the right password: %d %v", status, err)
	}
	b := &browser{s, map[string]string{}}
	if a := b.do(t, "POST", "/login", url.Values{"email": {"ann@x.org"}, "password": {correct}}.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html", "X-Forwarded-For",
		attacker); b.cookies[account.CookieSession] != "" {
		t.Errorf("the page lets the attacker in: %d", a.status)
	}
}
