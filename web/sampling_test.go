//lint:file-ignore SA1019 The newest protocol calls sampling outdated; servers of the older ones ask for it.

package web_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/web"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

type draft struct {
	Text  string `json:"text"`
	Times int    `json:"times,omitempty"`
}

// addDraft gives a server a tool that asks the client for text.
func addDraft(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "draft", Description: "has the client's model write"},
		func(ctx context.Context, r *sdk.CallToolRequest, a draft) (*sdk.CallToolResult, any, error) {
			var texts []string
			for range max(a.Times, 1) {
				got, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1 << 30,
					SystemPrompt: "You are terse, and know " + os.Getenv("NOTES_TOKEN"),
					Messages:     []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: a.Text}}}})
				if err != nil {
					return nil, nil, err
				}
				texts = append(texts, got.Model+": "+got.Content.(*sdk.TextContent).Text)
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(texts, "; ")}}},
				nil, nil
		})
}

// TestServersMayAskForModelCalls: only where their owner allows it, for text, within limits, and the
// run pays.
func TestServersMayAskForModelCalls(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	model.When("write a poem", scriptmodel.Script{Turns: []scriptmodel.Turn{
		{Text: "Roses.", Usage: &scriptmodel.Usage{Prompt: 700, Completion: 7}}}})
	data := t.TempDir()
	allowed := notesServer()
	allowed["sampling"] = true
	extensions(t, data, map[string]any{"yes": allowed, "no": notesServer()})
	conf := func(extra string) string {
		return fmt.Sprintf("title: {enabled: false}\nmemory: {model_name: offline}\n%smodels:\n  - {name: script, use: openai, "+
			"model: script, base_url: %q, api_key: test}\n  - {name: light, use: openai, model: light, base_url: %q, "+
			"api_key: test, lightweight: true}\n", extra, model.URL+"/v1", model.URL+"/v1")
	}
	s := start(t, conf(""), func(o *web.Options) { o.Data = data })
	s.offeredTool(t, "zero", "no_tell")
	s.offeredTool(t, "zero", "yes_tell")
	webtest.Holds(t, "a server that may", s.tool(t, "one", "no_draft", `{"text":"write a poem"}`), "does not support")
	webtest.Same(t, "a server that may", s.tool(t, "one", "yes_draft", `{"text":"write a poem"}`), "light: Roses.")
	var asked string
	for _, r := range model.Requests() {
		if body := string(r.Body); strings.Contains(body, `"light"`) {
			asked = body
		}
	}
	webtest.Holds(t, "the model is asked", asked, "You are terse, and know ****", "4096", `!"tools"`)
	usage := s.send(t, "GET", "/api/threads/one/token-usage", "").body
	webtest.Holds(t, "the usage of the thread", usage, `"light"`, "707")
	got := s.tool(t, "two", "yes_draft", `{"text":"write a poem","times":21}`)
	webtest.Holds(t, "a server that asks too often", got, "a run may make at most 20 model calls for its tools")
	webtest.Holds(t, "a server that asks too much", s.tool(t, "two", "yes_draft", `{"text":"`+strings.Repeat("much ", 14<<10)+`"}`), "more than 64 KiB of text")
	s.configure(t, conf("token_budget: {max_output_tokens: 20}\n"))
	webtest.Holds(t, "a run whose budget is spent", s.tool(t, "three", "yes_draft", `{"text":"write a poem","times":9}`), "the run's budget is spent")
	log := s.send(t, "GET", "/api/mcp/status", "").body
	webtest.Holds(t, "the server's log", log, "a request for a model call is refused: the run's budget")
}
