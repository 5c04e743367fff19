package underway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/runs"
	"fawn/agent/runs/underway"
)

func TestFold(t *testing.T) {
	a, b, c := &runs.Msg{ID: "a"}, &runs.Msg{ID: "b", NS: "tools:x"}, &runs.Msg{ID: "c", NS: "tools:x|tools:y"}
	msg := func(m *runs.Msg) runs.Event { return runs.Event{Kind: runs.KindMessage, Msg: m, NS: m.NS} }
	text := func(m *runs.Msg) runs.Event { return runs.Event{Kind: runs.KindText, Msg: m, NS: m.NS, Text: "x"} }
	step := func(ns string) runs.Event { return runs.Event{Kind: runs.KindStep, NS: ns, Step: &runs.StepData{}} }
	withdraw := runs.Event{Kind: runs.KindWithdraw, Data: json.RawMessage(`{"id":"a"}`)}
	for name, tt := range map[string]struct {
		events []runs.Event
		want   string
	}{
		"a message grows until its step":     {[]runs.Event{msg(a), text(a), text(a), step("")}, "+a a a -a"},
		"a piece begins what nobody began":   {[]runs.Event{text(a), text(a)}, "+a a"},
		"read back, a message is another":    {[]runs.Event{msg(a), text(&runs.Msg{ID: "a"}), step("")}, "+a a -a"},
		"two grow at once":                   {[]runs.Event{msg(b), msg(c), text(b), text(c), step("")}, "+b +c b c -b,c"},
		"a helper's step ends its own":       {[]runs.Event{msg(a), msg(b), step("tools:x"), text(a), step("")}, "+a +b -b a -a"},
		"and those of its helpers":           {[]runs.Event{msg(b), msg(c), step("tools:x")}, "+b +c -b,c"},
		"but not those of who sent it":       {[]runs.Event{msg(b), msg(c), step("tools:x|tools:y"), text(b)}, "+b +c -c b"},
		"nor those of one with a like name":  {[]runs.Event{msg(b), step("tools:xy"), step("tools:")}, "+b - -"},
		"a withdrawal ends one":              {[]runs.Event{msg(a), msg(b), withdraw, text(b)}, "+a +b -a b"},
		"the end ends all":                   {[]runs.Event{msg(a), msg(b), {Kind: runs.KindEnd}}, "+a +b -a,b"},
		"what is over can begin again":       {[]runs.Event{msg(a), step(""), text(a)}, "+a -a +a"},
		"what is about no message is nobody": {[]runs.Event{{Kind: runs.KindMeta}, {Kind: runs.KindCustom}}, "- -"},
	} {
		var f underway.Fold[int]
		var got []string
		for _, ev := range tt.events {
			c := f.Take(ev)
			switch {
			case c.Message == nil:
				var ids []string
				for _, m := range c.Ended {
					ids = append(ids, m.ID)
				}
				got = append(got, "-"+strings.Join(ids, ","))
			case c.Began:
				got = append(got, "+"+c.Message.ID)
			default:
				got = append(got, c.Message.ID)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", name, s, tt.want)
		}
	}
}

func TestPieces(t *testing.T) {
	var m underway.Message[int]
	for _, ev := range []runs.Event{
		{Kind: runs.KindReasoning, Text: "hm"}, {Kind: runs.KindText, Text: "so"},
		{Kind: runs.KindCall, Data: json.RawMessage(`{"index":0,"id":"c1","name":"ls","args":"{}"}`)},
		{Kind: runs.KindFinish, Data: json.RawMessage(`{"finish":"stop","model":"m","usage":{"total_tokens":3}}`)},
	} {
		k, err := underway.Piece(ev)
		if err != nil {
			t.Fatal(err)
		}
		m.Sofar.Add(k)
	}
	got := m.Sofar.Message("a", true)
	s := fmt.Sprintf("%s %v %s %v %d", got.Content.Text, got.Kwargs, got.ToolCalls[0].ID, got.Meta, got.Usage.Total)
	if s != "so map[reasoning_content:hm] c1 map[finish_reason:stop model_name:m] 3" {
		t.Error(s)
	}
	for _, kind := range []runs.Kind{runs.KindCall, runs.KindFinish} {
		if _, err := underway.Piece(runs.Event{Kind: kind, Data: json.RawMessage(`{`)}); err == nil {
			t.Errorf("kind %d: damage is no error", kind)
		}
	}
	if f := new(underway.Fold[int]); f.Take(runs.Event{Kind: runs.KindText, Text: "x"}).Message != nil || len(f.Reset()) != 0 {
		t.Error("a piece without a message")
	}
}
