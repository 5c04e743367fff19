package access

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRightsAreTheSumOfGroups: what any group allows is allowed, and the most generous limit counts.
func TestRightsAreTheSumOfGroups(t *testing.T) {
	few := Rules{Models: []string{"small"}, Agents: []string{}, Servers: []string{"wiki"}, Runs: 3, Tokens: 100}
	more := Rules{Models: []string{"big", "small"}, Agents: []string{"writer"}, Skills: []string{"pdf"}, Servers: []string{}, Runs: 5}
	for name, c := range map[string]struct {
		groups       []Rules
		yes, no      string
		agents       []string
		runs, tokens int64
	}{
		"none": {nil, "model big,agent writer,skill pdf", "", nil, 0, 0},
		"one":  {[]Rules{few}, "model small,skill any,MCP server wiki", "model big,agent writer,MCP server other", []string{}, 3, 100},
		"two":  {[]Rules{few, more}, "model small,model big,agent writer,skill any,MCP server wiki", "model other,MCP server x", []string{"writer"}, 5, 0},
	} {
		r := Rights{groups: c.groups}
		for want, list := range map[bool]string{true: c.yes, false: c.no} {
			for what := range strings.SplitSeq(list, ",") {
				at := strings.LastIndexByte(what, ' ')
				if at > 0 && r.May(Kind(what[:at]), what[at+1:]) != want {
					t.Errorf("%s: %s is %v", name, what, !want)
				}
			}
		}
		if got := r.Narrow(Agent, nil); !slices.Equal(got, c.agents) || (got == nil) != (c.agents == nil) {
			t.Errorf("%s: agents %v, want %v", name, got, c.agents)
		}
		if runs, tokens := r.PerDay(); runs != c.runs || tokens != c.tokens {
			t.Errorf("%s: %d runs and %d tokens", name, runs, tokens)
		}
	}
	r := Rights{groups: []Rules{few}}
	if got := r.Narrow(Server, []string{"other", "wiki"}); !slices.Equal(got, []string{"wiki"}) {
		t.Errorf("narrowed to %v", got)
	}
}

// TestRefusalsSayWhatWhyAndWhomToAsk in one sentence.
func TestRefusalsSayWhatWhyAndWhomToAsk(t *testing.T) {
	r := Rights{groups: []Rules{{Models: []string{}}}, names: []string{"Interns"}, ask: "ann@x.org"}
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for err, parts := range map[error][]string{
		r.Deny(Model, "big"):      {`model "big"`, "Interns", "ann@x.org"},
		r.Deny(Model, ""):         {"any model", "Interns"},
		&Spent{"runs", 3, at, ""}: {"limit of runs (3)", "2026-11-30 00:00 UTC", "administrator"},
	} {
		for _, part := range parts {
			if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), part) {
				t.Errorf("%q lacks %q", err, part)
			}
		}
	}
}

// TestRulesAreBounded before they are stored.
func TestRulesAreBounded(t *testing.T) {
	for name, r := range map[string]Rules{"negative": {Runs: -1}, "empty name": {Models: []string{""}},
		"long name": {Skills: []string{strings.Repeat("x", maxLength+1)}}, "many": {Agents: make([]string, maxNames+1)}} {
		if err := r.Check(); !errors.Is(err, ErrRules) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
