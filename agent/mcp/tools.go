package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fawn/agent"
)

// maxName is the longest name of a tool that providers accept.
const maxName = 64

// validName reports whether models can call a tool of that name.
func validName(name string) bool {
	if name == "" || len(name) > 128 {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// printable reports whether a tool's name is readable, and thus usable for models.
func printable(name string) bool {
	return name != "" && len(name) <= 256 && utf8.ValidString(name) && strings.TrimSpace(name) != "" &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// callable returns a name in characters that models can write. Names that differ only in other characters stay
// distinct.
func callable(name string) string {
	foreign := false
	out := strings.Map(func(r rune) rune {
		foreign = foreign || r >= utf8.RuneSelf
		if validName(string(r)) {
			return r
		}
		return '_'
	}, name)
	if foreign {
		sum := sha256.Sum256([]byte(name))
		out = strings.Trim(out, "_") + "_" + hex.EncodeToString(sum[:3])
	}
	return out
}

// offeredName returns a tool's name for models: prefixed with its server's name, and shortened.
func offeredName(s Server, tool string) string {
	name := callable(tool)
	if !s.NoPrefix {
		prefix := strings.Map(func(r rune) rune {
			if validName(string(r)) {
				return r
			}
			return '_'
		}, s.Name)
		name = prefix + "_" + name
	}
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(name))
		name = name[:maxName-7] + "_" + hex.EncodeToString(sum[:3])
	}
	return name
}

// offer rebuilds the tools of all servers after a change.
func (p *Pool) offer() {
	list := p.all()
	p.mu.Lock()
	defer p.mu.Unlock()
	next := &offer{version: p.now.Load().version, dropped: map[string][]string{}}
	taken := map[string]string{}
	for _, s := range list {
		if p.servers[s.name] != s {
			continue
		}
		s.mu.Lock()
		conf, tools := s.conf, s.listed
		s.mu.Unlock()
		for _, l := range tools {
			if l.NotForModel {
				continue
			}
			name := offeredName(conf, l.Name)
			if other, ok := taken[name]; ok {
				next.dropped[conf.Name] = append(next.dropped[conf.Name],
					fmt.Sprintf("%q has the same name as a tool of %q", agent.Clip(l.Name, 80), agent.Clip(other, 80)))
				continue
			}
			if why, ok := p.refused[s.name+"\x00"+l.hash()]; ok {
				next.dropped[conf.Name] = append(next.dropped[conf.Name], fmt.Sprintf("%q is refused by the provider of a model: %s",
					agent.Clip(l.Name, 80), why))
				continue
			}
			schema, renamed, err := mended(l.Schema)
			if err != nil {
				next.dropped[conf.Name] = append(next.dropped[conf.Name], fmt.Sprintf("%q %v", agent.Clip(l.Name, 80), err))
				continue
			}
			taken[name] = conf.Name
			t := s.tool(name, l, conf.routing(l.Name))
			t.Schema, t.Run = schema, s.pool.runner(s.name, l.Name, renamed, l.Long && p.follows != nil)
			t.Resumes = l.Long && p.follows != nil
			next.tools = append(next.tools, t)
		}
	}
	if !slices.EqualFunc(p.now.Load().tools, next.tools, func(a, b *agent.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && string(a.Schema) == string(b.Schema) &&
			a.Server == b.Server && a.Native == b.Native && a.Resumes == b.Resumes && samePreference(a.Prefer, b.Prefer)
	}) {
		next.version++
	} else {
		next.tools = p.now.Load().tools
	}
	p.now.Store(next)
}

func samePreference(a, b *agent.Preference) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Priority == b.Priority && slices.Equal(a.Keywords, b.Keywords)
}

// tool converts a server's tool to one that models call.
func (s *server) tool(name string, l listed, r Routing) *agent.Tool {
	t := &agent.Tool{Name: name, Description: cmp.Or(agent.Visible(l.Description), l.Name), Deferred: true, Server: s.name, MCP: true,
		Native: l.Name}
	if r.Prefer {
		t.Prefer = &agent.Preference{Priority: max(-1000, min(r.Priority, 1000)), Keywords: r.Keywords}
	}
	return t
}
