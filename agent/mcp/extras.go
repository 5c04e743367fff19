package mcp

import (
	"context"
	"errors"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
)

// Limits of a server's prompts and resources, and of a single answer.
const (
	maxPrompts   = 200
	maxResources = 500
	maxArguments = 20
	maxURI       = 2000
	extraTime    = 30 * time.Second // limit of a prompt or resource
)

// Prompt is a prompt template offered by a server.
type Prompt struct {
	Server, Name, Description string
	Arguments                 []PromptArgument
}

// PromptArgument is an argument of a Prompt.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Resource is a readable resource of a server.
type Resource struct {
	Server, URI, Name, Description, Kind string // Kind is its MIME type, or empty
}

// extras are a server's prompts and resources as last listed.
type extras struct {
	prompts   []Prompt
	resources []Resource
}

// Prompts returns the prompts of all working servers. It never waits.
func (p *Pool) Prompts() (out []Prompt) {
	for _, s := range p.all() {
		if x := s.extras.Load(); x != nil && s.works() {
			out = append(out, x.prompts...)
		}
	}
	return out
}

// Resources returns the resources of all working servers. It never waits.
func (p *Pool) Resources() (out []Resource) {
	for _, s := range p.all() {
		if x := s.extras.Load(); x != nil && s.works() {
			out = append(out, x.resources...)
		}
	}
	return out
}

func (s *server) works() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == StateReady
}

// learnExtras lists a server's prompts and resources after its tools. Without a response the old lists stay; only the
// server's own loop waits.
func (s *server) learnExtras() {
	e, err := s.session(s.ctx, "")
	if err != nil {
		return
	}
	defer e.end()
	ctx, cancel := context.WithTimeoutCause(s.ctx, extraTime,
		errors.New("it did not list its prompts and resources in time"))
	defer cancel()
	has := e.client.InitializeResult()
	if has == nil || has.Capabilities == nil {
		return
	}
	var x extras
	if was := s.extras.Load(); was != nil {
		x = *was
	}
	if has.Capabilities.Prompts != nil {
		if list, err := e.prompts(ctx); err != nil {
			s.log.add("prompts: " + err.Error())
		} else {
			x.prompts = list
		}
	}
	if has.Capabilities.Resources != nil && ctx.Err() == nil {
		if list, err := e.resources(ctx); err != nil {
			s.log.add("resources: " + err.Error())
		} else {
			x.resources = list
		}
	}
	s.extras.Store(&x)
}

// prompts lists them, page by page.
func (e *session) prompts(ctx context.Context) (out []Prompt, err error) {
	for cursor := ""; ; {
		page, err := e.client.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return out, err
		}
		for _, l := range page.Prompts {
			if l == nil || l.Name == "" || len(l.Name) > 128 || len(l.Arguments) > maxArguments {
				continue
			}
			if len(out) == maxPrompts {
				return out, nil
			}
			p := Prompt{Server: e.server.name, Name: l.Name, Description: agent.Clip(l.Description, 500)}
			for _, a := range l.Arguments {
				if a != nil && a.Name != "" && len(a.Name) <= 128 {
					p.Arguments = append(p.Arguments, PromptArgument{a.Name, agent.Clip(a.Description, 500),
						a.Required})
				}
			}
			out = append(out, p)
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			return out, nil
		}
		cursor = page.NextCursor
	}
}

// resources lists them, page by page.
func (e *session) resources(ctx context.Context) (out []Resource, err error) {
	for cursor := ""; ; {
		page, err := e.client.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return out, err
		}
		for _, l := range page.Resources {
			if l == nil || l.URI == "" || len(l.URI) > maxURI {
				continue
			}
			if len(out) == maxResources {
				return out, nil
			}
			name := l.Title
			if name == "" {
				name = l.Name
			}
			out = append(out, Resource{Server: e.server.name, URI: l.URI, Name: agent.Clip(name, 200),
				Description: agent.Clip(l.Description, 500), Kind: agent.Clip(l.MIMEType, 100)})
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			return out, nil
		}
		cursor = page.NextCursor
	}
}

// prompt returns a listed prompt.
func (s *server) prompt(name string) (Prompt, bool) {
	x := s.extras.Load()
	if x == nil {
		return Prompt{}, false
	}
	i := slices.IndexFunc(x.prompts, func(p Prompt) bool { return p.Name == name })
	if i < 0 {
		return Prompt{}, false
	}
	return x.prompts[i], true
}

// resource returns a listed resource.
func (s *server) resource(uri string) (Resource, bool) {
	x := s.extras.Load()
	if x == nil {
		return Resource{}, false
	}
	i := slices.IndexFunc(x.resources, func(r Resource) bool { return r.URI == uri })
	if i < 0 {
		return Resource{}, false
	}
	return x.resources[i], true
}
