package totp_test

import (
	"encoding/base32"
	"net/url"
	"strings"
	"testing"
	"time"

	"fawn/web/account/totp"
)

// rfcSecret is that of appendix B of RFC 6238, "12345678901234567890".
var rfcSecret = base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))

func TestCodesAreThoseOfTheRFC(t *testing.T) {
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471",
		1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got, err := totp.Code(rfcSecret, time.Unix(at, 0)); err != nil || got != want {
			t.Errorf("at %d the code is %s (%v), want %s", at, got, err, want)
		}
	}
}

func TestACodeCountsForThreePeriodsAndOnlyOnce(t *testing.T) {
	now := time.Unix(2000000000, 0)
	at := func(off time.Duration) string {
		code, err := totp.Code(rfcSecret, now.Add(off))
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	for off, want := range map[time.Duration]bool{0: true, 30 * time.Second: true, -30 * time.Second: true,
		60 * time.Second: false, -60 * time.Second: false} {
		if _, ok := totp.Check(rfcSecret, at(off), now, 0); ok != want {
			t.Errorf("a code %v off counts: %v", off, ok)
		}
	}
	step, ok := totp.Check(rfcSecret, " "+at(0)[:3]+" "+at(0)[3:], now, 0)
	if !ok {
		t.Fatal("a code with a space is refused")
	}
	if _, ok := totp.Check(rfcSecret, at(0), now, step); ok {
		t.Error("a used code counts again")
	}
	if _, ok := totp.Check(rfcSecret, at(-30*time.Second), now, step); ok {
		t.Error("a code older than the used one counts")
	}
	if _, ok := totp.Check(rfcSecret, at(30*time.Second), now.Add(30*time.Second), step); !ok {
		t.Error("the next code is refused")
	}
	for _, bad := range []string{"", "1", "1234567", "abcdef", "12345é"} {
		if _, ok := totp.Check(rfcSecret, bad, now, 0); ok {
			t.Errorf("%q counts", bad)
		}
	}
	if _, ok := totp.Check("not base 32!", "000000", now, 0); ok {
		t.Error("a broken secret lets somebody in")
	}
}

func TestSecretsAndAddresses(t *testing.T) {
	a, b := totp.NewSecret(), totp.NewSecret()
	if a == b || len(a) != 32 {
		t.Errorf("secrets %s, %s", a, b)
	}
	u, err := url.Parse(totp.URI(a, "Fawn (team)", "ann+x@example.org"))
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Fawn (team):ann+x@example.org" {
		t.Fatalf("address %v, %v", u, err)
	}
	if q := u.Query(); q.Get("secret") != a || q.Get("issuer") != "Fawn (team)" {
		t.Errorf("query %v", q)
	}
}

func TestRecoveryCodes(t *testing.T) {
	list := totp.NewRecovery()
	seen := map[string]bool{}
	for _, c := range list {
		seen[c] = true
		if !totp.IsRecovery(c) || strings.ContainsAny(c, "ilou") || len(c) != 11 {
			t.Errorf("code %q", c)
		}
	}
	if len(seen) != totp.Recoveries {
		t.Errorf("%d different codes", len(seen))
	}
	if totp.HashRecovery(list[0]) != totp.HashRecovery(" "+strings.ToUpper(strings.ReplaceAll(list[0], "-", " "))) {
		t.Error("the way a code is typed counts")
	}
	if totp.HashRecovery("oil00-00000") != totp.HashRecovery("01100-00000") {
		t.Error("a letter for a digit counts as another code")
	}
	if totp.HashRecovery(list[0]) == totp.HashRecovery(list[1]) {
		t.Error("two codes have one hash")
	}
	if totp.IsRecovery("123456") {
		t.Error("a code of an app is taken for a recovery code")
	}
}

// FuzzCheck: what people type never counts by chance of its form, and never breaks anything.
func FuzzCheck(f *testing.F) {
	f.Add("279037", rfcSecret)
	f.Add("27 90-37", rfcSecret)
	f.Fuzz(func(t *testing.T, code, secret string) {
		now := time.Unix(2000000000, 0)
		step, ok := totp.Check(secret, code, now, 0)
		if !ok {
			return
		}
		if again, err := totp.Code(secret, time.Unix(step*30, 0)); err != nil || again != totp.Tidy(code) {
			t.Errorf("%q counts as %q: %v", code, again, err)
		}
	})
}
