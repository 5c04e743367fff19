package scriptmodel

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer writes one turn to one client. It is used by one goroutine.
type answer struct {
	turn        Turn
	model, id   string
	promptBytes int
	usageFrame  bool // the client asked for usage at the end of the stream
	passed      func(r *http.Request, gate string) bool

	w      http.ResponseWriter
	r      *http.Request
	rc     *http.ResponseController
	head   string // a frame up to the delta
	frames int
	buf    []byte
	due    time.Time // earliest time of the next paced frame
}

func (a *answer) finish() string {
	switch {
	case a.turn.Finish != "":
		return a.turn.Finish
	case len(a.turn.ToolCalls) > 0 && !a.turn.Empty:
		return "tool_calls"
	}
	return "stop"
}

func (a *answer) usage() string {
	t := &a.turn
	prompt := a.promptBytes / 4
	thought := t.ReasoningTokens + len(t.Reasoning)/4
	completion := t.Tokens + thought + (len(t.Text)+len(t.Rest)+3)/4
	for _, c := range t.ToolCalls {
		completion += 10 + len(c.arguments())/4
	}
	if t.Usage != nil {
		prompt, completion = t.Usage.Prompt, t.Usage.Completion
	}
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		prompt, completion, prompt+completion, thought)
}

func (a *answer) callID(i int) string {
	if id := a.turn.ToolCalls[i].ID; id != "" {
		return id
	}
	return "call_" + strings.TrimPrefix(a.id, "chatcmpl-") + "_" + strconv.Itoa(i)
}

// whole writes the answer as one JSON body.
func (a *answer) whole(w http.ResponseWriter, r *http.Request) {
	t := &a.turn
	if t.Hang {
		pause(r.Context(), maxHang)
		panic(http.ErrAbortHandler)
	}
	if t.CutAfter > 0 {
		panic(http.ErrAbortHandler)
	}
	if t.Rate > 0 &&
		!pause(r.Context(), time.Duration(float64(t.Tokens+t.ReasoningTokens)/t.Rate*float64(time.Second))) {
		return
	}
	message := map[string]any{"role": "assistant", "content": ""}
	if !t.Empty {
		message["content"] = t.Text + strings.Repeat(generatedWord, t.Tokens) + t.Rest
		if thought := t.Reasoning + strings.Repeat(thoughtWord, t.ReasoningTokens); thought != "" {
			message["reasoning_content"] = thought
		}
		if len(t.ToolCalls) > 0 {
			calls := make([]map[string]any, len(t.ToolCalls))
			for i, c := range t.ToolCalls {
				calls[i] = map[string]any{"id": a.callID(i), "type": "function",
					"function": map[string]string{"name": c.Name, "arguments": c.arguments()}}
			}
			message["tool_calls"] = calls
		}
	}
	body := map[string]any{"id": a.id, "object": "chat.completion", "created": time.Now().Unix(), "model": a.model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": a.finish()}}}
	if !t.NoUsage {
		body["usage"] = rawJSON(a.usage())
	}
	writeJSON(w, body)
}

// stream writes the answer as server-sent events.
func (a *answer) stream(w http.ResponseWriter, r *http.Request) {
	t := &a.turn
	a.w, a.r, a.rc = w, r, http.NewResponseController(w)
	a.head = fmt.Sprintf(`data: {"id":"%s","object":"chat.completion.chunk","created":%d,"model":%s,"choices":[{"index":0,"delta":`,
		a.id, time.Now().Unix(), mustJSON(a.model))
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	a.due = time.Now()

	ok := a.delta(`{"role":"assistant","content":""}`)
	if !t.Empty {
		ok = ok && a.words("reasoning_content", t.Reasoning, thoughtWord, t.ReasoningTokens) &&
			a.words("content", t.Text, "", 0) && (t.Gate == "" || a.passed(r, t.Gate)) &&
			a.words("content", "", generatedWord, t.Tokens) && a.words("content", t.Rest, "", 0) && a.calls()
	}
	if !ok {
		return
	}
	if t.Hang {
		pause(r.Context(), maxHang)
		panic(http.ErrAbortHandler)
	}
	if t.MalformedSSE {
		a.raw("data: {\"id\":\"broken\",\"choices\":[{\"delta\":{\"content\":\n\n")
	}
	a.buf = append(a.buf[:0], a.head...)
	a.buf = append(a.buf, `{},"finish_reason":`...)
	a.buf = append(a.buf, mustJSON(a.finish())...)
	a.buf = append(a.buf, "}]}\n\n"...)
	if a.usageFrame && !t.NoUsage {
		frame, _, _ := strings.Cut(a.head, `"choices":`)
		a.buf = append(a.buf, frame...)
		a.buf = append(a.buf, `"choices":[],"usage":`...)
		a.buf = append(a.buf, a.usage()...)
		a.buf = append(a.buf, "}\n\n"...)
	}
	a.buf = append(a.buf, "data: [DONE]\n\n"...)
	a.raw(string(a.buf))
}

// words streams a text in pieces and then n generated words.
func (a *answer) words(field, text, word string, n int) bool {
	chunk := a.turn.Chunk
	runes := []rune(text)
	for len(runes) > 0 {
		k := min(4*chunk, len(runes))
		if !a.paced(chunk) || !a.delta(`{"`+field+`":`+string(mustJSON(string(runes[:k])))+`}`) {
			return false
		}
		runes = runes[k:]
	}
	full := `{"` + field + `":"` + strings.Repeat(word, chunk) + `"}`
	for n > 0 {
		k, d := chunk, full
		if n < chunk {
			k, d = n, `{"`+field+`":"`+strings.Repeat(word, n)+`"}`
		}
		if !a.paced(k) || !a.delta(d) {
			return false
		}
		n -= k
	}
	return true
}

func (a *answer) calls() bool {
	for i, c := range a.turn.ToolCalls {
		args := c.arguments()
		first := fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`,
			i, mustJSON(a.callID(i)), mustJSON(c.Name))
		if !a.delta(first) {
			return false
		}
		runes := []rune(args)
		size := max((len(runes)+a.turn.ArgChunks-1)/a.turn.ArgChunks, 1)
		for len(runes) > 0 {
			k := min(size, len(runes))
			d := fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i,
				mustJSON(string(runes[:k])))
			if !a.paced(1) || !a.delta(d) {
				return false
			}
			runes = runes[k:]
		}
	}
	return true
}

// paced waits until the next frame of n tokens is due. The schedule is absolute,
// so a late frame does not make the following ones late.
func (a *answer) paced(n int) bool {
	if a.turn.Rate <= 0 {
		return a.r.Context().Err() == nil
	}
	a.due = a.due.Add(time.Duration(float64(n) / a.turn.Rate * float64(time.Second)))
	return pause(a.r.Context(), time.Until(a.due))
}

// delta sends one frame and reports whether the stream continues. It drops the connection when the script demands it.
func (a *answer) delta(d string) bool {
	a.buf = append(a.buf[:0], a.head...)
	a.buf = append(a.buf, d...)
	a.buf = append(a.buf, ",\"finish_reason\":null}]}\n\n"...)
	if _, err := a.w.Write(a.buf); err != nil {
		return false
	}
	if err := a.rc.Flush(); err != nil {
		return false
	}
	if a.frames++; a.turn.CutAfter > 0 && a.frames >= a.turn.CutAfter {
		panic(http.ErrAbortHandler)
	}
	return true
}

func (a *answer) raw(s string) {
	if _, err := a.w.Write([]byte(s)); err == nil {
		a.rc.Flush()
	}
}

type rawJSON string

// MarshalJSON returns the text unchanged.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }
