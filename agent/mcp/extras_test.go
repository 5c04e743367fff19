package mcp_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/mcp"
)

// withExtras is a server with prompts and resources that say its secret. Calling its prompt named grow
// adds another prompt, and one named hang never answers.
func withExtras(secret string) *sdk.Server {
	s := newServer()
	say := func(texts ...string) sdk.PromptHandler {
		return func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			out := &sdk.GetPromptResult{}
			for i, text := range texts {
				role := sdk.Role("user")
				if i%2 == 1 {
					role = "assistant"
				}
				out.Messages = append(out.Messages, &sdk.PromptMessage{Role: role,
					Content: &sdk.TextContent{Text: text + r.Params.Arguments["who"]}})
			}
			out.Messages = append(out.Messages, &sdk.PromptMessage{Role: "user",
				Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}})
			return out, nil
		}
	}
	s.AddPrompt(&sdk.Prompt{Name: "greet", Description: "greets",
		Arguments: []*sdk.PromptArgument{{Name: "who", Description: "whom", Required: true}}},
		say("Hello from "+secret+", "))
	s.AddPrompt(&sdk.Prompt{Name: "talk"}, say("Ask.", "Answer."))
	s.AddPrompt(&sdk.Prompt{Name: "long"}, say(strings.Repeat("long ", 100_000)))
	s.AddPrompt(&sdk.Prompt{Name: "grow"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		s.AddPrompt(&sdk.Prompt{Name: "grown"}, say("More."))
		return nil, errors.New("refused with " + secret)
	})
	read := func(c sdk.ResourceContents) sdk.ResourceHandler {
		return func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&c}}, nil
		}
	}
	s.AddResource(&sdk.Resource{URI: "file:///notes/a.md", Name: "notes"},
		read(sdk.ResourceContents{URI: "file:///notes/a.md", Text: "# by " + secret}))
	s.AddResource(&sdk.Resource{URI: "demo://table", Name: "table", MIMEType: "text/csv"},
		read(sdk.ResourceContents{URI: "demo://table", MIMEType: "text/csv", Blob: []byte("a,b\n")}))
	return s
}

// TestPromptsAndResources: they are listed, also when they change, and asked for in a thread's session;
// nothing has a secret, and what a server refuses is told.
func TestPromptsAndResources(t *testing.T) {
	const secret = "sk-canary-extras-81"
	conf := stdio("x", "extras", secret)
	conf.Secrets = []string{secret}
	w := newWorld(t, conf)
	names := func() (out []string) {
		for _, p := range w.Prompts() {
			out = append(out, p.Server+":"+p.Name)
		}
		return out
	}
	until(t, "the listing", func() bool { return len(w.Resources()) == 2 })
	if got, want := names(), []string{"x:greet", "x:grow", "x:long", "x:talk"}; !slices.Equal(got, want) {
		t.Errorf("the prompts are %q", got)
	}
	if p := w.Prompts()[0]; p.Description != "greets" || len(p.Arguments) != 1 || !p.Arguments[0].Required {
		t.Errorf("a prompt is told as %+v", p)
	}
	told, err := w.Prompt(t.Context(), "one", "x", "greet", map[string]string{"who": "Ada"})
	if err != nil || told.Text != "Hello from ****, Ada" || len(told.Files) != 1 ||
		told.Files[0].Name != "image-1.png" {
		t.Errorf("the prompt says %+v, %v", told, err)
	}
	if told, err := w.Prompt(t.Context(), "one", "x", "talk", nil); err != nil ||
		told.Text != "User: Ask.\n\nAssistant: Answer." {
		t.Errorf("a conversation is %+v, %v", told, err)
	}
	var refused *mcp.RefusedError
	for _, name := range []string{"long", "grow"} {
		if _, err := w.Prompt(t.Context(), "one", "x", name, nil); !errors.As(err, &refused) ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for server, want := range map[string]error{"x": mcp.ErrGone, "y": mcp.ErrUnknown} {
		if _, err := w.Prompt(t.Context(), "one", server, "none", nil); !errors.Is(err, want) {
			t.Errorf("none of %s: %v", server, err)
		}
	}
	files, err := w.Read(t.Context(), "one", "x", "file:///notes/a.md")
	if err != nil || len(files) != 1 || files[0].Name != "a.md" || string(files[0].Data) != "# by ****" {
		t.Errorf("a resource is %+v, %v", files, err)
	}
	files, err = w.Read(t.Context(), "one", "x", "demo://table")
	if err != nil || len(files) != 1 || files[0].Name != "table.csv" || string(files[0].Data) != "a,b\n" {
		t.Errorf("a resource is %+v, %v", files, err)
	}
	if _, err := w.Read(t.Context(), "one", "x", "demo://none"); !errors.Is(err, mcp.ErrGone) {
		t.Errorf("a resource that is not listed: %v", err)
	}
}

// TestPromptsThatChange: a server that says so is asked again.
func TestPromptsThatChange(t *testing.T) {
	w := newWorld(t, stdio("x", "extras", "unused-value"))
	until(t, "the listing", func() bool { return len(w.Prompts()) == 4 })
	// The session of listing is that of thread "": there the server adds a prompt.
	_, _ = w.Prompt(t.Context(), "", "x", "grow", nil) // it refuses
	until(t, "the new prompt", func() bool { return len(w.Prompts()) == 5 })
}

// TestAServerThatIsGoneHasNoPrompts: it is not asked, and nobody waits.
func TestAServerThatIsGoneHasNoPrompts(t *testing.T) {
	w := newWorld(t, stdio("x", "extras", "unused-value"), stdio("bad", "hangs"))
	until(t, "the listing", func() bool { return len(w.Prompts()) == 4 })
	began := time.Now()
	w.Set([]mcp.Server{stdio("bad", "hangs")})
	if got := w.Prompts(); len(got) > 0 || time.Since(began) > patience/2 {
		t.Errorf("still there: %+v", got)
	}
	if _, err := w.Read(t.Context(), "one", "bad", "demo://table"); !errors.Is(err, mcp.ErrGone) {
		t.Errorf("of a server that hangs: %v", err)
	}
}
