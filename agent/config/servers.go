package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fawn/agent/config/extensions"
	"fawn/agent/config/servers"
)

// Servers are the entries of mcpServers as written: references to variables are unresolved, and unknown keys are
// included.
type Servers = servers.List

// BadServers is why a change of the MCP servers is refused.
type BadServers = servers.Bad

// ErrNoServer means that a server isn't configured.
var ErrNoServer = errors.New("there is no MCP server of that name")

func serversOf(o extensions.Object) (key string, _ Servers, err error) {
	key = servers.Keys()[0]
	for _, k := range servers.Keys() {
		if o.Get(k) != nil {
			key = k
			break
		}
	}
	out := Servers{}
	raw := o.Get(key)
	if raw == nil {
		return key, out, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return key, nil, fmt.Errorf("read MCP servers: %w", err)
	}
	return key, out, nil
}

// Servers reads the MCP servers as they are written.
func (s *Store) Servers() (Servers, error) {
	o, err := s.Extensions().Read()
	if err != nil {
		return nil, fmt.Errorf("read MCP servers: %w", err)
	}
	_, list, err := serversOf(o)
	return list, err
}

// EditServers changes the MCP servers and applies the result. A change that would make the configuration unusable
// returns a *BadServers and writes nothing. The rest of the file is kept.
func (s *Store) EditServers(change func(Servers) (Servers, error)) error {
	s.editing.Lock()
	defer s.editing.Unlock()
	file := s.Current().ExtensionsPath
	if file == "" || s.fixed {
		return ErrFixed
	}
	if err := s.makeFolder(file); err != nil {
		return err
	}
	err := s.Extensions().Edit(func(o extensions.Object) (extensions.Object, error) {
		key, list, err := serversOf(o)
		if err != nil {
			return nil, err
		}
		if list, err = change(list); err != nil {
			return nil, err
		}
		value, err := encodeServers(o.Get(key), list)
		if err != nil {
			return nil, err
		}
		return o.With(key, value), nil
	}, func(data []byte) error {
		opts := s.loading()
		opts.put(map[string][]byte{file: data})
		_, _, err := load(opts)
		var bad *Invalid
		if errors.As(err, &bad) {
			return &BadServers{Why: serverProblem(bad)}
		}
		return err
	})
	if err != nil {
		return err
	}
	s.Poll()
	return nil
}

// serverProblem returns the first problem, without a line of an unwritten file.
func serverProblem(bad *Invalid) string {
	if len(bad.Problems) == 0 {
		return bad.Error()
	}
	return bad.Problems[0].Message
}

// encodeServers keeps the order and the text of entries that have not changed.
func encodeServers(old json.RawMessage, list Servers) (json.RawMessage, error) {
	before, err := extensions.Parse(old)
	if err != nil {
		return nil, err
	}
	var out extensions.Object
	for _, m := range before {
		if _, ok := list[m.Key]; ok && out.Get(m.Key) == nil {
			out = append(out, m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(list[name]); err != nil {
			return nil, err
		}
		var was map[string]any
		d := json.NewDecoder(bytes.NewReader(before.Get(name)))
		d.UseNumber()
		if d.Decode(&was) == nil {
			if same, err := json.Marshal(was); err == nil {
				if now, err := json.Marshal(list[name]); err == nil && bytes.Equal(same, now) {
					continue
				}
			}
		}
		out = out.With(name, bytes.TrimSpace(b.Bytes()))
	}
	return out.MarshalJSON()
}
