package tracestore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"weak"

	"fawn/agent"
	"fawn/store"
)

// agentOf returns the name of a run's agent.
func agentOf(run store.Run) string {
	var meta struct {
		Kind string `json:"subagent_type"`
		Name string `json:"agent_name"`
	}
	_ = json.Unmarshal(run.Metadata, &meta) // missing fields stay empty
	return agent.Head(cmp.Or(meta.Kind, meta.Name, "lead_agent"), 100)
}

// store writes queued records until the service is closed.
func (s *Service) store() {
	defer close(s.done)
	for {
		s.mu.Lock()
		batch := s.queue[:min(len(s.queue), together)]
		s.queue = s.queue[len(batch):]
		if len(s.queue) == 0 {
			s.queue = nil
		}
		closed, dropped, waiting := s.closed, s.dropped, s.flushed
		s.dropped = 0
		if len(batch) == 0 {
			s.flushed = nil
		}
		s.mu.Unlock()
		if dropped > 0 {
			s.log.Warn("dropped traces of calls: the store is too slow", "calls", dropped)
		}
		if len(batch) > 0 {
			s.write(batch)
			continue
		}
		for _, c := range waiting {
			close(c)
		}
		if closed {
			return
		}
		<-s.wake
		s.gather()
	}
}

// gatherTime is the time for which records are batched. Each run has several, and separate commits would cost as much
// as the run's own.
const gatherTime = 250 * time.Millisecond

// gather waits until a batch is full, or a flush is requested.
func (s *Service) gather() {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.hurry:
	}
}

// Flush waits until all queued records are stored.
func (s *Service) Flush(ctx context.Context) error {
	c := make(chan struct{})
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.flushed = append(s.flushed, c)
	s.mu.Unlock()
	nudge(s.hurry)
	nudge(s.wake)
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeTime limits the duration of a commit.
const writeTime = 10 * time.Second

func (s *Service) write(batch []record) {
	var spans []store.Span
	var parts []store.PromptPart
	for _, r := range batch {
		if r.request != nil {
			k := s.known.of(r.thread)
			p := &pieces{thread: r.thread, known: k, common: &s.common, shares: s.rules().Keep > 0}
			r.span.Prompt = p.prompt(r.request)
			parts = append(parts, p.parts...)
		}
		body, err := agent.Encode(r.span)
		if err != nil {
			s.log.Warn("couldn't store the trace of a call", "run", r.run, "err", err)
			continue
		}
		spans = append(spans, store.Span{Thread: r.thread, Run: r.run, N: r.span.N, Body: packed(body)})
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if err := s.db.PutTrace(ctx, spans, parts, s.db.Now()); err != nil {
		s.known, s.common.stored = threads{}, nil // the stored state is unknown
		s.log.Warn("couldn't store traces of calls", "calls", len(batch), "err", err)
	}
}

// threads remembers recently stored threads with their stored pieces.
type threads struct {
	list []*known // the last used one last
}

// maxThreads limits the remembered threads.
const maxThreads = 32

// known holds the stored pieces of a thread's prompts. It keeps no message in memory.
type known struct {
	thread string
	hashes map[[hashLen]byte]time.Time // time of storing or last use
	msgs   map[weak.Pointer[agent.Message]][hashLen]byte
	tools  []*agent.Tool
	offer  []byte // hash of tools
}

// Limits of the memory per thread.
const maxKnown = 4096

func (t *threads) of(thread string) *known {
	i := slices.IndexFunc(t.list, func(k *known) bool { return k.thread == thread })
	if i < 0 {
		if len(t.list) >= maxThreads {
			t.list = slices.Delete(t.list, 0, 1)
		}
		t.list = append(t.list, &known{thread: thread})
		i = len(t.list) - 1
	}
	k := t.list[i]
	t.list = append(slices.Delete(t.list, i, i+1), k)
	if k.hashes == nil || len(k.hashes) > maxKnown || len(k.msgs) > maxKnown {
		k.hashes, k.msgs, k.tools = map[[hashLen]byte]time.Time{}, map[weak.Pointer[agent.Message]][hashLen]byte{}, nil
	}
	return k
}

// maxCommon limits the cached instructions and tool lists: threads begin with the same few, each about 10 KB.
const maxCommon = 8

// common are pieces that many threads share, packed, the newest last.
type common struct {
	list    []store.PromptPart
	tools   []Tool // most recently encoded tools
	encoded []byte // tools
	hash    [hashLen]byte
	stored  map[[hashLen]byte]time.Time // lists of tools with the time of storing or last use
}

// offer returns the stored form of a list of tools and its hash, nil for one with an invalid schema. Most runs have the
// previous run's tools, and comparing them is cheap.
func (c *common) offer(tools []*agent.Tool) ([]byte, [hashLen]byte) {
	if slices.EqualFunc(tools, c.tools, func(t *agent.Tool, u Tool) bool {
		return t.Name == u.Name && t.Description == u.Description && bytes.Equal(t.Schema, u.Schema)
	}) {
		return c.encoded, c.hash
	}
	list := make([]Tool, len(tools))
	for i, t := range tools {
		list[i] = Tool{t.Name, t.Description, t.Schema}
	}
	b, err := agent.Encode(list)
	if err != nil {
		return nil, c.hash
	}
	c.tools, c.encoded, c.hash = list, b, hashOf(b)
	return c.encoded, c.hash
}

func hashOf(b []byte) [hashLen]byte {
	sum := sha256.Sum256(b)
	return [hashLen]byte(sum[:hashLen])
}

// packed returns the stored form of a piece.
func (c *common) packed(hash [hashLen]byte, body []byte) []byte {
	same := func(p store.PromptPart) bool { return bytes.Equal(p.Hash, hash[:]) }
	if i := slices.IndexFunc(c.list, same); i >= 0 {
		return c.list[i].Body
	}
	b := packed(body)
	if len(body) <= maxPart {
		c.list = append(c.list[max(0, len(c.list)-maxCommon+1):], store.PromptPart{Hash: hash[:], Body: b})
	}
	return b
}

// pieces splits a prompt.
type pieces struct {
	thread string
	known  *known
	common *common
	shares bool // a list of tools may be stored for all threads
	parts  []store.PromptPart
}

// add stores a piece unless it exists, and returns its hash.
func (p *pieces) add(b []byte) [hashLen]byte {
	hash := hashOf(b)
	p.use(hash, func() []byte { return packed(b) })
	return hash
}

// addCommon is add for a piece shared by several threads.
func (p *pieces) addCommon(b []byte) [hashLen]byte {
	hash := hashOf(b)
	p.use(hash, func() []byte { return p.common.packed(hash, b) })
	return hash
}

// usedAgain is the time after which a use of a piece is stored again, which is the store's unit.
const usedAgain = 12 * time.Hour

// use stores a piece, or renews its time of use.
func (p *pieces) use(hash [hashLen]byte, packed func() []byte) {
	if at, ok := p.known.hashes[hash]; ok && time.Since(at) < usedAgain {
		return
	}
	p.known.hashes[hash] = time.Now()
	p.parts = append(p.parts, store.PromptPart{Thread: p.thread, Hash: hash[:], Body: packed()})
}

func (p *pieces) prompt(r *agent.Request) *stored {
	out := &stored{With: r.Options}
	if r.System != "" {
		h := p.addCommon([]byte(r.System))
		out.System = h[:]
	}
	if len(r.Tools) > 0 {
		out.Tools = p.toolset(r.Tools)
	}
	for chunk := range slices.Chunk(r.Messages, listLen) {
		var list []byte
		for _, m := range chunk {
			h := p.message(m)
			list = append(list, h[:]...)
		}
		h := p.add(list)
		out.Lists = append(out.Lists, h[:])
	}
	return out
}

func (p *pieces) toolset(tools []*agent.Tool) []byte {
	if slices.Equal(tools, p.known.tools) {
		return p.known.offer
	}
	b, h := p.common.offer(tools)
	if b == nil {
		return nil
	}
	if p.shares && !slices.ContainsFunc(tools, func(t *agent.Tool) bool { return t.Server == "client" }) {
		p.useTools(h, b)
	} else {
		p.use(h, func() []byte { return p.common.packed(h, b) })
	}
	p.known.tools, p.known.offer = tools, h[:]
	return p.known.offer
}

// useTools is use for a list without tools of a client. It is most of what a call sends and the same in all threads, so it
// is stored once for all, as long as it is in use.
func (p *pieces) useTools(hash [hashLen]byte, b []byte) {
	if at, ok := p.common.stored[hash]; ok && time.Since(at) < usedAgain {
		return
	}
	if p.common.stored == nil || len(p.common.stored) >= maxKnown {
		p.common.stored = map[[hashLen]byte]time.Time{}
	}
	p.common.stored[hash] = time.Now()
	p.parts = append(p.parts, store.PromptPart{Hash: hash[:], Body: p.common.packed(hash, b)})
}

// message returns the hash of a message, cached for known ones.
func (p *pieces) message(m *agent.Message) [hashLen]byte {
	at := weak.Make(m)
	if h, ok := p.known.msgs[at]; ok {
		if _, stored := p.known.hashes[h]; stored {
			p.use(h, func() []byte { return packed(encoded(m)) })
			return h
		}
	}
	h := p.add(encoded(m))
	p.known.msgs[at] = h
	return h
}

// encoded returns the stored form of a message; a very long one is truncated.
func encoded(m *agent.Message) []byte {
	b, err := agent.Encode(m)
	if err == nil && len(b) <= maxPart {
		return b
	}
	text := fmt.Sprintf("%s\n[%d bytes of this message are not kept]", agent.Head(m.Content.String(), keptPart), len(b))
	b, err = agent.Encode(&agent.Message{ID: m.ID, Type: m.Type, Name: m.Name, ToolCallID: m.ToolCallID,
		Content: agent.Text(text)})
	if err != nil {
		return []byte("{}")
	}
	return b
}
