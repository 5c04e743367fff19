package egress_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
)

func TestPolicyNamesThePatternThatCannotMatch(t *testing.T) {
	for _, bad := range []string{"", "https://example.com", "example.com:443", "example.com/x", "*.", "*.*.com",
		"a*.com", "ex ample.com", "*.10.0.0.1", "%65.com", "user@example.com"} {
		err := egress.Policy{Allow: []string{"ok.example", bad}}.Validate()
		if !errors.Is(err, netguard.ErrHost) || !strings.Contains(err.Error(), "network.allow") {
			t.Errorf("%q: %v, want an error about network.allow", bad, err)
		}
		if _, err := egress.New(egress.Policy{Deny: []string{bad}}, &netguard.Guard{}); err == nil {
			t.Errorf("%q: a proxy was made", bad)
		}
	}
	good := egress.Policy{Allow: []string{"*", "*.example.com", "Example.COM.", "bücher.example", "[::1]", "10.0.0.1"},
		Deny: []string{"*.evil.example"}}
	must.Report(t, good.Validate())
	if _, err := egress.New(good, nil); err == nil {
		t.Error("a proxy without a guard was made")
	}
}

func TestDecideFollowsTheNewestAnswer(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	tests := []struct {
		name  string
		about []egress.Decision
		want  egress.Answer
	}{
		{"nothing", nil, ""},
		{"once, fresh", []egress.Decision{{Thread: "a", Answer: egress.Once, At: ago(time.Minute)}}, egress.Once},
		{"once, over", []egress.Decision{{Thread: "a", Answer: egress.Once, At: ago(egress.OnceFor)}}, ""},
		{"once, of the future", []egress.Decision{{Thread: "a", Answer: egress.Once, At: ago(-time.Hour)}}, ""},
		{"once, of another thread", []egress.Decision{{Thread: "b", Answer: egress.Once, At: now}}, ""},
		{"thread", []egress.Decision{{Thread: "a", Answer: egress.Thread, At: ago(1000 * time.Hour)}}, egress.Thread},
		{"thread, another", []egress.Decision{{Thread: "b", Answer: egress.Thread, At: now}}, ""},
		{"always, another thread", []egress.Decision{{Thread: "b", Answer: egress.Always, At: ago(time.Hour)}}, egress.Always},
		{"no", []egress.Decision{{Thread: "a", Answer: egress.No, At: now}}, egress.No},
		{"no, of another thread", []egress.Decision{{Thread: "b", Answer: egress.No, At: now}}, ""},
		{"no here, always elsewhere", []egress.Decision{{Thread: "a", Answer: egress.No, At: ago(time.Hour)}, {Thread: "b", Answer: egress.Always, At: now}}, egress.No},
		{"no after thread", []egress.Decision{{Thread: "a", Answer: egress.No, At: now}, {Thread: "a", Answer: egress.Thread, At: ago(time.Hour)}}, egress.No},
		{"thread after no", []egress.Decision{{Thread: "a", Answer: egress.No, At: ago(time.Hour)}, {Thread: "a", Answer: egress.Thread, At: now}}, egress.Thread},
		{"always taken back elsewhere", []egress.Decision{{Thread: "b", Answer: egress.Always, At: ago(time.Hour)}, {Thread: "b", Answer: egress.No, At: now}}, ""},
		{"no before an expired once", []egress.Decision{{Thread: "a", Answer: egress.No, At: ago(2 * time.Hour)}, {Thread: "a", Answer: egress.Once, At: ago(time.Hour)}}, egress.No},
		{"unknown answer", []egress.Decision{{Thread: "a", Answer: "maybe", At: now}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := egress.Decide(tt.about, "a", now)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v; want %q", got, ok, tt.want)
			}
		})
	}
}

func TestMemoryForgetsTheOldest(t *testing.T) {
	var m egress.Memory
	for i := range 5000 {
		d := egress.Decision{Thread: "t", Host: fmt.Sprintf("h%d.example", i), Answer: egress.Always, At: time.Now()}
		must.Do(t, m.Remember(t.Context(), d))
	}
	if _, ok, _ := m.Lookup(t.Context(), "t", "h0.example"); ok {
		t.Error("the first of 5,000 decisions is still there")
	}
	if a, ok, _ := m.Lookup(t.Context(), "other", "h4999.example"); !ok || a != egress.Always {
		t.Errorf("the last one is %q, %v", a, ok)
	}
}
