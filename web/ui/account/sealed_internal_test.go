package account

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

// TestAStepIsTakenAtAnotherServer that has the same key, and once only at all of them.
func TestAStepIsTakenAtAnotherServer(t *testing.T) {
	spent := map[string]bool{}
	once := func(hash string, until time.Time) bool {
		first := !spent[hash] && time.Until(until) > 0
		spent[hash] = true
		return first
	}
	key := bytes.Repeat([]byte{7}, 32)
	sealers := make([]*sealer, 3)
	for i, with := range []struct {
		key  []byte
		once func(string, time.Time) bool
	}{{key, once}, {key, once}, {nil, nil}} {
		var err error
		if sealers[i], err = newSealer(with.key, with.once, time.Now); err != nil {
			t.Fatal(err)
		}
	}
	text, err := sealers[0].seal("code", "ann", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var who string
	if err := sealers[1].open("code", text, &who); err != nil || who != "ann" {
		t.Errorf("at another server: %q, %v", who, err)
	}
	if err := sealers[2].open("code", text, &who); !errors.Is(err, errSealed) {
		t.Errorf("at a server with another key: %v", err)
	}
	if first, second := sealers[1].spend(text, time.Minute), sealers[0].spend(text, time.Minute); !first || second {
		t.Errorf("spent once %v, twice %v", first, second)
	}
}
