package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// addAsk gives a server a tool that asks the person.
func addAsk(s *sdk.Server) {
	type none struct{}
	sdk.AddTool(s, &sdk.Tool{Name: "size", Description: "asks for a size"},
		func(ctx context.Context, r *sdk.CallToolRequest, _ none) (*sdk.CallToolResult, any, error) {
			got, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Which size should it be?",
				RequestedSchema: map[string]any{"type": "object", "required": []string{"size"},
					"properties": map[string]any{"size": map[string]any{"type": "string", "title": "The size"}}}})
			if err != nil {
				return nil, nil, err
			}
			text := fmt.Sprintf("the person says %s: %v", got.Action, got.Content["size"])
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
}

// questions waits until a server of Fawn has so many open questions in a thread, and gives their ids.
func (s *server) questions(t *testing.T, thread string, n int) []string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got := s.send(t, "GET", "/api/threads/"+thread+"/mcp/questions", "")
		list := decoded[struct{ Questions []struct{ ID string } }](t, got).Questions
		if len(list) == n {
			var ids []string
			for _, q := range list {
				ids = append(ids, q.ID)
			}
			return ids
		}
		if time.Now().After(end) {
			t.Fatalf("%d questions are not there: %s", n, got.body)
		}
	}
}

// TestMCPQuestionsAreAnsweredAtAnyServer: a call waits at one, the page of another shows what it asks and takes the
// answer, once.
func TestMCPQuestionsAreAnsweredAtAnyServer(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	a, b := start(t, conf, sealing(t)), start(t, conf, sealing(t))
	notes := notesServer()
	notes["env"] = map[string]string{"NOTES_TOKEN": mcpCanary}
	body, err := json.Marshal(map[string]any{"mcp_servers": map[string]any{"notes": notes}})
	must.Do(t, err)
	a.send(t, "PUT", "/api/mcp/config", string(body)).must(t, "/api/mcp/config", 200)
	a.offeredTool(t, "zero", "notes_tell")
	b.offeredTool(t, "other", "notes_tell")

	script := []string{"X-Fawn", "1", "Accept", "application/json"}
	const text = `SCRIPT{"turns":[{"tool_calls":[{"name":"notes_size","args":{}}]},{"text":"Thank you."}]}`
	a.send(t, "POST", "/threads", `{"thread_id": "t1"}`).must(t, "/threads", 200)
	a.post(t, "/ui/threads/t1/messages", url.Values{"text": {text}}, 200, script...)
	id := b.questions(t, "t1", 1)[0]
	stream, err := b.request(t.Context(), "GET", "/ui/threads/t1/stream", nil)
	must.Do(t, err)
	defer stream.Body.Close()
	seen, part := "", make([]byte, 4096)
	for !strings.Contains(seen, "Which size should it be?") {
		n, err := stream.Body.Read(part)
		if seen += string(part[:n]); err != nil {
			t.Fatalf("the page's stream ends with %v: %.2000s", err, seen)
		}
	}
	page := b.send(t, "GET", "/workspace/chats/t1", "").body
	webtest.Holds(t, "the page of the other server doesn't ask", page, "Which size should it be?", id)
	const at = "/ui/threads/t1/mcp"
	b.post(t, at, url.Values{"question": {id}, "action": {"accept"}}, 200, script...).holds(t, "an answer that does not fit", "doesn’t fit", id)
	answer := url.Values{"question": {id}, "action": {"accept"}, "f0": {"large"}}
	b.post(t, at, answer, 200, script...).holds(t, "after the answer", "!"+id)
	for _, s := range []*server{a, b} {
		s.post(t, at, answer, 409, script...).holds(t, "a second answer", "already been answered")
		s.send(t, "POST", "/api/threads/t1/mcp/questions/"+id, `{"action": "decline"}`).want(t, "a second answer over the API", 409, "answered already")
		s.send(t, "POST", "/api/threads/t1/mcp/questions/none", `{"action": "decline"}`).want(t, "a question that was never asked", 404)
		s.questions(t, "t1", 0)
	}
	for _, s := range []*server{a, b} {
		s.shows(t, "/threads/t1/state", "the person says accept: large", true)
	}

	// A run that is cancelled takes its question along.
	a.shows(t, "/threads/t1", `"status":"idle"`, true)
	a.post(t, "/ui/threads/t1/messages", url.Values{"text": {text}}, 200, script...)
	second := b.questions(t, "t1", 1)[0]
	b.post(t, "/ui/threads/t1/stop", url.Values{}, 200, script...)
	b.questions(t, "t1", 0)
	b.send(t, "POST", "/api/threads/t1/mcp/questions/"+second, `{"action": "decline"}`).want(t, "the question of a run that was cancelled", 404)
}
