package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/memory"
)

// learn has a model read a conversation and say text; {id:X} in it is the id of the fact whose
// content begins with X.
func (w *world) learn(t *testing.T, text string) {
	t.Helper()
	for _, f := range must.Get(w.Document(t.Context(), me))(t).Facts {
		text = strings.ReplaceAll(text, "{id:"+strings.Fields(f.Content)[0]+"}", f.ID)
	}
	w.says(text)
	w.thread(t, "t")
	run := fmt.Sprint("r", len(w.prompts))
	w.said(t, "t", run, "something new", "Yes.")
	w.pass(time.Minute)
	w.Work(t.Context())
}

func TestGate(t *testing.T) {
	w := open(t)
	const labels = `"scope":"user","durability":"durable","authority":"descriptive"`
	for name, c := range map[string]struct {
		known  string // contents by |
		answer string
		want   string
	}{
		"a good one":               {"", facts(fact("Lives in Bern")), "[Lives in Bern]"},
		"fenced and thought about": {"", "<think>{}</think>\n```json\n" + facts(fact("Lives in Bern")) + "\n```", "[Lives in Bern]"},
		"not sure enough":          {"", facts(`{"content":"a b","confidence":0.69,` + labels + `}`), "[]"},
		"of the thread":            {"", facts(`{"content":"a b","confidence":1,"scope":"thread","durability":"durable","authority":"descriptive"}`), "[]"},
		"of the project":           {"", facts(`{"content":"a b","confidence":1,"scope":"project","durability":"durable","authority":"descriptive"}`), "[]"},
		"temporary":                {"", facts(`{"content":"a b","confidence":1,"scope":"user","durability":"temporary","authority":"descriptive"}`), "[]"},
		"an order":                 {"", facts(`{"content":"a b","confidence":1,"scope":"user","durability":"durable","authority":"transactional"}`), "[]"},
		"without labels":           {"", facts(`{"content":"a b","confidence":1}`), "[]"},
		"without confidence":       {"", facts(`{"content":"a b",` + labels + `}`), "[]"},
		"no confidence at all":     {"", facts(`{"content":"a b","confidence":"high",` + labels + `}`), "[]"},
		"blank":                    {"", facts(fact(" ")), "[]"},
		"a bad one beside":         {"", facts(`7`, `{"content":[]}`, fact("Lives in Bern")), "[Lives in Bern]"},
		"known already":            {"Likes tea", facts(fact("likes  TEA"), fact("LIKES tea")), "[Likes tea]"},
		"removed by its id":        {"Likes tea|Owns a boat", `{"factsToRemove":[{"id":"{id:Likes}","scope":"user"}]}`, "[Owns a boat]"},
		"removed for a thread":     {"Likes tea", `{"factsToRemove":[{"id":"{id:Likes}","scope":"thread"}]}`, "[Likes tea]"},
		"removed without labels":   {"Likes tea", `{"factsToRemove":[{"id":"{id:Likes}"}]}`, "[Likes tea]"},
		"removed by nobody's id":   {"Likes tea", `{"factsToRemove":[{"id":"x","scope":"user"}]}`, "[Likes tea]"},
		"corrected": {"Likes tea",
			`{"newFacts":[` + fact("Likes coffee") + `],"factsToRemove":[{"id":"{id:Likes}","scope":"user","replacementFactIndex":0}]}`,
			"[Likes coffee]"},
		"the correction fails": {"Likes tea",
			`{"newFacts":[{"content":"Likes coffee"}],"factsToRemove":[{"id":"{id:Likes}","scope":"user","replacementFactIndex":0}]}`,
			"[Likes tea]"},
		"the correction is another": {"Likes tea",
			`{"newFacts":[3,` + fact("Likes coffee") + `],"factsToRemove":[{"id":"{id:Likes}","scope":"user","replacementFactIndex":1}]}`,
			"[Likes coffee]"},
		"the correction is the same": {"Likes tea",
			`{"newFacts":[` + fact("Likes tea") + `],"factsToRemove":[{"id":"{id:Likes}","scope":"user","replacementFactIndex":0}]}`,
			"[Likes tea]"},
		"old ones that are not old": {"Likes tea", `{"staleFactsToRemove":["{id:Likes}"]}`, "[Likes tea]"},
		"nothing":                   {"Likes tea", `{}`, "[Likes tea]"},
	} {
		t.Run(name, func(t *testing.T) {
			must.Get(w.Clear(t.Context(), me, 0))(t)
			for content := range strings.SplitSeq(c.known, "|") {
				if content != "" {
					w.add(t, memory.Fact{Content: content, Confidence: 0.8})
				}
			}
			w.learn(t, c.answer)
			if got := fmt.Sprint(w.facts(t)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestCorrectionsSayWhatToAvoid(t *testing.T) {
	w := open(t)
	w.learn(t, facts(`{"content":"Dates are ISO","category":"correction","confidence":0.97,"expected_valid_days":99999,"sourceError":"US dates","scope":"user","durability":"durable","authority":"descriptive"}`))
	f := must.Get(w.Document(t.Context(), me))(t).Facts[0]
	if f.Category != "correction" || f.Avoid != "US dates" || f.ValidDays != 1800 || f.Confidence != 0.97 {
		t.Errorf("%+v", f)
	}
}

func TestSayingItAgainConfirms(t *testing.T) {
	w := open(t)
	w.add(t, memory.Fact{Content: "Likes tea", Confidence: 0.7})
	w.pass(48 * time.Hour)
	w.learn(t, facts(fact("likes tea")))
	f := must.Get(w.Document(t.Context(), me))(t).Facts[0]
	if f.Confidence != 0.9 || !f.Updated.Equal(w.now) || f.Source != memory.Manual {
		t.Errorf("%+v", f)
	}
	w.pass(48 * time.Hour)
	w.learn(t, `{"factsToReinforce":[{"id":"{id:Likes}"}]}`)
	if f := must.Get(w.Document(t.Context(), me))(t).Facts[0]; !f.Updated.Equal(w.now) {
		t.Errorf("%+v", f)
	}
}

func TestSummaries(t *testing.T) {
	w := open(t)
	section := func(text, more string) string {
		return fmt.Sprintf(`{"summary":%q%s}`, text, more)
	}
	const good = `,"shouldUpdate":true,"scope":"user","authority":"descriptive"`
	w.learn(t, `{"user":{"workContext":`+section("Builds\ncompilers", good)+`,"topOfMind":`+section("x",
		`,"shouldUpdate":false,"scope":"user","authority":"descriptive"`)+`,"personalContext":`+section("x",
		`,"shouldUpdate":true,"scope":"thread","authority":"descriptive"`)+`,"other":`+section("x", good)+
		`},"history":{"recentMonths":`+section("Moved", good)+`,"earlierContext":3}}`)
	d := must.Get(w.Document(t.Context(), me))(t)
	if len(d.Sections) != 2 || d.Sections["user.workContext"].Summary != "Builds compilers" ||
		d.Sections["history.recentMonths"].Summary != "Moved" || d.Sections["history.recentMonths"].Updated == "" {
		t.Errorf("%+v", d.Sections)
	}
	w.learn(t, `{"user":{"workContext":`+section("", good)+`}}`)
	if d := must.Get(w.Document(t.Context(), me))(t); d.Sections["user.workContext"].Summary != "Builds compilers" {
		t.Errorf("%+v", d.Sections)
	}
}

// TestReview: old facts are removed or given more time only when they were up for review.
func TestReview(t *testing.T) {
	w := open(t)
	w.add(t, memory.Fact{Content: "one old"}, memory.Fact{Content: "two old"},
		memory.Fact{Content: "keep old", Category: "correction"})
	w.pass(91 * 24 * time.Hour)
	w.add(t, memory.Fact{Content: "young fact"})
	all := `{"staleFactsToRemove":[{"id":"{id:one}"},"{id:keep}","{id:young}"],"staleFactsToExtend":[{"id":"{id:two}","expected_valid_days":400}]}`
	w.learn(t, all) // two are too few for a review
	if got := w.facts(t); len(got) != 4 || strings.Contains(w.prompts[0], "<old_facts>") {
		t.Error(got)
	}
	w.rules.StaleLeast = 2
	w.learn(t, all)
	got := fmt.Sprint(w.facts(t))
	if got != "[two old keep old young fact]" || !strings.Contains(w.prompts[1], "<old_facts>") {
		t.Error(got)
	}
	if f := must.Get(w.Document(t.Context(), me))(t).Facts[0]; f.ValidDays != 491 {
		t.Errorf("%+v", f)
	}
	w.rules.StaleLeast, w.rules.StaleMost = 1, 0
	w.pass(500 * 24 * time.Hour)
	w.learn(t, `{"staleFactsToRemove":["{id:two}"]}`)
	if got := w.facts(t); len(got) != 3 {
		t.Error(got)
	}
}

// TestAgentsHaveTheirOwnFacts: summaries are everybody's.
func TestAgentsHaveTheirOwnFacts(t *testing.T) {
	w := open(t)
	ctx := t.Context()
	w.says(`{"newFacts":[` + fact("Lives in Bern") +
		`],"user":{"workContext":{"summary":"Builds compilers","shouldUpdate":true,"scope":"user","authority":"descriptive"}}}`)
	w.thread(t, "t")
	w.taught(t, memory.Lesson{Owner: me, Agent: "reviewer", Thread: "t", Run: "r",
		Said: []memory.Said{{ID: "1", Human: true, Text: "I live in Bern"}, {ID: "2", Text: "Yes."}}})
	w.pass(time.Minute)
	w.Work(ctx)
	if d := must.Get(w.Document(ctx, me))(t); len(d.Facts) != 0 || d.Sections["user.workContext"].Summary == "" {
		t.Errorf("%+v", d)
	}
	for agent, want := range map[string]bool{"": false, "reviewer": true} {
		r := must.Get(w.Recall(ctx, memory.Question{Owner: me, Agent: agent, Thread: "t", Text: "Where do I live?"}))(t)
		if strings.Contains(r.Text, "Bern") != want || !strings.Contains(r.Text, "Work: Builds compilers") {
			t.Errorf("%q: %s", agent, r.Text)
		}
	}
	must.Get(w.Import(ctx, me, 0, memory.Document{}))(t)
	if list := must.Get(w.All(ctx, me))(t); len(list) != 1 {
		t.Errorf("an import took the agent's: %+v", list)
	}
	must.Get(w.Clear(ctx, me, 0))(t)
	if list := must.Get(w.All(ctx, me))(t); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
