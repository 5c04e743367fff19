package factor_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/account/factor"
	"fawn/web/account/passkey"
	"fawn/web/account/totp"
	"fawn/web/webtest"
)

// clock is a time that only a test moves.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(c.at.Load(), 0) }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d / time.Second)) }
func (c *clock) code(t *testing.T, secret string) string {
	t.Helper()
	code, err := totp.Code(secret, c.now())
	must.Do(t, err)
	return code
}

func open(t *testing.T) (factor.Factors, *clock) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	must.Do(t, err)
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.AddFirstUser(t.Context(), store.User{Email: "root@example.org", Role: "owner"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"ann", "bob"} {
		u := store.User{ID: id, Email: id + "@example.org", Role: "user"}
		if _, err := db.AddUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	c := &clock{}
	c.at.Store(2000000000)
	seal, err := factor.NewSeal(make([]byte, 32))
	must.Do(t, err)
	return factor.Factors{DB: db, Now: c.now, Seal: seal}, c
}

func TestAnAppIsAskedForOnceItIsConfirmed(t *testing.T) {
	f, c := open(t)
	ctx := t.Context()
	first, err := f.Begin(ctx, "ann")
	must.Do(t, err)
	secret, err := f.Begin(ctx, "ann") // the first was never confirmed
	if err != nil || secret == first {
		t.Fatal(secret, err)
	}
	if pending, err := f.Pending(ctx, "ann"); err != nil || pending != secret {
		t.Errorf("pending %q, %v", pending, err)
	}
	if on, _, err := f.Required(ctx, "ann"); on || err != nil {
		t.Errorf("an app that was never confirmed is asked for: %v", err)
	}
	if err := f.Check(ctx, "ann", c.code(t, secret)); !errors.Is(err, factor.ErrCode) {
		t.Errorf("an app that was never confirmed counts: %v", err)
	}
	if _, err := f.Confirm(ctx, "ann", c.code(t, first)); !errors.Is(err, factor.ErrCode) {
		t.Errorf("the code of another secret: %v", err)
	}
	recovery, err := f.Confirm(ctx, "ann", c.code(t, secret))
	if err != nil || len(recovery) != totp.Recoveries {
		t.Fatal(recovery, err)
	}
	if on, left, err := f.Required(ctx, "ann"); !on || left != len(recovery) || err != nil {
		t.Errorf("required %v, %d left, %v", on, left, err)
	}
	if on, _, err := f.Required(ctx, "bob"); on || err != nil {
		t.Errorf("another user is asked, too: %v", err)
	}
	if err := f.Check(ctx, "ann", c.code(t, secret)); !errors.Is(err, factor.ErrCode) {
		t.Errorf("the code that confirmed counts again: %v", err)
	}
	c.pass(30 * time.Second)
	if err := f.Check(ctx, "ann", c.code(t, secret)); err != nil {
		t.Errorf("the next code: %v", err)
	}
	must.Do(t, f.Off(ctx, "ann"))
	if on, left, err := f.Required(ctx, "ann"); on || left != 0 || err != nil {
		t.Errorf("after turning it off: %v, %d, %v", on, left, err)
	}
	if err := f.Check(ctx, "ann", recovery[0]); !errors.Is(err, factor.ErrCode) {
		t.Errorf("a recovery code outlives its app: %v", err)
	}
}

// TestOfManyThatUseOneCodeOneGetsIn: whoever reads a code over a shoulder is too late.
func TestOfManyThatUseOneCodeOneGetsIn(t *testing.T) {
	f, c := open(t)
	secret, err := f.Begin(t.Context(), "ann")
	must.Do(t, err)
	recovery, err := f.Confirm(t.Context(), "ann", c.code(t, secret))
	must.Do(t, err)
	c.pass(30 * time.Second)
	for _, code := range []string{c.code(t, secret), recovery[3]} {
		var in atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				switch err := f.Check(t.Context(), "ann", code); {
				case err == nil:
					in.Add(1)
				case !errors.Is(err, factor.ErrCode):
					t.Error(err)
				}
			})
		}
		all.Wait()
		webtest.Same(t, "got in with "+code, in.Load(), 1)
	}
	if err := f.Check(t.Context(), "bob", recovery[4]); !errors.Is(err, factor.ErrCode) {
		t.Errorf("a recovery code of somebody else: %v", err)
	}
	again, err := f.Recovery(t.Context(), "ann")
	if err != nil || slices.Contains(again, recovery[5]) {
		t.Fatal(again, err)
	}
	if err := f.Check(t.Context(), "ann", recovery[5]); !errors.Is(err, factor.ErrCode) {
		t.Errorf("an old recovery code: %v", err)
	}
	if err := f.Check(t.Context(), "ann", again[5]); err != nil {
		t.Errorf("a new recovery code: %v", err)
	}
}

func TestPasskeysBelongToOneUser(t *testing.T) {
	f, _ := open(t)
	ctx := t.Context()
	key := passkey.Key{ID: "k1", Data: []byte(`{"n":1}`)}
	must.Do(t, f.AddPasskey(ctx, "ann", " Laptop ", key))
	if err := f.AddPasskey(ctx, "bob", "copy", key); !errors.Is(err, store.ErrConflict) {
		t.Errorf("one passkey for two users: %v", err)
	}
	key.Data = []byte(`{"n":2}`)
	if err := f.UsePasskey(ctx, "bob", key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("bob uses ann's: %v", err)
	}
	must.Do(t, f.UsePasskey(ctx, "ann", key))
	list, err := f.Passkeys(ctx, "ann")
	if err != nil || len(list) != 1 || list[0].Name != "Laptop" || string(list[0].Data) != `{"n":2}` ||
		list[0].UsedAt.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := f.DeletePasskey(ctx, "bob", list[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("bob deletes ann's: %v", err)
	}
	if err := f.DeletePasskey(ctx, "ann", list[0].ID); err != nil {
		t.Error(err)
	}
}

// TestSecretsOfAppsAreSealed: what is stored is not what the app has, nor of use for another user or key; what
// was stored before counts, and is sealed at the next start.
func TestSecretsOfAppsAreSealed(t *testing.T) {
	f, c := open(t)
	ctx := t.Context()
	stored := func() []byte {
		list, err := f.DB.Factors(ctx, "ann", "totp")
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0].Data
	}
	seal := f.Seal
	f.Seal = nil
	secret, err := f.Begin(ctx, "ann")
	if err != nil || string(stored()) != secret {
		t.Fatal(err)
	}
	f.Seal = seal
	if _, err := f.SealAll(ctx); err != nil || bytes.Contains(stored(), []byte(secret)) {
		t.Errorf("a secret of before is stored as it is: %v", err)
	}
	if _, err := f.Confirm(ctx, "ann", c.code(t, secret)); err != nil {
		t.Error(err)
	}
	c.pass(time.Minute)
	other, err := factor.NewSeal(bytes.Repeat([]byte{1}, 32))
	must.Do(t, err)
	for name, seal := range map[string]*factor.Seal{"another key": other, "none": nil} {
		f.Seal = seal
		if err := f.Check(ctx, "ann", c.code(t, secret)); !errors.Is(err, factor.ErrSealed) {
			t.Errorf("with %s: %v", name, err)
		}
	}
	if f.Seal, err = factor.NewSeal(bytes.Repeat([]byte{1}, 32), make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	before := stored()
	if _, err := f.SealAll(ctx); err != nil || bytes.Equal(before, stored()) {
		t.Errorf("a secret of an older key keeps it: %v", err)
	}
	f.Seal = other
	if err := f.Check(ctx, "ann", c.code(t, secret)); err != nil {
		t.Error(err)
	}
	if secret, err = f.Begin(ctx, "bob"); err != nil {
		t.Fatal(err)
	}
	list, err := f.DB.Factors(ctx, "bob", "totp")
	if err != nil || bytes.Contains(list[0].Data, []byte(secret)) {
		t.Errorf("a new secret is stored as it is: %v", err)
	}
}

func TestTheKeyIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	key, err := factor.LocalKey(dir)
	again, err2 := factor.LocalKey(dir)
	if err != nil || err2 != nil || len(key) != 32 || !bytes.Equal(key, again) {
		t.Fatal(err, err2)
	}
	name := filepath.Join(dir, factor.KeyFile)
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
		t.Error(info.Mode(), err)
	}
	must.Do(t, os.WriteFile(name, key[:9], 0o600))
	made, err := factor.LocalKey(dir)
	if err != nil || len(made) != 32 || bytes.Equal(made[:9], key[:9]) {
		t.Errorf("a broken key was taken: %v", err)
	}
	if kept, err := os.ReadFile(name + ".damaged"); err != nil || !bytes.Equal(kept, key[:9]) {
		t.Errorf("it was not kept: %v", err)
	}
}
