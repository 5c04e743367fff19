package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// runID is the id a run-creating answer names.
func runID(t *testing.T, h http.Header) string {
	t.Helper()
	_, id, ok := strings.Cut(h.Get("Content-Location"), "/runs/")
	if !ok || strings.Contains(id, "/") {
		t.Fatalf("Content-Location = %q", h.Get("Content-Location"))
	}
	return id
}

func TestResumeFromEveryIdGivesExactlyTheRest(t *testing.T) {
	w := open(t, toolAgent())
	a := w.send(t, "POST", "/threads/t1/runs/stream", toolBody)
	all := frames(t, a.body)
	path := "/threads/t1/runs/" + runID(t, a.header) + "/stream"
	for i, f := range all[:len(all)-1] {
		rest := frames(t, w.send(t, "GET", path, "", "Last-Event-ID", f.id).body)
		want := all[i+1:]
		if len(rest) != len(want) {
			t.Fatalf("after %s: %s\nwant %s", f.id, events(rest), events(want))
		}
		for j := range rest {
			// what a reader cannot know without the earlier events is left out of the metadata
			if rest[j].event != want[j].event || rest[j].id != want[j].id ||
				rest[j].event != "messages" && rest[j].data != want[j].data {
				t.Fatalf("after %s: %+v\nwant %+v", f.id, rest[j], want[j])
			}
		}
	}
	for _, id := range []string{"", "-1", "0", "garbage", "1795231741539-0", "x-y"} {
		if got := frames(t, w.send(t, "GET", path, "", "Last-Event-ID", id).body); !slices.Equal(got, all) {
			t.Errorf("Last-Event-ID %q: %s", id, events(got))
		}
	}
	for _, id := range []string{all[len(all)-1].id, "999999", "1795231741539-999999"} {
		webtest.Same(t, fmt.Sprintf("past the end (%q)", id), events(frames(t, w.send(t, "GET", path, "", "Last-Event-ID", id).body)), "end")
	}
}

func TestChunksAddUpToTheStoredMessages(t *testing.T) {
	w := open(t, toolAgent())
	a := w.send(t, "POST", "/threads/t1/runs/stream", `{"input":{"messages":"hi"},"stream_mode":"messages-tuple"}`)
	type message struct {
		Type, ID, Content string
		Kwargs            struct {
			Reasoning string `json:"reasoning_content"`
		} `json:"additional_kwargs"`
		Chunks []struct {
			Name, ID *string
			Args     string
			Index    int
		} `json:"tool_call_chunks"`
		Calls []agent.ToolCall `json:"tool_calls"`
		Usage *agent.Usage     `json:"usage_metadata"`
	}
	sums, order := map[string]*message{}, []string{}
	for _, f := range frames(t, a.body) {
		if f.event != "messages" {
			continue
		}
		pair := decode[[]json.RawMessage](t, f.data)
		m := decode[message](t, string(pair[0]))
		s := sums[m.ID]
		if s == nil {
			s = &message{Type: m.Type}
			sums[m.ID], order = s, append(order, m.ID)
		} else if m.Type != "AIMessageChunk" {
			t.Errorf("a second frame for whole message %s", m.ID)
		}
		s.Content += m.Content
		s.Kwargs.Reasoning += m.Kwargs.Reasoning
		for _, c := range m.Chunks {
			if (c.Name == nil) != (len(s.Chunks) > 0) {
				t.Errorf("name belongs to the first piece of a call only: %s", pair[0])
			}
			s.Chunks = append(s.Chunks, c)
		}
		if m.Usage != nil && s.Usage != nil {
			t.Error("usage came twice")
		} else if m.Usage != nil {
			s.Usage = m.Usage
		}
	}
	state := w.ok(t, "GET", "/threads/t1/state", "")
	stored := state["values"].(map[string]any)["messages"].([]any)[1:]
	if len(stored) != len(order) {
		t.Fatalf("%d messages streamed, %d stored", len(order), len(stored))
	}
	for i, v := range stored {
		m, s := v.(map[string]any), sums[order[i]]
		if m["id"] != order[i] || m["content"] != s.Content {
			t.Errorf("streamed %s %q, stored %v %q", order[i], s.Content, m["id"], m["content"])
		}
		var args string
		for _, c := range s.Chunks {
			args += c.Args
		}
		if i == 0 && (args != `{"city":"Paris"}` || s.Kwargs.Reasoning != "thinking" || s.Usage == nil ||
			s.Usage.Total != 15) {
			t.Errorf("args %s, reasoning %q, usage %v", args, s.Kwargs.Reasoning, s.Usage)
		}
	}
}

func TestParallelCallsKeepTheirIndexes(t *testing.T) {
	w := open(t, &agent.Agent{Tools: []*agent.Tool{agenttest.Echo("echo")},
		Model: &agenttest.Script{Replies: []agenttest.Reply{
			agenttest.Call("a", "echo", `{"n":1}`, "b", "echo", `{"n":2}`)}}})
	a := w.send(t, "POST", "/threads/t1/runs/stream", `{"input":{"messages":"hi"},"stream_mode":["messages-tuple"]}`)
	var got []string
	for _, f := range frames(t, a.body) {
		if f.event != "messages" {
			continue
		}
		pair := decode[[2]struct {
			Type       string `json:"type"`
			ToolCallID string `json:"tool_call_id"`
			Chunks     []struct {
				Index int    `json:"index"`
				ID    string `json:"id"`
			} `json:"tool_call_chunks"`
			Calls []agent.ToolCall `json:"tool_calls"`
			Node  string           `json:"langgraph_node"`
		}](t, f.data)
		switch m := pair[0]; {
		case m.Type == "tool":
			got = append(got, pair[1].Node+" "+m.ToolCallID)
		case len(m.Chunks) == 1:
			got = append(got, fmt.Sprintf("%s %d %s %s", pair[1].Node, m.Chunks[0].Index, m.Chunks[0].ID,
				m.Calls[0].Args))
		}
	}
	webtest.Same(t, ", ", strings.Join(got, ", "), `model 0 a {"n":1}, model 1 b {"n":2}, tools a, tools b`)
}

func TestOnlyTheModesAskedForAreSent(t *testing.T) {
	for modes, want := range map[string]string{
		``:                                      "metadata values values end",
		`[]`:                                    "metadata values values end",
		`null`:                                  "metadata values values end",
		`"updates"`:                             "metadata updates end",
		`["messages-tuple"]`:                    "metadata messages messages messages end",
		`["custom","updates"]`:                  "metadata updates end",
		`["tasks","debug"]`:                     "metadata debug debug tasks debug tasks debug debug end",
		`["events","tools"]`:                    "metadata events events events events events events events events events events events end",
		`["checkpoints"]`:                       "metadata checkpoints checkpoints checkpoints end",
		`"messages"`:                            "metadata messages/metadata messages/partial messages/partial messages/partial messages/complete end",
		`["values","messages-tuple","updates"]`: "metadata values messages messages messages updates values end",
	} {
		t.Run(modes, func(t *testing.T) {
			w := open(t, sayAgent("a", "b"))
			body := `{"input":{"messages":"hi"}}`
			if modes != "" {
				body = `{"input":{"messages":"hi"},"stream_mode":` + modes + `}`
			}
			a := w.send(t, "POST", "/threads/t1/runs/stream", body)
			webtest.Same(t, "got", events(frames(t, a.body)), want)
		})
	}
	w := open(t, sayAgent("a", "b"))
	a := w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"hi"},"stream_mode":["updates"]}`)
	path := "/threads/t1/runs/" + runID(t, a.header) + "/stream"
	for query, want := range map[string]string{
		"": "metadata updates end", `?stream_mode=["values","custom"]`: "metadata values values end",
		"?stream_mode=values&stream_mode=updates": "metadata values updates values end",
		"?stream_mode=custom":                     "metadata end",
	} {
		got := events(frames(t, w.send(t, "GET", path+strings.ReplaceAll(query, `"`, "%22"), "").body))
		webtest.Same(t, "join "+query, got, want)
	}
	w.send(t, "GET", path+"?stream_mode=nope", "").want(t, "unknown mode", 422)
}

func TestPartialMessagesResumeWhole(t *testing.T) {
	w := open(t, sayAgent("a", "b", "c"))
	a := w.send(t, "POST", "/threads/t1/runs/stream", `{"input":{"messages":"hi"},"stream_mode":"messages"}`)
	all := frames(t, a.body)
	path := "/threads/t1/runs/" + runID(t, a.header) + "/stream?stream_mode=messages"
	rest := frames(t, w.send(t, "GET", path, "", "Last-Event-ID", all[3].id).body)
	if got := events(rest); got != "messages/partial messages/partial messages/complete end" {
		t.Fatal(got)
	}
	if m := decode[[]map[string]any](t, rest[0].data); m[0]["content"] != "abc" {
		t.Errorf("partial after resume = %v", m[0]["content"])
	}
}

func TestTextSurvivesTheWire(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	pieces := []string{"quote \" back \\ tab \t nl \n cr \r", "nul \x00 esc \x1b del \x7f",
		"sep \u2028 \u2029 nbsp \u00a0", "emoji 🦌👩‍👩‍👧 é", "<b>&amp;", big}
	w := open(t, sayAgent(pieces...))
	a := w.send(t, "POST", "/threads/t1/runs/stream",
		`{"input":{"messages":"x\u2028y 🦌"},"stream_mode":["messages-tuple","values"]}`)
	if strings.ContainsAny(a.body, "\u2028\u2029") {
		t.Error("a line separator was sent as it is")
	}
	var text strings.Builder
	var last string
	for _, f := range frames(t, a.body) {
		switch f.event {
		case "messages":
			var pair []struct {
				Content string `json:"content"`
			}
			must.Do(t, json.Unmarshal([]byte(f.data), &pair))
			text.WriteString(pair[0].Content)
		case "values":
			last = f.data
		}
	}
	want := strings.Join(pieces, "")
	if text.String() != want {
		t.Errorf("streamed %d bytes, want %d", text.Len(), len(want))
	}
	v := decode[struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}](t, last)
	if v.Messages[0].Content != "x\u2028y 🦌" || v.Messages[1].Content != want {
		t.Errorf("values hold %q and %d bytes", v.Messages[0].Content, len(v.Messages[1].Content))
	}
}

func TestAReaderIsToldThatEventsAreGone(t *testing.T) {
	w := open(t, sayAgent("hi ", "there"))
	all := frames(t, w.send(t, "POST", "/threads/t1/runs/stream", `{"input":{"messages":"hi"}}`).body)
	path := "/threads/t1/runs/" + decode[map[string]any](t, all[0].data)["run_id"].(string) + "/stream"
	w.eventually(t, func() bool { return w.m.Active("t1") == "" })
	w.ok(t, "POST", "/threads/prune", `{"thread_ids":["t1"],"strategy":"keep_latest"}`)
	got := frames(t, w.send(t, "GET", path, "", "Last-Event-ID", all[1].id).body)
	if len(got) != 1 || got[0].event != "gap" || got[0].id != "" {
		t.Fatalf("%v", got)
	}
	gap := decode[map[string]any](t, got[0].data)
	if gap["code"] != "stream_replay_gap" || gap["requested_event_id"] != all[1].id ||
		gap["recovery"] != "reload_durable_state" || gap["latest_available_event_id"] != nil {
		t.Errorf("%v", gap)
	}
	for _, id := range []string{"", "-1"} {
		webtest.Same(t, fmt.Sprintf("from the start (%q)", id), events(frames(t, w.send(t, "GET", path, "", "Last-Event-ID", id).body)), "end")
	}
}
