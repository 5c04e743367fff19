//lint:file-ignore SA1019 The newest protocol calls sampling outdated; servers of the older ones ask for it.

package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
)

// Sampler makes a model call for a server during a tool call.
type Sampler func(ctx context.Context, req *agent.Request) (*agent.Message, error)

type samplerKey struct{}

// WithSampler returns a context in which called servers may request model calls, if their owner allows it.
func WithSampler(ctx context.Context, s Sampler) context.Context {
	return context.WithValue(ctx, samplerKey{}, s)
}

func samplerOf(ctx context.Context) Sampler {
	s, _ := ctx.Value(samplerKey{}).(Sampler)
	return s
}

// maxSampleText limits the text of such a request, in bytes.
const maxSampleText = 64 << 10

// refusedSampling is the code of the protocol for requests that were refused.
const refusedSampling = -1

// sampling returns options that handle a server's requests for model calls. If not allowed, they are refused as an
// unsupported capability.
func (s *server) sampling(e *session, conf Server, o *sdk.ClientOptions) *sdk.ClientOptions {
	if !conf.Sampling {
		return o
	}
	o.CreateMessageHandler = func(ctx context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
		m, err := s.sample(ctx, e, r.Params)
		if err != nil {
			why := s.veil.over(agent.Clip(err.Error(), 500))
			s.log.add("a request for a model call is refused: " + why)
			return nil, &jsonrpc.Error{Code: refusedSampling, Message: why}
		}
		out := &sdk.CreateMessageResult{Role: "assistant",
			Content: &sdk.TextContent{Text: agent.WithoutThoughts(m.Content.String())}, StopReason: "endTurn"}
		if m.Usage != nil {
			out.Model = m.Usage.Model
		}
		if reason, _ := m.Meta["finish_reason"].(string); reason == "length" || reason == "max_tokens" {
			out.StopReason = "maxTokens"
		}
		return out, nil
	}
	return o
}

// sample makes the model call for the run of the current tool call and ends with that call.
func (s *server) sample(ctx context.Context, e *session, p *sdk.CreateMessageParams) (*agent.Message, error) {
	w, err := e.sampler()
	if err != nil {
		return nil, err
	}
	req, err := s.sampleRequest(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	e.pause(true)
	defer e.pause(false)
	return w.sample(ctx, req)
}

// sampler returns a current call that may request model calls. All calls of a session belong to one thread.
func (e *session) sampler() (watcher, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.calling {
		if w.sample != nil {
			return w, nil
		}
	}
	if len(e.calling) > 0 {
		return watcher{}, errors.New("no model is available")
	}
	return watcher{}, errors.New("no tool call is in progress")
}

// sampleRequest returns the request to the model, without tools and without the conversation.
func (s *server) sampleRequest(p *sdk.CreateMessageParams) (*agent.Request, error) {
	size := len(p.SystemPrompt)
	req := &agent.Request{System: s.veil.over(p.SystemPrompt)}
	if p.MaxTokens > 0 {
		req.Options.MaxTokens = int(min(p.MaxTokens, 1<<20))
	}
	for i, m := range p.Messages {
		var text *sdk.TextContent
		if m != nil {
			text, _ = m.Content.(*sdk.TextContent)
		}
		if text == nil {
			return nil, errors.New("only text is supported")
		}
		if size += len(text.Text); size > maxSampleText {
			return nil, fmt.Errorf("the request has more than %d KiB of text", maxSampleText>>10)
		}
		kind := agent.TypeHuman
		if m.Role == "assistant" {
			kind = agent.TypeAI
		}
		req.Messages = append(req.Messages, &agent.Message{ID: fmt.Sprint("sample-", i), Type: kind,
			Content: agent.Text(s.veil.over(strings.ToValidUTF8(text.Text, "\uFFFD")))})
	}
	if len(req.Messages) == 0 || req.Messages[len(req.Messages)-1].Type != agent.TypeHuman {
		return nil, errors.New("the last message is not the user's")
	}
	return req, nil
}
