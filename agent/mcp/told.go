package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
)

// maxTold limits the files and messages of one answer.
const maxTold = 20

// ErrGone means that no working server lists the prompt or resource.
var ErrGone = errors.New("no MCP server offers it any more")

// RefusedError is the reason why a server returned no prompt or resource, without secrets.
type RefusedError struct{ Why string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Why }

// File is a file that a server sends to the user. Its name is chosen by the server and untrusted.
type File struct {
	Name string
	Data []byte
}

// Told is a prompt with its arguments filled in.
type Told struct {
	Text  string
	Files []File // pictures and other parts that aren't text
}

// Prompt asks a server for one of its prompts, in the session of a thread. Errors: ErrUnknown,
// ErrGone, *RefusedError.
func (p *Pool) Prompt(ctx context.Context, thread, server, name string, args map[string]string) (Told, error) {
	s, err := p.find(server)
	if err != nil {
		return Told{}, err
	}
	if _, ok := s.prompt(name); !ok {
		return Told{}, ErrGone
	}
	var told Told
	err = s.visit(ctx, thread, func(ctx context.Context, e *session) error {
		r, err := e.client.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: args})
		if err == nil {
			told, err = s.told(r)
		}
		return err
	})
	return told, err
}

// Read reads a resource of a server, in the session of a thread. Errors: ErrUnknown, ErrGone,
// *RefusedError.
func (p *Pool) Read(ctx context.Context, thread, server, uri string) ([]File, error) {
	s, err := p.find(server)
	if err != nil {
		return nil, err
	}
	listed, ok := s.resource(uri)
	if !ok {
		return nil, ErrGone
	}
	var out []File
	err = s.visit(ctx, thread, func(ctx context.Context, e *session) error {
		r, err := e.client.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		for _, c := range r.Contents[:min(len(r.Contents), maxTold)] {
			if c != nil {
				out = append(out, s.contents(c, listed))
			}
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = &RefusedError{"the resource is empty"}
	}
	return out, err
}

func (p *Pool) find(name string) (*server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.servers[name]; s != nil {
		return s, nil
	}
	return nil, ErrUnknown
}

// visit calls do with a session for the thread, within a time limit.
func (s *server) visit(ctx context.Context, thread string, do func(context.Context, *session) error) error {
	asking, cancel := context.WithTimeoutCause(ctx, extraTime, errors.New("it did not answer in time"))
	defer cancel()
	began := time.Now()
	e, err := s.session(asking, thread)
	if err == nil {
		defer e.end()
		err = do(asking, e)
	}
	var answer *jsonrpc.Error
	var refused *RefusedError
	switch {
	case err == nil, errors.As(err, &refused):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case asking.Err() != nil:
		return &RefusedError{context.Cause(asking).Error()}
	case errors.As(err, &answer):
		return &RefusedError{s.veil.over(agent.Clip(answer.Message, 500))}
	}
	return &RefusedError{s.explain(err, began).Error()}
}

// told converts the messages of a prompt to a person's message.
func (s *server) told(r *sdk.GetPromptResult) (Told, error) {
	var t Told
	var text strings.Builder
	several := false
	for _, m := range r.Messages {
		several = several || m != nil && m.Role != "user"
	}
	for i, m := range r.Messages {
		if i == maxTold {
			return t, &RefusedError{fmt.Sprintf("the prompt has more than %d messages", maxTold)}
		}
		if m == nil {
			continue
		}
		said := s.said(&t, m.Content)
		if said == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		if several { // a conversation as an example
			text.WriteString(map[bool]string{true: "User: ", false: "Assistant: "}[m.Role == "user"])
		}
		text.WriteString(said)
	}
	if text.Len() > maxText {
		return Told{}, &RefusedError{fmt.Sprintf("the prompt is longer than %d KiB", maxText>>10)}
	}
	t.Text = text.String()
	return t, nil
}

// said returns the text of a part; other content becomes a file.
func (s *server) said(t *Told, part sdk.Content) string {
	switch p := part.(type) {
	case *sdk.TextContent:
		return s.veil.over(p.Text)
	case *sdk.ImageContent:
		t.Files = append(t.Files, File{fmt.Sprintf("image-%d%s", len(t.Files)+1, extension(p.MIMEType)), p.Data})
	case *sdk.AudioContent:
		t.Files = append(t.Files, File{fmt.Sprintf("audio-%d%s", len(t.Files)+1, extension(p.MIMEType)), p.Data})
	case *sdk.ResourceLink:
		return s.veil.over(agent.Clip(p.URI, maxURI))
	case *sdk.EmbeddedResource:
		if p.Resource != nil {
			t.Files = append(t.Files, s.contents(p.Resource, Resource{Kind: p.Resource.MIMEType}))
		}
	}
	return ""
}

// contents returns a resource as a file, named after its address or the server's name for it.
func (s *server) contents(c *sdk.ResourceContents, listed Resource) File {
	kind := c.MIMEType
	if kind == "" {
		kind = listed.Kind
	}
	name := path.Base(c.URI)
	if u, err := url.Parse(c.URI); err == nil {
		name = path.Base(u.Path)
		if u.Opaque != "" {
			name = path.Base(u.Opaque)
		}
	}
	if strings.Trim(name, "./") == "" || path.Ext(name) == "" && path.Ext(listed.Name) != "" {
		name = listed.Name
	}
	if strings.Trim(name, "./") == "" {
		name = "resource"
	}
	if kind == "" && c.Blob == nil {
		kind = "text/plain"
	}
	if name = s.veil.over(agent.Clip(name, 150)); path.Ext(name) == "" {
		name += extension(kind)
	}
	if c.Blob != nil {
		return File{name, c.Blob}
	}
	return File{name, []byte(s.veil.over(c.Text))}
}
