package agenttest

import "strings"

// RunBody returns the body of a request to path. A run without an assistant gets the lead agent, since LangGraph's
// routes require one.
func RunBody(path, body string) string {
	path, _, _ = strings.Cut(path, "?")
	makes := false
	for _, end := range []string{"/runs", "/runs/wait", "/runs/stream", "/runs/crons"} {
		makes = makes || strings.HasSuffix(path, end)
	}
	if !makes || !strings.HasPrefix(body, "{") || strings.Contains(body, `"assistant_id"`) {
		return body
	}
	if body == "{}" {
		return `{"assistant_id":"lead_agent"}`
	}
	return `{"assistant_id":"lead_agent",` + body[1:]
}
