package account_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/account"
	"fawn/web/principal"
)

// world is a service on a database of its own, with a clock that stands.
type world struct {
	*account.Service
	db  *store.DB
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	must.Do(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{db: db, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.Service = account.New(account.Options{DB: db, Required: true, HashMemory: 64, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return w.now }})
	return w
}

func (w *world) create(t *testing.T, email, role, password string) store.User {
	t.Helper()
	u, err := w.Create(t.Context(), account.NewUser{Email: email, Role: role, Password: password})
	must.Do(t, err)
	return u
}

func TestTheFirstAccountOwnsWhatThereIs(t *testing.T) {
	w := newWorld(t)
	if needs, err := w.NeedsSetup(t.Context()); err != nil || !needs {
		t.Fatalf("a new server needs no set-up: %v", err)
	}
	_, err := w.Create(t.Context(), account.NewUser{Email: "b@x.org", Role: account.RoleUser, Password: "long enough"})
	if err == nil {
		t.Error("the first account is a user's")
	}
	owner := w.create(t, " Ann@X.org ", account.RoleOwner, "long enough")
	if owner.ID != store.DefaultOwner || owner.Email != "ann@x.org" {
		t.Errorf("the owner is %+v", owner)
	}
	if other := w.create(t, "b@x.org", account.RoleUser, "long enough"); other.ID == owner.ID {
		t.Error("the second has the same id")
	}
	_, err = w.Create(t.Context(), account.NewUser{Email: "B@x.org", Role: account.RoleUser})
	if !errors.Is(err, account.ErrEmailTaken) {
		t.Errorf("the same address again: %v", err)
	}
	_, err = w.Initialize(t.Context(), account.NewUser{Email: "c@x.org", Password: "long enough"})
	if !errors.Is(err, account.ErrSetUp) {
		t.Errorf("a second owner by set-up: %v", err)
	}
	for what, err := range map[string]error{
		"demote":  w.SetRole(t.Context(), owner.ID, account.RoleUser),
		"disable": w.SetDisabled(t.Context(), owner.ID, true),
		"delete":  w.Delete(t.Context(), owner.ID, false),
	} {
		if !errors.Is(err, account.ErrLastOwner) {
			t.Errorf("%s the last owner: %v", what, err)
		}
	}
}

func TestPasswordsAreCheckedAndNeverKept(t *testing.T) {
	w := newWorld(t)
	u := w.create(t, "ann@x.org", account.RoleOwner, "correct horse")
	if got, err := w.CheckPassword(t.Context(), "192.0.2.1", "ANN@x.org", "correct horse"); err != nil ||
		got.ID != u.ID {
		t.Errorf("the right one: %v", err)
	}
	for _, c := range [][2]string{{"ann@x.org", "Correct horse"}, {"ann@x.org", ""},
		{"nobody@x.org", "correct horse"}} {
		if _, err := w.CheckPassword(t.Context(), "192.0.2.1", c[0], c[1]); !errors.Is(err, account.ErrCredentials) {
			t.Errorf("%q %q: %v", c[0], c[1], err)
		}
	}
	other := w.create(t, "b@x.org", account.RoleUser, "correct horse")
	if other.Password == u.Password {
		t.Error("the same password has the same hash")
	}
	if err := w.SetPassword(t.Context(), u.ID, "short", ""); !errors.Is(err, account.ErrPassword) {
		t.Errorf("a short one: %v", err)
	}
	must.Do(t, w.SetDisabled(t.Context(), other.ID, true))
	_, err := w.CheckPassword(t.Context(), "192.0.2.1", "b@x.org", "correct horse")
	if !errors.Is(err, account.ErrDisabled) {
		t.Errorf("a disabled account: %v", err)
	}
	passwordless := w.create(t, "c@x.org", account.RoleUser, "")
	_, err = w.CheckPassword(t.Context(), "192.0.2.9", passwordless.Email, "")
	if !errors.Is(err, account.ErrCredentials) {
		t.Errorf("no password: %v", err)
	}
}

// TestAFloodOfSignInsLocksOutTheAttacker: an address that tries 10,000 passwords waits longer and
// longer, while the owner signs in from elsewhere.
func TestAFloodOfSignInsLocksOutTheAttacker(t *testing.T) {
	w := newWorld(t)
	w.create(t, "ann@x.org", account.RoleOwner, "correct horse")
	tried, longest := 0, time.Duration(0)
	for i := range 10000 {
		_, err := w.CheckPassword(t.Context(), "192.0.2.66", "ann@x.org", fmt.Sprint("guess ", i))
		var locked *account.ErrLocked
		switch {
		case errors.Is(err, account.ErrCredentials):
			tried++
		case errors.As(err, &locked):
			if locked.Wait < longest && tried < 5 || locked.Seconds() < 1 {
				t.Fatalf("try %d: waits %v", i, locked.Wait)
			}
			longest = max(longest, locked.Wait)
		default:
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Second)
	}
	if tried < 5 || tried > 15 || longest < 30*time.Minute {
		t.Errorf("%d of 10,000 were looked at; waited %v at most", tried, longest)
	}
	if _, err := w.CheckPassword(t.Context(), "192.0.2.66", "ann@x.org", "correct horse"); err == nil {
		t.Error("the attacker is let in")
	}
	if _, err := w.CheckPassword(t.Context(), "198.51.100.7", "ann@x.org", "correct horse"); err != nil {
		t.Errorf("the owner from elsewhere: %v", err)
	}
}

// TestCountersOfFailuresTakeLittleMemory however many addresses and accounts are tried.
func TestCountersOfFailuresTakeLittleMemory(t *testing.T) {
	w := newWorld(t)
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, padding := used(), strings.Repeat("x", 200)
	for i := range 100_000 {
		w.Failed(fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff), fmt.Sprint(i, padding, "@x.org"))
	}
	if grown := int64(used()) - int64(before); grown > 20<<20 {
		t.Errorf("%d MB are kept of 100,000 failures", grown>>20)
	}
	w.create(t, "ann@x.org", account.RoleOwner, "correct horse")
	if _, err := w.CheckPassword(t.Context(), "198.51.100.7", "ann@x.org", "correct horse"); err != nil {
		t.Errorf("the owner: %v", err)
	}
}

func TestManyAddressesThatTryOneAccountAreStopped(t *testing.T) {
	w := newWorld(t)
	u := w.create(t, "ann@x.org", account.RoleOwner, "correct horse")
	if _, _, err := w.Start(t.Context(), u.ID, account.Visit{IP: "198.51.100.7"}); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for i := range 200 {
		_, err := w.CheckPassword(t.Context(), fmt.Sprintf("2001:db8:%x::1", i), "ann@x.org", "guess")
		if errors.Is(err, account.ErrCredentials) {
			tried++
		}
	}
	if tried > 100 {
		t.Errorf("%d guesses", tried)
	}
	if _, err := w.CheckPassword(t.Context(), "198.51.100.7", "ann@x.org", "correct horse"); err != nil {
		t.Errorf("from where the owner is signed in: %v", err)
	}
	for i := range 6 {
		_, err := w.CheckPassword(t.Context(), fmt.Sprintf("2001:db8:f:1::%x", i), "else@x.org", "guess")
		if locked := (*account.ErrLocked)(nil); errors.As(err, &locked) != (i == 5) {
			t.Errorf("address %d of one network: %v", i, err)
		}
	}
}

func TestSessionsSlideEndAndAreRevoked(t *testing.T) {
	w := newWorld(t)
	u := w.create(t, "ann@x.org", account.RoleOwner, "correct horse")
	value, first, err := w.Start(t.Context(), u.ID, account.Visit{Device: "Firefox\n" + string(make([]byte, 999)),
		IP: "192.0.2.1", Remember: true})
	must.Do(t, err)
	if first.Device != "Firefox" || string(first.Hash) == value {
		t.Errorf("%+v", first)
	}
	if _, got, err := w.Find(t.Context(), value); err != nil || got.ID != u.ID {
		t.Errorf("a session: %v", err)
	}
	if _, _, err := w.Find(t.Context(), value[1:]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another secret: %v", err)
	}
	w.now = w.now.Add(account.Lifetime)
	if _, _, err := w.Find(t.Context(), value); err == nil {
		t.Error("a session that is over is found")
	}
	second, x2, _ := w.Start(t.Context(), u.ID, account.Visit{})
	third, x3, _ := w.Start(t.Context(), u.ID, account.Visit{})
	if list, err := w.Sessions(t.Context(), u.ID); err != nil || len(list) != 2 {
		t.Errorf("sessions: %v %v", list, err)
	}
	if err := w.Revoke(t.Context(), "somebody", x2.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("somebody else's session: %v", err)
	}
	must.Do(t, w.RevokeOthers(t.Context(), u.ID, x3.ID))
	if _, _, err := w.Find(t.Context(), second); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another session: %v", err)
	}
	must.Do(t, w.SetPassword(t.Context(), u.ID, "another horse", x3.ID))
	if _, _, err := w.Find(t.Context(), third); err != nil {
		t.Errorf("the session that changed the password: %v", err)
	}
}

func TestTokensHaveAScopeAndAnEnd(t *testing.T) {
	w := newWorld(t)
	u := w.create(t, "ann@x.org", account.RoleOwner, "correct horse")
	value, x, err := w.CreateToken(t.Context(), u.ID, account.NewToken{Name: "ci", Scope: "read", Expires: time.Hour})
	must.Do(t, err)
	if got, who, err := w.FindToken(t.Context(), value); err != nil || got.Scope != "read" || who.ID != u.ID {
		t.Errorf("%+v %v", got, err)
	}
	w.now = w.now.Add(time.Hour)
	if _, _, err := w.FindToken(t.Context(), value); err == nil {
		t.Error("it never ends")
	}
	if err := w.RevokeToken(t.Context(), u.ID, x.ID); err != nil {
		t.Error(err)
	}
	_, _, err = w.CreateToken(t.Context(), u.ID, account.NewToken{Name: "x", Scope: "admin"})
	if !errors.Is(err, account.ErrScope) {
		t.Errorf("%v", err)
	}
}

func TestLinksAreUsedOnce(t *testing.T) {
	w := newWorld(t)
	before, err := w.SetupLink(t.Context())
	must.Do(t, err)
	link, err := w.SetupLink(t.Context())
	must.Do(t, err)
	n := account.NewUser{Email: "ann@x.org", Password: "correct horse"}
	if _, err := w.UseLink(t.Context(), before, n); !errors.Is(err, account.ErrLink) {
		t.Errorf("a replaced link: %v", err)
	}
	if _, err := w.UseLink(t.Context(), link, account.NewUser{Email: "ann@x.org", Password: "short"}); !errors.Is(err,
		account.ErrPassword) {
		t.Errorf("a short password: %v", err)
	}
	owner, err := w.UseLink(t.Context(), link, n)
	if err != nil || owner.Role != account.RoleOwner || owner.ID != store.DefaultOwner {
		t.Fatalf("%+v %v", owner, err)
	}
	if _, err := w.UseLink(t.Context(), link, n); !errors.Is(err, account.ErrLink) {
		t.Errorf("twice: %v", err)
	}
	invite, err := w.InviteLink(t.Context(), "b@x.org", account.RoleAdmin)
	must.Do(t, err)
	admin, err := w.UseLink(t.Context(), invite, account.NewUser{Email: "other@x.org", Role: account.RoleOwner,
		Password: "correct horse"})
	if err != nil || admin.Email != "b@x.org" || admin.Role != account.RoleAdmin {
		t.Errorf("%+v %v", admin, err)
	}
	cookie, _, err := w.Start(t.Context(), admin.ID, account.Visit{})
	must.Do(t, err)
	reset, err := w.ResetLink(t.Context(), admin.ID)
	must.Do(t, err)
	if _, err := w.UseLink(t.Context(), reset, account.NewUser{Password: "battery staple"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.CheckPassword(t.Context(), "192.0.2.1", "b@x.org", "battery staple"); err != nil {
		t.Error(err)
	}
	if _, _, err := w.Find(t.Context(), cookie); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a session from before the reset: %v", err)
	}
	old, err := w.ResetLink(t.Context(), admin.ID)
	must.Do(t, err)
	w.now = w.now.Add(25 * time.Hour)
	if _, err := w.Link(t.Context(), old); !errors.Is(err, account.ErrLink) {
		t.Errorf("an old link: %v", err)
	}
}

// TestAnotherRoleEndsOpenRequests even if something that depends on the role can't be ended, such as a sandbox.
func TestAnotherRoleEndsOpenRequests(t *testing.T) {
	w := newWorld(t)
	w.create(t, "ann@x.org", account.RoleOwner, "long enough")
	u := w.create(t, "bob@x.org", account.RoleAdmin, "long enough")
	secret, _, err := w.CreateToken(t.Context(), u.ID, account.NewToken{Name: "editor", Scope: "write"})
	must.Do(t, err)
	stuck := errors.New("a sandbox doesn't end")
	w.Rerole = func(_ context.Context, _ string, change func() error) error { return errors.Join(change(), stuck) }
	r := httptest.NewRequest("GET", "/threads", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	err = w.Middleware(func(c echo.Context) error {
		if err := w.SetRole(t.Context(), u.ID, account.RoleUser); !errors.Is(err, stuck) {
			t.Errorf("demoted: %v", err)
		}
		if got := context.Cause(c.Request().Context()); !errors.Is(got, account.ErrEnded) {
			t.Errorf("a request of the admin's goes on: %v", got)
		}
		return nil
	})(echo.New().NewContext(r, httptest.NewRecorder()))
	must.Do(t, err)
}

func TestOnlyOwnersChangeOwnersAndAdmins(t *testing.T) {
	owner := principal.Principal{Owner: "a", Role: "owner"}
	admin := principal.Principal{Owner: "b", Role: "admin"}
	user := principal.Principal{Owner: "c", Role: "user"}
	for _, c := range []struct {
		by         principal.Principal
		target, to string
		want       bool
	}{
		{owner, "admin", "owner", true}, {owner, "owner", "user", true},
		{admin, "user", "", true}, {admin, "user", "admin", false}, {admin, "admin", "", false},
		{admin, "owner", "user", false}, {user, "user", "", false},
	} {
		if err := account.May(c.by, store.User{ID: "t", Role: c.target}, c.to); (err == nil) != c.want {
			t.Errorf("%s makes %s %q: %v", c.by.Role, c.target, c.to, err)
		}
	}
}

func TestAServerHashesPasswordsAtFullCost(t *testing.T) {
	w := newWorld(t)
	s := account.New(account.Options{DB: w.db})
	u, err := s.Create(t.Context(), account.NewUser{Email: "cost@x.org", Role: account.RoleOwner, Password: "long enough"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "$argon2id$v=19$m=47104,t=1,p=1$"; !strings.HasPrefix(u.Password, want) {
		t.Fatalf("a password is stored as %.40q, not as %q", u.Password, want)
	}
}
