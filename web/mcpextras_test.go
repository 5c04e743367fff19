package web_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/web"
	"fawn/web/webtest"
)

// addExtras gives a server a prompt and resources, which have its secret in them.
func addExtras(s *sdk.Server) {
	s.AddPrompt(&sdk.Prompt{Name: "greet", Description: "greets </b>",
		Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			text := "Greet " + r.Params.Arguments["who"] + " for " + os.Getenv("NOTES_TOKEN")
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: text}},
				{Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}}}, nil
		})
	for _, uri := range []string{"notes://day/today.txt", "notes://day/..", "notes://day/large.bin"} {
		s.AddResource(&sdk.Resource{URI: uri, Name: uri[12:]},
			func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				c := &sdk.ResourceContents{URI: r.Params.URI, Text: "buy milk with " + os.Getenv("NOTES_TOKEN")}
				if strings.HasSuffix(uri, ".bin") {
					c.Text, c.Blob = "", make([]byte, 3<<20)
				}
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
			})
	}
}

// commands waits for the list of commands of a chat to have a text.
func (s *server) commands(t *testing.T, thread, want string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		list := s.send(t, "GET", "/ui/commands?thread="+thread, "", "X-Fawn", "1").body
		if strings.Contains(list, want) {
			return list
		}
		if time.Now().After(end) {
			t.Fatalf("the list never has %q:\n%s", want, list)
		}
	}
}

func (s *server) post(t *testing.T, path string, form url.Values, want int, more ...string) answer {
	t.Helper()
	a := s.send(t, "POST", path, form.Encode(),
		append(more, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")...)
	a.must(t, fmt.Sprintf("POST %s %v", path, form), want)
	return a
}

// TestPromptsOfMCPServers: they are among the commands, their form asks for what they want to know, and
// what the server says goes into the message box, with pictures as attachments and without secrets.
func TestPromptsOfMCPServers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extensions(t, data, map[string]any{"notes": notesServer()})
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	webtest.Holds(t, "the list", s.commands(t, "fresh", "/notes:greet"), "greets &lt;/b&gt;")
	const at = "/ui/threads/fresh/prompt"
	script := []string{"X-Fawn", "1", "Accept", "application/json"}
	form := s.send(t, "GET", at+"?name=notes:greet", "").body
	webtest.Holds(t, "the form", form, `name="a:who"`, `name="a:how"`)
	given := url.Values{"name": {"notes:greet"}, "a:who": {"Ada & Bob"}}
	if a := s.post(t, at, given, 200, script...); !strings.Contains(a.body, `"text":"Greet Ada \u0026 Bob for ****"`) &&
		!strings.Contains(a.body, `"text":"Greet Ada & Bob for ****"`) || !strings.Contains(a.body, "image-1.png") {
		t.Errorf("the script gets %s", a.body)
	}
	if to := s.post(t, at, given, 303).header.Get("Location"); !strings.HasPrefix(to, "/workspace/chats/new?") ||
		!strings.Contains(to, "q=Greet+Ada+%26+Bob+for+") {
		t.Errorf("the form leads to %s", to)
	}
	s.post(t, at, url.Values{"name": {"notes:greet"}}, 422).holds(t, "without what it needs", "Fill in all required fields")
	s.post(t, at, url.Values{"name": {"notes:none"}}, 404, script...)
	// Sent as a message it leads to the form.
	sent := url.Values{"thread": {"fresh"}, "text": {"/notes:greet"}}
	webtest.Same(t, "the message leads to", s.post(t, "/ui/threads", sent, 303).header.Get("Location"), at+"?name=notes%3Agreet")
	s.tool(t, "begun", "notes_tell", "{}")
	a := s.post(t, "/ui/threads/begun/messages", url.Values{"text": {"/notes:greet"}}, 200, script...)
	a.holds(t, "the message is answered with", `"location":"/ui/threads/begun/prompt?name=notes%3Agreet"`)
	s.post(t, "/ui/threads/fresh/tools", url.Values{"had": {"notes/"}}, 303)
	webtest.Holds(t, "a server that is off has prompts", s.commands(t, "fresh", "/goal"), "!notes:")
	s.post(t, at, given, 404, script...)
}

// TestResourcesOfMCPServers: they are read into the uploads of a chat, within its limits and below a name
// that is one.
func TestResourcesOfMCPServers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extensions(t, data, map[string]any{"notes": notesServer()})
	s := start(t, scripted(t)+"uploads: {max_file_size: 1MB}\n", func(o *web.Options) { o.Data = data })
	webtest.Holds(t, "the list", s.commands(t, "fresh", "@notes:today.txt"), `data-uri="notes://day/today.txt"`)
	const at = "/ui/threads/fresh/resources"
	script := []string{"X-Fawn", "1", "Accept", "application/json"}
	webtest.Holds(t, "the page", s.send(t, "GET", at+"?text=a+draft", "").body, "Attach: today.txt")
	one := func(uri string) url.Values { return url.Values{"server": {"notes"}, "uri": {uri}, "text": {"a draft"}} }
	s.post(t, at, one("notes://day/today.txt"), 200, script...).holds(t, "the script gets", "today.txt", "!a draft")
	file := filepath.Join(data, "threads", "fresh", "user-data", "uploads", "today.txt")
	if b, err := os.ReadFile(file); err != nil || string(b) != "buy milk with ****" {
		t.Errorf("the file is %q, %v", b, err)
	}
	webtest.Holds(t, "the form leads to", s.post(t, at, one("notes://day/.."), 303).header.Get("Location"), "q=a+draft")
	page := s.send(t, "GET", "/workspace/chats/new?thread=fresh", "").body
	webtest.Holds(t, "the chips are not there", page, `data-name="today.txt"`, `data-name="resource.txt"`)
	s.post(t, at, one("notes://day/large.bin"), 413, script...).holds(t, "a file that is too large", "too large")
	s.post(t, at, one("file:///etc/passwd"), 404, script...)
	a := s.tool(t, "fresh", "read_file", `{"path": "/mnt/user-data/uploads/today.txt"}`)
	webtest.Holds(t, "the model reads", a, "buy milk")
}
