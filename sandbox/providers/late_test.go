package providers_test

import (
	"errors"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/providers"
)

// TestALateProviderIsTheOneThatIsChosen, for every method that waits for it; a configuration that
// means nothing is refused at once.
func TestALateProviderIsTheOneThatIsChosen(t *testing.T) {
	c := sandbox.DefaultConfig()
	c.Dirs.Root, c.Provider = t.TempDir(), "none of these"
	if _, err := providers.NewLate(c); !errors.Is(err, sandbox.ErrConfig) {
		t.Errorf("a provider that does not exist: %v", err)
	}
	c.Provider = sandbox.ProviderOff
	want, err := providers.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := providers.NewLate(c)
	if err != nil {
		t.Fatal(err)
	}
	if got, as := p.Probe(t.Context()), want.Probe(t.Context()); p.Name() != want.Name() || got.Reason != as.Reason {
		t.Errorf("%s %+v, want %s %+v", p.Name(), got, want.Name(), as)
	}
	if _, err := p.Acquire(t.Context(), sandbox.ThreadRef{ID: "t1"},
		sandbox.Policy{}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("acquire: %v", err)
	}
	if err := errors.Join(p.Close(t.Context()), want.Close(t.Context())); err != nil {
		t.Error(err)
	}
}
