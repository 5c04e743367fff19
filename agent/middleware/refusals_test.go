package middleware_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/llmerr"
	"fawn/agent/middleware"
)

func no(message string) agenttest.Reply {
	return agenttest.Reply{Err: &llmerr.Error{Status: 400, Class: llmerr.ClassInvalid, Message: message}}
}

// TestAToolThatIsRefusedIsWithdrawn, in the words of each provider, and the run goes on.
func TestAToolThatIsRefusedIsWithdrawn(t *testing.T) {
	for _, words := range []string{
		`Invalid schema for function 'srv_bad': In context=('properties', 'a'), array schema missing items.`,
		`tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12`,
		`tools.1.function.parameters: Input should be a valid dictionary`,
		`Invalid 'tools[1].function.name': string does not match pattern.`,
		`* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].items: missing field.`,
		"Invalid parameter: tool `srv_bad` has a schema with an unsupported type",
		`Provider returned error: function "srv_bad" is malformed`,
		`tools[1].function.parameters is not a valid JSON schema`,
		`Failed to parse tool srv_bad: unknown type any`,
		`Schema of srv_bad: "required" must be an array`,
	} {
		script := &agenttest.Script{Replies: []agenttest.Reply{no(words), agenttest.Call("c", "good", `{}`), agenttest.Say("done")}}
		var gone []string
		sink := &agenttest.Sink{}
		good := agenttest.Echo("good")
		bad := agenttest.Echo("srv_bad")
		a := &agent.Agent{Model: script, Tools: []*agent.Tool{good, bad}, Chain: []agent.Middleware{
			middleware.Refusals(func(t *agent.Tool, why string) { gone = append(gone, t.Name+": "+why) })}}
		if _, err := a.Run(t.Context(), agenttest.Turn("go", sink)); err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		var offered []int
		for _, r := range script.Requests() {
			offered = append(offered, len(r.Tools))
		}
		if !slices.Equal(offered, []int{2, 1, 1}) || len(gone) != 1 || gone[0] != "srv_bad: "+words {
			t.Errorf("%s: offered %v, withdrawn %q", words, offered, gone)
		}
	}
}

func TestOtherRefusalsStay(t *testing.T) {
	for _, words := range []string{"model not found", "the message names read and function", "tools are not supported"} {
		script := &agenttest.Script{Replies: []agenttest.Reply{no(words)}}
		a := &agent.Agent{Model: script, Tools: []*agent.Tool{agenttest.Echo("read")}, Chain: []agent.Middleware{
			middleware.Refusals(func(t *agent.Tool, _ string) { panic(t.Name) })}}
		var e *llmerr.Error
		if _, err := a.Run(t.Context(), agenttest.Turn("go", &agenttest.Sink{})); !errors.As(err, &e) || len(script.Requests()) != 1 {
			t.Errorf("%s: %v after %d calls", words, err, len(script.Requests()))
		}
	}
}

// TestAMessageThatIsRefusedIsTold as text, and only once.
func TestAMessageThatIsRefusedIsTold(t *testing.T) {
	script := &agenttest.Script{Replies: []agenttest.Reply{no("Invalid image data"), agenttest.Call("c", "good", `{}`), agenttest.Say("done")}}
	a := &agent.Agent{Model: script, Tools: []*agent.Tool{agenttest.Echo("good")}, Chain: []agent.Middleware{
		middleware.Refusals(func(t *agent.Tool, _ string) { panic(t.Name) })}}
	turn := agenttest.Turn("go", &agenttest.Sink{})
	notes := map[string]string{}
	turn.Remark = func(key, text string) { notes[key] = text }
	turn.State.Messages[0].Content = agent.Content{Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"go"}`),
		json.RawMessage(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`),
		json.RawMessage(`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}`)}}
	must.Get(a.Run(t.Context(), turn))(t)
	all := script.Requests()
	if len(all) != 3 || notes[middleware.BlindKey] == "" {
		t.Fatalf("%d calls, notes %v", len(all), notes)
	}
	for _, r := range all[1:] {
		if got := r.Messages[0].Content; got.Blocks != nil || !strings.Contains(got.Text, "cannot see") || !strings.Contains(got.Text, "a.pdf") {
			t.Errorf("the message is %+v", got)
		}
	}
}
