package runevent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs/runevent"
)

func TestDrafts(t *testing.T) {
	a := &runevent.Msg{ID: "a"}
	b := &runevent.Msg{ID: "b", NS: "tools:x"}
	c := &runevent.Msg{ID: "c", NS: "tools:x|tools:y"}
	msg := func(m *runevent.Msg) runevent.Event {
		return runevent.Event{Kind: runevent.KindMessage, Msg: m, NS: m.NS}
	}
	text := func(m *runevent.Msg) runevent.Event {
		return runevent.Event{Kind: runevent.KindText, Msg: m, NS: m.NS, Text: "x"}
	}
	step := func(ns string) runevent.Event {
		return runevent.Event{Kind: runevent.KindStep, NS: ns, Step: &runevent.StepData{}}
	}
	withdraw := runevent.Event{Kind: runevent.KindWithdraw, Data: json.RawMessage(`{"id":"a"}`)}
	for name, tt := range map[string]struct {
		events []runevent.Event
		want   string
	}{
		"a message grows until its step":     {[]runevent.Event{msg(a), text(a), text(a), step("")}, "+a a a -a"},
		"a piece begins what nobody began":   {[]runevent.Event{text(a), text(a)}, "+a a"},
		"read back, a message is another":    {[]runevent.Event{msg(a), text(&runevent.Msg{ID: "a"}), step("")}, "+a a -a"},
		"two grow at once":                   {[]runevent.Event{msg(b), msg(c), text(b), text(c), step("")}, "+b +c b c -b,c"},
		"a helper's step ends its own":       {[]runevent.Event{msg(a), msg(b), step("tools:x"), text(a), step("")}, "+a +b -b a -a"},
		"and those of its helpers":           {[]runevent.Event{msg(b), msg(c), step("tools:x")}, "+b +c -b,c"},
		"but not those of who sent it":       {[]runevent.Event{msg(b), msg(c), step("tools:x|tools:y"), text(b)}, "+b +c -c b"},
		"nor those of one with a like name":  {[]runevent.Event{msg(b), step("tools:xy"), step("tools:")}, "+b - -"},
		"a withdrawal ends one":              {[]runevent.Event{msg(a), msg(b), withdraw, text(b)}, "+a +b -a b"},
		"the end ends all":                   {[]runevent.Event{msg(a), msg(b), {Kind: runevent.KindEnd}}, "+a +b -a,b"},
		"what is over can begin again":       {[]runevent.Event{msg(a), step(""), text(a)}, "+a -a +a"},
		"what is about no message is nobody": {[]runevent.Event{{Kind: runevent.KindMeta}, {Kind: runevent.KindCustom}}, "- -"},
	} {
		var f runevent.Drafts[int]
		var got []string
		for _, ev := range tt.events {
			c := f.Take(&ev)
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
	var m runevent.Draft[int]
	for _, ev := range []runevent.Event{
		{Kind: runevent.KindReasoning, Text: "hm"}, {Kind: runevent.KindText, Text: "so"},
		{Kind: runevent.KindCall, Data: json.RawMessage(`{"index":0,"id":"c1","name":"ls","args":"{}"}`)},
		{Kind: runevent.KindFinish, Data: json.RawMessage(`{"finish":"stop","model":"m","usage":{"total_tokens":3}}`)},
	} {
		k := must.Get(runevent.DraftPiece(ev))(t)
		m.Sofar.Add(k)
	}
	got := m.Sofar.Message("a", true)
	s := fmt.Sprintf("%s %v %s %v %d", got.Content.Text, got.Kwargs, got.ToolCalls[0].ID, got.Meta, got.Usage.Total)
	if s != "so map[reasoning_content:hm] c1 map[finish_reason:stop model_name:m] 3" {
		t.Error(s)
	}
	for _, kind := range []runevent.Kind{runevent.KindCall, runevent.KindFinish} {
		if _, err := runevent.DraftPiece(runevent.Event{Kind: kind, Data: json.RawMessage(`{`)}); err == nil {
			t.Errorf("kind %d: damage is no error", kind)
		}
	}
	if f := new(runevent.Drafts[int]); f.Take(&runevent.Event{Kind: runevent.KindText, Text: "x"}).Message != nil ||
		len(f.Reset()) != 0 {
		t.Error("a piece without a message")
	}
}
