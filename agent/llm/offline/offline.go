// Package offline is the built-in model for a machine without any other. It isn't an AI and says so: it follows fixed
// rules. It still does real work with the same loop and tools as other models: it computes descriptions of tables and
// texts, and explains how to connect a real model.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"fawn/agent"
)

// Name is the model's name in answers and run data.
const Name = "fawn-offline"

// Server is a model server found on this machine.
type Server struct {
	Name    string
	BaseURL string
	Models  []string
}

// Environment lists models that can be connected right away.
type Environment struct {
	Keys    []string // names of environment variables that hold keys, never their values
	Servers []Server
}

// Model implements agent.Model. It is stateless: the next step follows from the messages alone, so an interrupted run
// continues where it stopped.
type Model struct {
	look func(context.Context) Environment
}

// New returns the model. look finds connection options when the user needs them; nil means none.
func New(look func(context.Context) Environment) *Model { return &Model{look: look} }

// Stream implements agent.Model. Its only error is the end of ctx.
func (m *Model) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		a, err := m.next(ctx, req)
		if err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		first := true
		send := func(k agent.Chunk) bool {
			if ctx.Err() != nil {
				yield(agent.Chunk{}, context.Cause(ctx))
				return false
			}
			if first {
				k.Model, first = Name, false
			}
			return yield(k, nil)
		}
		for word := range words(a.text) {
			if !send(agent.Chunk{Text: word}) {
				return
			}
		}
		for i, c := range a.calls {
			d := agent.CallDelta{Index: i, ID: c.ID, Name: c.Name}
			for piece := range pieces(string(c.Args), 4<<10) {
				d.Args = piece
				if !send(agent.Chunk{Calls: []agent.CallDelta{d}}) {
					return
				}
				d.ID, d.Name = "", ""
			}
		}
		finish := "stop"
		if len(a.calls) > 0 {
			finish = "tool_calls"
		}
		send(agent.Chunk{Finish: finish})
	}
}

// action is the model's next answer or call.
type action struct {
	text  string
	calls []agent.ToolCall
}

// call adds a tool call. Its id follows from the message it answers, so that the same
// conversation always gets the same ids.
func (a *action) call(c *conversation, tool string, args map[string]any) {
	raw, err := json.Marshal(args)
	if err != nil { // strings, numbers and lists of strings always encode
		return
	}
	h := fnv.New64a()
	h.Write([]byte(c.lastID))
	a.calls = append(a.calls, agent.ToolCall{ID: fmt.Sprintf("offline_%016x_%d", h.Sum64(), len(a.calls)), Name: tool,
		Args: raw})
}

// words cuts a text after white space; text without any, as Chinese, every few characters.
func words(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from, wide := 0, 0
		for i, r := range s {
			end := i + utf8.RuneLen(r)
			if unicode.Is(unicode.Han, r) {
				wide++
			}
			if unicode.IsSpace(r) && end < len(s) && !unicode.IsSpace(rune(s[end])) || wide == 3 {
				if !yield(s[from:end]) {
					return
				}
				from, wide = end, 0
			}
		}
		if from < len(s) {
			yield(s[from:])
		}
	}
}

// pieces cuts a text into parts of at most n bytes, between characters.
func pieces(s string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(s) > n {
			cut := n
			for cut > 0 && !utf8.RuneStart(s[cut]) {
				cut--
			}
			if !yield(s[:cut]) {
				return
			}
			s = s[cut:]
		}
		yield(s)
	}
}

// chinese reports whether a person writes Chinese.
func chinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) }) &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) })
}
