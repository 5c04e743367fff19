// Package scriptmodel is a model server whose answers are written in the
// question. It speaks the OpenAI chat completions protocol, streaming and not,
// so that tests, the browser suite and the load driver can drive the real
// program end to end with answers that are the same every time.
//
// # Choosing the answer
//
// The newest user message that carries a script decides. A script is either
// the shorthand
//
//	echo 500 tokens at 50 tok/s
//
// (rate 0 = as fast as possible), or a JSON object after the word SCRIPT or
// STUB anywhere in the text:
//
//	SCRIPT{"turns": [TURN, ...], "final": TURN, "key": "k"}
//
// Turn k of the script answers the k-th model call after that message: k is
// the number of assistant messages that follow it. After the last turn comes
// "final", or the text "done.". The server keeps no conversation, so any number
// of programs may share it. Rules (see [Server.When]) give a script to user
// messages that carry none, for tests where a person types plain words.
//
// Side requests get a short canned answer, never a script: calls without tools
// whose last user message does not begin with a script (titles, summaries,
// suggestions), and calls where no user message has a script at all. When such
// a request asks for a JSON response format, the canned answer is "{}".
//
// # A turn
//
//	text             string   the content
//	tokens           int      this many "lorem " after the text
//	rest             string   more text behind those
//	rate             float    tokens per second; 0 = no pause
//	chunk            int      tokens in one frame (default 1); text is cut into pieces of 4*chunk runes
//	reasoning        string   sent as reasoning_content before the text
//	reasoning_tokens int      this many "think " after the reasoning
//	tool_calls       list     {"name", "args": any JSON | "raw": "text sent as the arguments, broken or not", "id"}
//	arg_chunks       int      frames each call's arguments are cut into (default 1)
//	first_byte_ms    int      wait before the headers
//	error            object   {"status", "message", "retry_after", "times"}; times = fail only the first N attempts
//	cut_after        int      drop the connection after N frames
//	hang             bool     send what there is, then stay silent until the client leaves
//	gate             string   send the text, then wait for PUT /script/gates/NAME before the tokens (streams only)
//	malformed_sse    bool     a broken data line after the content
//	empty            bool     a well-formed answer with nothing in it
//	finish           string   finish_reason (default "tool_calls" or "stop")
//	usage            object   {"prompt", "completion"}; else counted from the sizes
//	no_usage         bool     no usage at all
//	repeat           int      this turn answers N calls in a row
//
// "key" names the attempt counter of error.times; without it the counter is
// named after the script and the turn.
//
// # Looking back
//
// GET /script/requests lists what the server was sent (the newest 256 requests
// within 16 MiB), DELETE /script/requests forgets it, PUT /script/rules
// replaces the rules with a list of {"match", "script"}. PUT /script/gates/NAME opens a gate.
package scriptmodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Script is a list of answers to consecutive model calls.
type Script struct {
	Key   string `json:"key,omitempty"`
	Turns []Turn `json:"turns"`
	Final *Turn  `json:"final,omitempty"`
}

// Turn is one scripted answer; the package comment describes the fields.
type Turn struct {
	Text            string   `json:"text,omitempty"`
	Tokens          int      `json:"tokens,omitempty"`
	Rest            string   `json:"rest,omitempty"`
	Rate            float64  `json:"rate,omitempty"`
	Chunk           int      `json:"chunk,omitempty"`
	Reasoning       string   `json:"reasoning,omitempty"`
	ReasoningTokens int      `json:"reasoning_tokens,omitempty"`
	ToolCalls       []Call   `json:"tool_calls,omitempty"`
	ArgChunks       int      `json:"arg_chunks,omitempty"`
	FirstByteMS     int      `json:"first_byte_ms,omitempty"`
	Error           *Failure `json:"error,omitempty"`
	CutAfter        int      `json:"cut_after,omitempty"`
	Hang            bool     `json:"hang,omitempty"`
	Gate            string   `json:"gate,omitempty"`
	MalformedSSE    bool     `json:"malformed_sse,omitempty"`
	Empty           bool     `json:"empty,omitempty"`
	Finish          string   `json:"finish,omitempty"`
	Usage           *Usage   `json:"usage,omitempty"`
	NoUsage         bool     `json:"no_usage,omitempty"`
	Repeat          int      `json:"repeat,omitempty"`
}

// Call is one tool call of a turn. Raw takes precedence over Args and is sent verbatim.
type Call struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Raw  *string         `json:"raw,omitempty"`
	ID   string          `json:"id,omitempty"`
}

// Failure makes a turn respond with an HTTP error.
type Failure struct {
	Status     int     `json:"status"`
	Message    string  `json:"message,omitempty"`
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds
	Times      int     `json:"times,omitempty"`
}

// Usage is the token count a turn reports.
type Usage struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
}

// Limits that keep a broken script from eating the machine.
const (
	maxTokens = 1 << 20
	maxTurns  = 10_000
)

var shorthand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`echo (\d{1,7}) tokens at (\d{1,7}(?:\.\d{1,3})?) tok/s`)
})

// Find returns the script in a message text and its byte offset, or nil and -1 without one; an invalid script is
// answered with an error text, so that a typo in a test shows in its output.
func Find(text string) (*Script, int) {
	for _, word := range [...]string{"SCRIPT{", "STUB{"} {
		at := strings.Index(text, word)
		if at < 0 {
			continue
		}
		s := &Script{}
		dec := json.NewDecoder(strings.NewReader(text[at+len(word)-1:]))
		if err := dec.Decode(s); err != nil {
			return &Script{Turns: []Turn{{Text: fmt.Sprintf("unreadable script: %v", err)}}}, at
		}
		return s, at
	}
	m := shorthand().FindStringSubmatchIndex(text)
	if m == nil {
		return nil, -1
	}
	tokens, err1 := strconv.Atoi(text[m[2]:m[3]])
	rate, err2 := strconv.ParseFloat(text[m[4]:m[5]], 64)
	if err1 != nil || err2 != nil {
		return nil, -1
	}
	return &Script{Turns: []Turn{{Tokens: tokens, Rate: rate}}}, m[0]
}

// Turn returns the answer to the k-th call, counted from zero.
func (s *Script) Turn(k int) Turn {
	for i := range s.Turns {
		if i >= maxTurns {
			break
		}
		n := max(s.Turns[i].Repeat, 1)
		if k < n {
			return s.Turns[i].bounded()
		}
		k -= n
	}
	if s.Final != nil {
		return s.Final.bounded()
	}
	return Turn{Text: "done."}.bounded()
}

func (t Turn) bounded() Turn {
	t.Tokens = min(max(t.Tokens, 0), maxTokens)
	t.ReasoningTokens = min(max(t.ReasoningTokens, 0), maxTokens)
	t.Chunk = min(max(t.Chunk, 1), 4096)
	t.ArgChunks = max(t.ArgChunks, 1)
	t.Rate = max(t.Rate, 0)
	t.FirstByteMS = max(t.FirstByteMS, 0)
	return t
}

// arguments returns the bytes sent as the call's arguments.
func (c Call) arguments() string {
	switch {
	case c.Raw != nil:
		return *c.Raw
	case len(c.Args) == 0:
		return "{}"
	}
	return string(c.Args)
}
