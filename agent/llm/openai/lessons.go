package openai

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"fawn/agent/llm/llmerr"
)

// Lessons remember what providers refused and which alternative worked, for the life of the program, so one refused
// call is enough, and the tools as last sent. They are safe for concurrent use; the zero value is ready.
type Lessons struct {
	mu sync.Mutex
	of map[string]lessons

	tools toolList
}

// lessons are the lessons of one model. The zero value follows the dialect.
type lessons struct {
	dropped    []string // fields of the body
	otherLimit bool     // the limit of an answer has its other name
	echo       bool     // reasoning must be sent back
	noEcho     bool     // neither reasoning nor other provider data may be sent back
	joinUsers  bool     // user and assistant must take turns
	responses  bool     // it is available through the Responses API only
	shortID    bool     // ids of calls have nine letters and digits
	plain      bool     // messages have no files and no sound
	taken      shapes   // message shapes the provider accepts
}

// maxLessons limits the refused attempts per call.
const maxLessons = 8

func (l *Lessons) get(key string) lessons {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[key]
}

// teach records the lesson of a refusal; false if it is nothing new.
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

// lesson changes the recorded state; false if nothing changed.
type lesson func(*lessons) bool

func set(field func(*lessons) *bool) lesson {
	return func(l *lessons) bool {
		known := *field(l)
		*field(l) = true
		return !known
	}
}

// optional returns the fields that the program adds itself and can omit. Configured fields are not included: their
// refusal is shown to the user.
func optional() []string {
	return []string{"stream_options", "parallel_tool_calls", "reasoning_effort", "thinking", "enable_thinking",
		"chat_template_kwargs", "reasoning",
		"reasoning_split", "include", "extra_body"}
}

// lessonOf reads a refusal. sent are the fields that were in the body.
func (m *Model) lessonOf(err error, sent func(field string) bool) lesson {
	e := llmerr.Of(err)
	if e == nil || e.Status < 400 || e.Class != llmerr.ClassInvalid && e.Status != http.StatusInternalServerError {
		return nil
	}
	text := strings.ToLower(e.Message)
	if what := lessonOfRoles(text); what != nil {
		return what // templates of open models refuse them, as a failure of the server
	}
	if e.Status >= 500 {
		return nil
	}
	refused := containsAny(text, "unsupported", "not supported", "not support", "unrecognized", "unknown", "unexpected",
		"not permitted", "not allowed", "extra input", "extra_forbidden")
	switch {
	case strings.Contains(text, "v1/responses"):
		return set(func(l *lessons) *bool { return &l.responses })
	case hasWord(text, "reasoning_content") && containsAny(text, "missing", "passed back", "is required"):
		return set(func(l *lessons) *bool { return &l.echo })
	case (m.cfg.Dialect.Files || m.cfg.Dialect.Sound) && containsAny(text, "audio", "'file'", `"file"`, "file content", "file_data",
		"pdf", "content type", "content part", "content must be a string"):
		return set(func(l *lessons) *bool { return &l.plain })
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

// lessonOfRoles parses a refusal concerning the order of roles, or messages without text.
func lessonOfRoles(text string) lesson {
	taken := func(field func(*shapes) *bool) lesson {
		return set(func(l *lessons) *bool { return field(&l.taken) })
	}
	has := func(words ...string) bool { return containsAny(text, words...) }
	refuses := has("not supported", "unsupported", "not support", "not allowed", "not enabled", "unknown", "invalid", "unexpected",
		"only ", "must be", "should be", "not permitted", "not a valid")
	switch {
	case has("reasoning_content"):
		return nil // the caller distinguishes them
	case has("length of 9", "a-z, a-z, 0-9", "alphanumeric") && has("id"):
		return set(func(l *lessons) *bool { return &l.shortID })
	case has("must alternate", "roles alternate", "should alternate", "consecutive", "two user messages", "same role"):
		return func(l *lessons) bool {
			if l.joinUsers && l.taken.turns {
				return false
			}
			l.joinUsers, l.taken.turns, l.taken.userFirst, l.taken.bridge = true, true, true, true
			return true
		}
	case has("after role 'tool'", "after role tool", "after a tool message", "tool messages must be followed by an assistant"):
		return taken(func(s *shapes) *bool { return &s.bridge })
	case has("first message") && has("user"), has("start with a user", "start with user", "begin with a user"):
		return taken(func(s *shapes) *bool { return &s.userFirst })
	case refuses && has("system role", "system message", "system prompt", "developer instruction", "role 'system'", "role: system",
		"role \"system\"", "role system", "system_instruction") && !has("must be at the beginning"):
		return taken(func(s *shapes) *bool { return &s.noSystem })
	case refuses && has("tool role", "role 'tool'", "role: tool", "role \"tool\"", "role tool", "tool messages",
		"'system', 'user' or 'assistant'", "'user' or 'assistant'", "user and assistant roles", "system, user and assistant",
		"system, user, assistant", "tool message"):
		return taken(func(s *shapes) *bool { return &s.noTools })
	case has("content") && has("null", "none is not", "nonetype", "none type", "nil"), has("content") && has("missing", "field required", "is required"):
		return taken(func(s *shapes) *bool { return &s.noNull })
	case has("content", "message", "text") && has("non-empty", "must not be empty", "cannot be empty", "can't be empty", "is empty",
		"not be empty", "empty content", "empty string", "at least 1 character", "minimum length"):
		return taken(func(s *shapes) *bool { return &s.filled })
	}
	return nil
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// hasWord reports whether a name occurs in the text as a whole word.
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

// apply returns the model with the learned restrictions applied.
func (m *Model) apply() *Model {
	known := m.cfg.Lessons.get(m.key())
	out := *m
	d := &out.cfg.Dialect
	out.dropped = known.dropped
	out.cfg.Responses = out.cfg.Responses || known.responses
	d.JoinUsers = d.JoinUsers || known.joinUsers
	d.ShortID = d.ShortID || known.shortID
	if known.plain {
		d.Files, d.Sound = false, false
	}
	out.taken = known.taken
	out.taken.bridge = out.taken.bridge || d.Bridge
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
