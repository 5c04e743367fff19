// Package switches stores which tools of MCP servers are switched off in a thread, for the page, the API and the
// builder of agents. Switches are copied and deleted with their thread.
package switches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fawn/store"
)

// space holds a thread's switches by its id. Its name causes deletion with the thread.
const space = "thread_tools_off"

// maxBytes limits the stored switches of one thread.
const maxBytes = 256 << 10

// ErrTooMany means that a thread would have too many switches.
var ErrTooMany = errors.New("too many tools are switched off")

// Off lists the tools switched off in a thread. The zero value leaves everything on.
type Off struct {
	Servers []string            `json:"servers"` // with all their tools, including future ones
	Tools   map[string][]string `json:"tools"`   // by server, as the server calls them
}

// Has reports whether a tool is switched off, individually or with its server.
func (o Off) Has(server, tool string) bool { return o.HasServer(server) || o.HasTool(server, tool) }

// HasServer reports whether a server is switched off.
func (o Off) HasServer(name string) bool { return slices.Contains(o.Servers, name) }

// HasTool reports whether a tool is switched off individually.
func (o Off) HasTool(server, tool string) bool { return slices.Contains(o.Tools[server], tool) }

// Empty reports whether everything is on.
func (o Off) Empty() bool { return len(o.Servers) == 0 && len(o.Tools) == 0 }

// Turn switches a tool, or with tool "" a server. Individually switched tools keep their state when their server is
// switched.
func (o *Off) Turn(server, tool string, on bool) {
	if tool == "" {
		o.Servers = with(o.Servers, server, !on)
		return
	}
	if o.Tools == nil {
		o.Tools = map[string][]string{}
	}
	if o.Tools[server] = with(o.Tools[server], tool, !on); len(o.Tools[server]) == 0 {
		delete(o.Tools, server)
	}
}

func with(list []string, name string, have bool) []string {
	i, found := slices.BinarySearch(list, name)
	switch {
	case have && !found:
		return slices.Insert(list, i, name)
	case !have && found:
		return slices.Delete(list, i, i+1)
	}
	return list
}

// tidy returns the canonical form for storage: sorted, without duplicates and empty lists.
func (o Off) tidy() Off {
	out := Off{Servers: sorted(o.Servers), Tools: map[string][]string{}}
	for server, list := range o.Tools {
		if list = sorted(list); len(list) > 0 {
			out.Tools[server] = list
		}
	}
	return out
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	if list = slices.Compact(list); list == nil {
		list = []string{}
	}
	return list
}

// Service reads and changes the switches of threads.
type Service struct {
	db *store.DB
	mu sync.Mutex // serializes read-modify-write changes
}

// New returns a Service.
func New(db *store.DB) *Service { return &Service{db: db} }

// Off returns the tools switched off in a thread, which need not exist yet.
func (s *Service) Off(ctx context.Context, thread string) (Off, error) {
	body, err := s.db.KV(ctx, store.Global, space, thread)
	if errors.Is(err, store.ErrNotFound) {
		return Off{}.tidy(), nil
	}
	var o Off
	if err == nil {
		err = json.Unmarshal(body, &o)
	}
	if err != nil {
		return Off{}, fmt.Errorf("read the tools that are off in thread %s: %w", thread, err)
	}
	return o.tidy(), nil
}

// OffIn is [Service.Off] with the metadata of the thread, as of one moment; empty without the thread.
func (s *Service) OffIn(ctx context.Context, thread string) (o Off, metadata json.RawMessage, err error) {
	metadata, _, body, _, err := s.db.ThreadKV(ctx, thread, space, "")
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &o)
	}
	if err != nil {
		return Off{}, nil, fmt.Errorf("read the tools that are off in thread %s: %w", thread, err)
	}
	return o.tidy(), metadata, nil
}

// Change applies a change to a thread's switches and returns the result.
func (s *Service) Change(ctx context.Context, thread string, change func(*Off)) (Off, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.Off(ctx, thread)
	if err != nil {
		return o, err
	}
	change(&o)
	o = o.tidy()
	return o, s.put(ctx, thread, o)
}

// Copy copies a thread's switches to its copy.
func (s *Service) Copy(ctx context.Context, from, to string) error {
	o, err := s.Off(ctx, from)
	if err != nil || o.Empty() {
		return err
	}
	return s.put(ctx, to, o)
}

func (s *Service) put(ctx context.Context, thread string, o Off) error {
	kv := store.KV{Owner: store.Global, Space: space, Key: thread}
	if !o.Empty() {
		body, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("encode the tools that are off: %w", err)
		}
		if kv.Body = body; len(body) > maxBytes {
			return ErrTooMany
		}
	}
	if err := s.db.Commit(ctx, store.Batch{KV: []store.KV{kv}}); err != nil {
		return fmt.Errorf("store the tools that are off in thread %s: %w", thread, err)
	}
	return nil
}
