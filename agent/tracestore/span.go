package tracestore

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"sync"

	"fawn/agent"
)

// Kinds of spans.
const (
	KindRun   = "run" // of the run itself, and of each helper
	KindModel = "model"
	KindTool  = "tool"
	KindSide  = "side" // a side call of a model
)

// Span is one call of a run. Times are in microseconds; Began is since the epoch.
type Span struct {
	N      int64  `json:"id"`
	Kind   string `json:"kind"`
	Name   string `json:"name"` // name of the model, tool or agent, or the purpose of a side call
	Helper string `json:"helper,omitempty"`
	Call   string `json:"call_id,omitempty"` // of a tool
	Began  int64  `json:"began"`
	First  int64  `json:"first_token,omitempty"` // time until the first visible output
	Took   int64  `json:"took"`
	Status string `json:"status"` // ok, error, cancelled, or that of a run
	Error  string `json:"error,omitempty"`

	Provider string       `json:"response_model,omitempty"` // the provider's name of the model
	Finish   string       `json:"finish_reason,omitempty"`
	Message  string       `json:"message_id,omitempty"` // the answer
	Usage    *agent.Usage `json:"usage,omitempty"`
	Args     string       `json:"arguments,omitempty"` // arguments of a tool call, shortened
	Result   string       `json:"result,omitempty"`    // the same
	Answer   string       `json:"answer,omitempty"`    // answer of a model without tool calls, or one that broke off; shortened
	Messages int          `json:"messages,omitempty"`  // number of messages in the prompt
	Tools    int          `json:"tools,omitempty"`     // offered
	Lost     bool         `json:"prompt_lost,omitempty"`

	Prompt *stored `json:"prompt,omitempty"` // not exported; see [Service.Prompt]
}

// stored locates the pieces of a prompt.
type stored struct {
	System []byte             `json:"s,omitempty"`
	Tools  []byte             `json:"t,omitempty"`
	Lists  [][]byte           `json:"m,omitempty"` // hashes of up to listLen messages each
	With   agent.ModelOptions `json:"o"`
}

// Prompt is the input of a model call.
type Prompt struct {
	System   string             `json:"system"`
	Messages []json.RawMessage  `json:"messages"`
	Tools    []Tool             `json:"tools"`
	Options  agent.ModelOptions `json:"options"`
	Missing  int                `json:"missing"` // pieces no longer stored
}

// Tool is a tool as described to a model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parameters,omitempty"`
}

// Size limits of stored data.
const (
	listLen  = 32        // messages in a list
	hashLen  = 16        // bytes of a hash
	maxPart  = 256 << 10 // one message
	keptPart = 64 << 10  // stored part of a longer one
	maxText  = 4 << 10   // arguments, results and answers in a span
	maxNote  = 500       // an error
)

// packers are kept while there is work: each has tables of 800 KB, for a text of some hundred bytes.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// smallText is a length in bytes below which packing costs more than it saves.
const smallText = 512

// packed compresses a text for storage: DEFLATE, RFC 1951.
func packed(b []byte) []byte {
	if n := len(b); n < smallText { // as one stored (uncompressed) block
		return append([]byte{1, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)}, b...)
	}
	var out bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&out)
	if _, err := w.Write(b); err != nil { // writes to a buffer never fail
		return nil
	}
	if err := w.Close(); err != nil {
		return nil
	}
	return out.Bytes()
}

// unpacked reverses packed; the result is at most some megabytes.
func unpacked(b []byte) ([]byte, error) {
	return io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), 8<<20))
}
