package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/account"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// call is one of a run's calls in the API.
type call struct {
	ID      int64  `json:"id"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Helper  string `json:"helper"`
	Began   int64  `json:"began"`
	First   int64  `json:"first_token"`
	Took    int64  `json:"took"`
	Status  string `json:"status"`
	Error   string `json:"error"`
	Args    string `json:"arguments"`
	Result  string `json:"result"`
	Answer  string `json:"answer"`
	Message string `json:"message_id"`
	Usage   struct {
		Input int     `json:"input_tokens"`
		Cost  float64 `json:"cost"`
	} `json:"usage"`
	Prompt *struct {
		System   string `json:"system"`
		Messages []struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Missing int `json:"missing"`
	} `json:"prompt"`
}

// traceOf are the calls of a thread's only run, and where they are.
func (s *server) traceOf(t *testing.T, thread string) (calls []call, at string) {
	t.Helper()
	list := decoded[[]map[string]any](t, s.send(t, "GET", "/threads/"+thread+"/runs", ""))
	if len(list) != 1 {
		t.Fatalf("%d runs", len(list))
	}
	at = fmt.Sprintf("/threads/%s/runs/%s/trace", thread, list[0]["run_id"])
	return decoded[struct{ Spans []call }](t, s.send(t, "GET", at, "")).Spans, at
}

// kinds counts calls by kind and name.
func kinds(list []call) map[string]int {
	out := map[string]int{}
	for _, c := range list {
		out[c.Kind+" "+c.Name]++
	}
	return out
}

// TestEachCallOfARunCanBeLookedInto: its models, tools and helpers are there with what they took,
// and the prompt of a model call is what its provider got, word for word.
func TestEachCallOfARunCanBeLookedInto(t *testing.T) {
	t.Parallel()
	s, thread := paintedRun(t, "")
	calls, at := s.traceOf(t, thread)
	got := kinds(calls)
	for what, n := range map[string]int{"run lead_agent": 1, "run general-purpose": 1, "model script": 3,
		"tool task": 1, "tool read_file": 1} {
		webtest.Same(t, fmt.Sprintf("× %s, want : %v", what, got), got[what], n)
	}
	for _, c := range calls {
		switch {
		case c.Began == 0 || c.Took <= 0:
			t.Errorf("no time: %+v", c)
		case c.Kind == "model" && (c.First <= 0 || c.First > c.Took || c.Usage.Input == 0 || c.Usage.Cost == 0 ||
			c.Message == "" || c.Answer == ""):
			t.Errorf("a model call: %+v", c)
		case c.Kind == "tool" && c.Name == "read_file" &&
			(c.Status != "error" || !strings.Contains(c.Args, "none.txt") || !strings.Contains(c.Result, "not found")):
			t.Errorf("a tool call: %+v", c)
		case c.Prompt != nil:
			t.Errorf("the list has a prompt: %+v", c)
		}
		if c.Kind != "model" {
			continue
		}
		one := decoded[call](t, s.send(t, "GET", fmt.Sprint(at, "/", c.ID), ""))
		if one.Prompt == nil || one.Prompt.Missing > 0 || !strings.Contains(one.Prompt.System, "You are Fawn") ||
			len(one.Prompt.Tools) == 0 {
			t.Fatalf("the prompt: %+v", one.Prompt)
		}
		last := one.Prompt.Messages[len(one.Prompt.Messages)-1]
		want := map[int]string{1000: "--- BEGIN USER INPUT ---\\npaint it\\n--- END USER INPUT ---",
			5000: "\\nmix the colour\\n", 2000: "none.txt"}[one.Usage.Input]
		webtest.Holds(t, fmt.Sprintf("the last message of the prompt with %d tokens is %s", one.Usage.Input, last.Content), string(last.Content), want)
		if helper := one.Usage.Input == 5000; helper != (c.Helper == "general-purpose") {
			t.Errorf("the helper of the prompt with %d tokens is %q", one.Usage.Input, c.Helper)
		}
	}
	s.send(t, "GET", at+"/1", "").want(t, "a call that is not there", http.StatusNotFound)
	s.send(t, "DELETE", "/threads/"+thread, "").fine(t, "/threads/"+thread)
	s.send(t, "GET", at, "").want(t, "of a thread that is deleted", http.StatusNotFound)
}

// TestRetriesCanBeLookedInto: each attempt is a call with what went wrong.
func TestRetriesCanBeLookedInto(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	model.When("try hard",
		scriptmodel.Script{
			Turns: []scriptmodel.Turn{{Error: &scriptmodel.Failure{Status: 503, Message: "overloaded", Times: 1},
				Text: "Done."}},
		})
	s := start(t, strings.Replace(priced(model.URL, 2, 10), "title: {model_name: cheap}",
		"title: {enabled: false}\nllm_call: {retry_base_delay_ms: 1, retry_cap_delay_ms: 1}", 1))
	const thread = "11111111-1111-4111-8111-111111111111"
	if a := s.send(t, "POST", "/threads/"+thread+"/runs/wait", human("try hard")); !strings.Contains(a.body, "Done.") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	calls, _ := s.traceOf(t, thread)
	var how []string
	for _, c := range calls {
		if c.Kind == "model" {
			how = append(how, c.Status)
		}
	}
	if strings.Join(how, " ") != "error ok" {
		t.Errorf("the attempts went %v: %+v", how, calls)
	}
}

// TestNothingIsKeptThatTheOwnerDoesNotWant.
func TestNothingIsKeptThatTheOwnerDoesNotWant(t *testing.T) {
	t.Parallel()
	s, thread := paintedRun(t, "inspector: {prompts: false}\n")
	calls, at := s.traceOf(t, thread)
	for _, c := range calls {
		if c.Kind != "model" {
			continue
		}
		if one := decoded[call](t, s.send(t, "GET", fmt.Sprint(at, "/", c.ID), "")); one.Prompt != nil ||
			one.Took == 0 {
			t.Errorf("a call: %+v", one)
		}
	}
	off, thread := paintedRun(t, "inspector: {enabled: false}\n")
	list := decoded[[]map[string]any](t, off.send(t, "GET", "/threads/"+thread+"/runs", ""))
	off.send(t, "GET", fmt.Sprintf("/threads/%s/runs/%s/trace", thread, list[0]["run_id"]), "").want(t, "the answer", http.StatusNotFound)
}

// TestThePromptIsWhatTheProviderGot, also after a call of a tool and with what stages put in.
func TestThePromptIsWhatTheProviderGot(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	model.When("look there", scriptmodel.Script{Turns: []scriptmodel.Turn{
		{ToolCalls: []scriptmodel.Call{{Name: "ls", Args: json.RawMessage(`{"path":"/mnt/user-data/workspace"}`)}}},
		{Text: "Nothing there."}}})
	s := start(t, strings.Replace(priced(model.URL, 2, 10), "title: {model_name: cheap}", "title: {enabled: false}", 1))
	const thread = "11111111-1111-4111-8111-111111111111"
	a := s.send(t, "POST", "/threads/"+thread+"/runs/wait", human("look <b>there</b>, look there"))
	if !strings.Contains(a.body, "Nothing there.") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	calls, at := s.traceOf(t, thread)
	sent, n := model.Requests(), 0
	for _, c := range calls {
		if c.Kind != "model" {
			continue
		}
		p := decoded[call](t, s.send(t, "GET", fmt.Sprint(at, "/", c.ID), "")).Prompt
		got := webtest.Decode[struct {
			Messages []struct{ Content json.RawMessage }
			Tools    []struct{ Function struct{ Name string } }
		}](t, string(sent[n].Body))
		n++
		texts := []string{p.System}
		for _, m := range p.Messages {
			text := webtest.Decode[string](t, string(m.Content))
			texts = append(texts, text)
		}
		if len(texts) != len(got.Messages) || len(p.Tools) != len(got.Tools) {
			t.Fatalf("%d messages and %d tools, the provider got %d and %d", len(texts), len(p.Tools),
				len(got.Messages), len(got.Tools))
		}
		for i, m := range got.Messages {
			var text string
			if string(m.Content) != "null" && m.Content != nil {
				must.Do(t, json.Unmarshal(m.Content, &text), m.Content)
			}
			webtest.Same(t, fmt.Sprintf("message %d is , the provider got", i), text, texts[i])
		}
		for i, tool := range got.Tools {
			webtest.Same(t, fmt.Sprintf("tool %d is , the provider got", i), tool.Function.Name, p.Tools[i].Name)
		}
	}
	webtest.Same(t, "calls", n, 2)
}

// TestARunIsInspectedInThePage: its calls, one of them with its prompt, and nobody else's run.
func TestARunIsInspectedInThePage(t *testing.T) {
	t.Parallel()
	s, thread := paintedRun(t, "")
	calls, at := s.traceOf(t, thread)
	page := "/workspace/chats" + strings.TrimSuffix(strings.TrimPrefix(at, "/threads"), "/trace")
	chat := s.send(t, "GET", "/workspace/chats/"+thread, "", "Accept", "text/html").body
	webtest.Holds(t, "the chat has no way to its run's calls", chat, `href="`+page+`"`)
	s.send(t, "GET", page, "", "Accept", "text/html").holds(t, "is not on the page", "general-purpose", "read_file", "8.0k", "0.021", "<rect")
	for _, c := range calls {
		open := s.send(t, "GET", fmt.Sprint(page, "?call=", c.ID), "", "Accept", "text/html").body
		switch {
		case c.Name == "read_file" && !strings.Contains(open, "File not found"),
			c.Kind == "model" && c.Usage.Input == 1000 &&
				(!strings.Contains(open, "--- BEGIN USER INPUT ---\npaint it") ||
					!strings.Contains(open, "You are Fawn")):
			t.Errorf("%s %s: %s", c.Kind, c.Name, open)
		}
	}
	other := strings.Replace(page, thread, "22222222-2222-4222-8222-222222222222", 1)
	s.send(t, "POST", "/threads", `{"thread_id":"22222222-2222-4222-8222-222222222222"}`)
	s.send(t, "GET", other, "", "Accept", "text/html").want(t, "the run in another chat", http.StatusNotFound)
}

// TestUsageIsShownByDayModelAndAgent.
func TestUsageIsShownByDayModelAndAgent(t *testing.T) {
	t.Parallel()
	s, thread := paintedRun(t, "token_budget: {max_tokens: 123456}\n")
	run := decoded[[]struct {
		Created string `json:"created_at"`
	}](t, s.send(t, "GET", "/threads/"+thread+"/runs", ""))[0]
	day, _, _ := strings.Cut(run.Created, "T")
	for _, path := range []string{"/workspace/usage", "/workspace/usage?days=7"} {
		s.send(t, "GET", path, "", "Accept", "text/html").holds(t, "is not on "+path, "8.0k", "0.021", "script", "lead_agent", "general-purpose", "5.0k", "123.5k", day, "<rect")
	}
	if a := s.send(t, "GET", "/workspace/usage?days=0", "", "Accept", "text/html"); a.status/100 != 4 {
		t.Errorf("no days: %d", a.status)
	}
}

// TestUsageIsShownByUserWithWhatIsLeftOfBudgets to whoever runs the installation; others see their own only.
func TestUsageIsShownByUserWithWhatIsLeftOfBudgets(t *testing.T) {
	t.Parallel()
	ann := guarded(t, scripted(t)+"token_budget: {max_tokens: 50000, max_thread_tokens: 20000}\n").owner(t)
	eve := ann.member(t, "eve@x.org", account.RoleUser)
	show := func(b *browser) string { return b.do(t, "GET", "/workspace/usage", "", "Accept", "text/html").body }
	for who, b := range map[string]*browser{"ann": ann, "eve": eve} {
		webtest.Holds(t, fmt.Sprintf("%s, who has used nothing, sees a chart, or no budget", who), show(b), `!class="chart"`, "No usage yet.", "50.0k")
	}
	for thread, tokens := range map[string]int{"small": 5000, "great": 25000} {
		said := fmt.Sprintf(`SCRIPT{"turns":[{"text":"x","usage":{"prompt":%d,"completion":0}}]}`, tokens)
		eve.do(t, "POST", "/threads/"+thread+"/runs/wait", agenttest.RunBody("/runs", human(said))).must(t, "the answer", http.StatusOK)
		eve.do(t, "POST", "/threads/"+thread+"/state", `{"values":{"title":"The `+thread+` one"}}`).must(t, "/threads/"+thread+"/state", http.StatusOK)
	}
	type usage struct {
		ByUser []struct {
			Email  string
			Tokens int
			Runs   int
		} `json:"by_user"`
		Budgets struct {
			Run, Thread struct {
				Max int `json:"max_tokens"`
			}
			Threads []struct {
				ID   string `json:"thread_id"`
				Used int    `json:"used_tokens"`
				Left int    `json:"left_tokens"`
				Cost *int   `json:"left_cost"`
			}
		}
	}
	of := func(b *browser) usage { return webtest.Decode[usage](t, b.do(t, "GET", "/api/console/usage", "").body) }
	if got := of(ann); len(got.ByUser) != 1 || got.ByUser[0].Email != "eve@x.org" || got.ByUser[0].Runs != 2 ||
		got.ByUser[0].Tokens < 30000 || len(got.Budgets.Threads) != 0 {
		t.Errorf("ann: %+v", got)
	}
	got := of(eve)
	list := got.Budgets.Threads
	if got.ByUser != nil || got.Budgets.Run.Max != 50000 || got.Budgets.Thread.Max != 20000 || len(list) != 2 ||
		list[0].ID != "great" || list[0].Left != 0 || list[1].Used < 5000 || list[1].Left != 20000-list[1].Used ||
		list[1].Cost != nil {
		t.Errorf("eve: %+v", got)
	}
	webtest.Holds(t, "eve's page", show(eve), "The great one", "The small one", ">None<", "15.0k tokens", `class="chart"`)
	if strings.Contains(show(eve), "By user") || !strings.Contains(show(ann), "eve@x.org") ||
		strings.Contains(show(ann), "The great one") {
		t.Error("who sees what others took, and in which chats?")
	}
}
