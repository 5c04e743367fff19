package anthropic

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"fawn/agent"
	"fawn/agent/llm/sse"
	"fawn/agent/llm/wire"
)

// Stream implements agent.Model. A failure of the provider is yielded as *llmerr.Error; the
// end of ctx as its cause.
func (m *Model) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		m.call.Do(ctx, yield, func(ctx context.Context) (*http.Response, error) { return m.open(ctx, req) },
			func(resp *http.Response, p *wire.Patience) error { return read(resp, yield, p.Wait) })
	}
}

// open sends the request and returns the response of a success; its body must be closed. Options are set
// in order, so that equal requests have equal bytes.
func (m *Model) open(ctx context.Context, req *agent.Request) (*http.Response, error) {
	params, options := m.build(req)
	var resp *http.Response
	opts := []option.RequestOption{option.WithResponseInto(&resp)}
	for _, k := range slices.Sorted(maps.Keys(options)) {
		opts = append(opts, option.WithJSONSet(param.EscapeSJSONKey(k), options[k]))
	}
	if err := m.api.NewStreaming(ctx, params, opts...).Err(); err != nil {
		return nil, err
	}
	return resp, nil
}

// read yields the whole answer. wait is called before each wait that follows data.
func read(resp *http.Response, yield wire.Yield, wait func()) error {
	a := &answer{yield: yield, blocks: map[int64]*blockState{}}
	body, streamed, err := wire.Whole(resp)
	if err != nil {
		return err
	}
	if !streamed {
		return a.whole(body)
	}
	f := sse.New(resp.Body, wait)
	for {
		ev, err := f.Read()
		switch {
		case err != nil && a.finish != "" && !errors.Is(err, sse.ErrLong):
			return a.end() // the answer is complete; only its end marker is missing
		case err == io.EOF:
			return wire.Cut()
		case err != nil:
			return wire.Broken(err)
		}
		if done, err := a.event(ev); done || err != nil {
			return err
		}
	}
}
