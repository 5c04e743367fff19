package openai

import (
	"slices"
	"strings"
	"sync"

	"fawn/agent/llm/llmerr"
)

// Lessons keep what providers refused and want instead, for as long as the program runs, so
// that one refused call is enough for all later ones, and the tools as they were sent last. They are safe for
// concurrent use; the zero value is ready.
type Lessons struct {
	mu sync.Mutex
	of map[string]lessons

	tools toolList
}

// lessons are what one model taught. The zero value is a model that does as its dialect says.
type lessons struct {
	dropped    []string // fields of the body
	otherLimit bool     // the limit of an answer has its other name
	echo       bool     // reasoning must come back
	noEcho     bool     // neither reasoning nor other provider data may come back
	joinUsers  bool     // user and assistant must take turns
	responses  bool     // it is at the Responses API only
}

// maxLessons bounds the refused calls before one that counts.
const maxLessons = 4

func (l *Lessons) get(key string) lessons {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[key]
}

// teach adds what one refusal says; false when it says nothing new.
func (l *Lessons) teach(key string, what lesson) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.of[key]
	if !what(&known) {
		return false
	}
	if l.of == nil {
		l.of = map[string]lessons{}
	}
	l.of[key] = known
	return true
}

// lesson changes what is known; false when it was known.
type lesson func(*lessons) bool

func set(field func(*lessons) *bool) lesson {
	return func(l *lessons) bool {
		known := *field(l)
		*field(l) = true
		return !known
	}
}

// optional are the fields the program sends by itself and can do without. What a person
// configured is not among them: there the refusal is for them to read.
func optional() []string {
	return []string{"stream_options", "parallel_tool_calls", "reasoning_effort", "thinking", "enable_thinking",
		"chat_template_kwargs", "reasoning",
		"reasoning_split", "include", "extra_body"}
}

// lessonOf reads a refusal. sent are the fields that were in the body.
func (m *Model) lessonOf(err error, sent func(field string) bool) lesson {
	e := llmerr.Of(err)
	if e == nil || e.Class != llmerr.ClassInvalid || e.Status < 400 || e.Status >= 500 {
		return nil
	}
	text := strings.ToLower(e.Message)
	refused := containsAny(text, "unsupported", "not supported", "not support", "unrecognized", "unknown", "unexpected",
		"not permitted", "not allowed", "extra input", "extra_forbidden")
	switch {
	case strings.Contains(text, "v1/responses"):
		return set(func(l *lessons) *bool { return &l.responses })
	case hasWord(text, "reasoning_content") && containsAny(text, "missing", "passed back", "is required"):
		return set(func(l *lessons) *bool { return &l.echo })
	case containsAny(text, "must alternate", "roles alternate"):
		return set(func(l *lessons) *bool { return &l.joinUsers })
	case !refused:
		return nil
	case hasWord(text, "reasoning_content"), hasWord(text, "reasoning_details"), hasWord(text, "extra_content"):
		return set(func(l *lessons) *bool { return &l.noEcho })
	case hasWord(text, "max_tokens") && sent("max_tokens"), hasWord(text, "max_completion_tokens") &&
		sent("max_completion_tokens"):
		return set(func(l *lessons) *bool { return &l.otherLimit })
	}
	for _, field := range optional() {
		_, wanted := m.cfg.ExtraBody[field]
		if hasWord(text, field) && !wanted && sent(field) {
			return func(l *lessons) bool {
				if slices.Contains(l.dropped, field) {
					return false
				}
				l.dropped = append(slices.Clone(l.dropped), field)
				return true
			}
		}
	}
	return nil
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// hasWord tells whether a name stands in the text by itself, not as a part of another.
func hasWord(text, name string) bool {
	part := func(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(name)
		if (at == 0 || !part(text[at-1])) && (from == len(text) || !part(text[from])) {
			return true
		}
	}
}

// taught is the model as it is spoken to after the lessons.
func (m *Model) taught() *Model {
	known := m.cfg.Lessons.get(m.key())
	out := *m
	d := &out.cfg.Dialect
	out.dropped = known.dropped
	out.cfg.Responses = out.cfg.Responses || known.responses
	d.JoinUsers = d.JoinUsers || known.joinUsers
	if known.otherLimit {
		now := d.limit(m.cfg.Model)
		d.Limit = "max_tokens"
		if now == d.Limit {
			d.Limit = "max_completion_tokens"
		}
	}
	if known.echo {
		d.Echo, d.Fill = EchoAlways, " "
	}
	if known.noEcho {
		d.Echo, d.NoExtra = EchoNever, true
	}
	return &out
}

func (m *Model) key() string { return m.cfg.Model + " at " + m.base }
