package texttools

import (
	"crypto/rand"
	"strings"

	"fawn/agent"
)

// maxHeld bounds the text of one call, in bytes. More than that is no call.
const maxHeld = 4 << 20

// reader finds calls in the text of an answer. What cannot be a call is passed on at once.
type reader struct {
	names     map[string]bool
	startOnly bool // a call counts only at the start of the answer: the model has real ones

	state   state
	held    strings.Builder // what may become a call
	open    string          // the tag that opened it
	gap     string          // white space before that
	calls   int
	started bool // some text was passed on
	stopped bool
}

type state uint8

const (
	outside state = iota
	inTag         // behind the tag that opens a call
	inValue       // the answer began with a fence or a brace, which may be a call without tags
	deaf          // everything is text from here on
)

// tags are the forms in which open models write calls: how they begin and end.
func tags() [3][2]string {
	return [3][2]string{{callOpen, callClose}, {"<function_call>", "</function_call>"},
		{"<tool_calls>", "</tool_calls>"}}
}

func newReader(tools []*agent.Tool, startOnly bool) *reader {
	r := &reader{names: map[string]bool{}, startOnly: startOnly}
	for _, t := range tools {
		r.names[t.Name] = true
	}
	if len(tools) == 0 {
		r.state = deaf
	}
	return r
}

// pass takes the next chunk and yields what is known then. False means to stop.
func (r *reader) pass(k agent.Chunk, err error, yield func(agent.Chunk, error) bool) bool {
	if err != nil {
		if text := r.rest(); text != "" && !yield(agent.Chunk{Text: text}, nil) {
			return false
		}
		return yield(k, err)
	}
	if r.state == deaf && r.calls == 0 && r.held.Len() == 0 {
		return yield(k, nil) // nearly every piece of an answer
	}
	last := k.Finish != ""
	text, deltas := r.feed(k.Text)
	if last {
		more, calls := r.flush(k.Finish)
		text, deltas = text+more, append(deltas, calls...)
	}
	for i := range k.Calls { // the model's own, behind those found
		k.Calls[i].Index += r.calls
	}
	if len(k.Calls) > 0 && r.state == outside {
		r.state = deaf
	}
	k.Text, k.Calls = text, append(deltas, k.Calls...)
	if last && r.calls > 0 && k.Finish == "stop" {
		k.Finish = "tool_calls"
	}
	if !k.Visible() && !k.Thought && !last && !r.stopped && k.Usage == nil && k.Model == "" && len(k.Kwargs) == 0 {
		return true
	}
	if !yield(k, nil) {
		r.stopped = true
		return false
	}
	if r.stopped { // the model began to write results itself
		return yield(agent.Chunk{Finish: "tool_calls"}, nil) && false
	}
	return true
}

// end yields what was held back when the answer ended without a reason.
func (r *reader) end(yield func(agent.Chunk, error) bool) {
	if r.stopped {
		return
	}
	if text, deltas := r.flush(""); text != "" || len(deltas) > 0 {
		yield(agent.Chunk{Text: text, Calls: deltas}, nil)
	}
}

// feed takes a piece of text.
func (r *reader) feed(piece string) (text string, calls []agent.CallDelta) {
	var out strings.Builder
	for piece != "" && !r.stopped {
		switch r.state {
		case deaf:
			r.write(&out, piece)
			piece = ""
		case outside:
			piece = r.outside(piece, &out)
		case inTag:
			r.held.WriteString(piece)
			piece = ""
			body, rest, closed := r.closed()
			switch {
			case closed:
				r.held.Reset()
				r.state = outside
				found := r.parse(body, true)
				if found == nil {
					r.write(&out, r.gap+r.open+body+r.closing())
				}
				calls = append(calls, found...)
				piece = rest
			case r.held.Len() > maxHeld:
				r.write(&out, r.gap+r.open+r.held.String())
				r.held.Reset()
				r.state = deaf
			}
		case inValue:
			r.held.WriteString(piece)
			piece = ""
			if r.held.Len() > maxHeld || !mayBeCall(r.held.String()) {
				r.write(&out, r.held.String())
				r.held.Reset()
				r.state = deaf
			}
		}
	}
	return out.String(), calls
}

// write passes text on. Behind a call there is nothing to read any more.
func (r *reader) write(to *strings.Builder, text string) {
	if r.calls > 0 {
		return
	}
	r.started = r.started || strings.TrimSpace(text) != ""
	to.WriteString(text)
}

// outside looks for the start of a call and returns what is left to look at.
func (r *reader) outside(piece string, out *strings.Builder) string {
	in := r.held.String() + piece
	r.held.Reset()
	if r.startOnly && r.started {
		r.state = deaf
		r.write(out, in)
		return ""
	}
	if !r.started && r.calls == 0 && !r.startOnly {
		head := strings.TrimLeft(in, " \t\r\n")
		if head != "" && head[0] != '[' && mayBeCall(head) {
			r.state = inValue
			return in
		}
	}
	at, tag := r.first(in)
	if at >= 0 && !(r.startOnly && strings.TrimSpace(in[:at]) != "") {
		before := strings.TrimRight(in[:at], " \t\r\n")
		r.write(out, before)
		r.state, r.open, r.gap = inTag, tag, in[len(before):at]
		return in[at+len(tag):]
	}
	if r.calls > 0 && strings.Contains(in, resultOpen) {
		r.stopped = true
		return ""
	}
	keep := r.partial(in)
	if r.startOnly && strings.TrimSpace(in[:len(in)-keep]) != "" {
		keep, r.state = 0, deaf // the answer has begun, with white space that need not wait
	}
	r.write(out, in[:len(in)-keep])
	r.held.WriteString(in[len(in)-keep:])
	return ""
}

// first is the first tag that opens a call.
func (r *reader) first(in string) (int, string) {
	best, open := -1, ""
	for _, t := range tags() {
		if i := strings.Index(in, t[0]); i >= 0 && (best < 0 || i < best) {
			best, open = i, t[0]
		}
	}
	return best, open
}

// partial is how much at the end of the text may be the start of a tag, with the white
// space before it, which belongs to the call if it is one.
func (r *reader) partial(in string) int {
	keep := 0
	for _, tag := range []string{tags()[0][0], tags()[1][0], tags()[2][0], resultOpen} {
		for n := min(len(tag)-1, len(in)); n > keep; n-- {
			if strings.HasSuffix(in, tag[:n]) {
				keep = n
			}
		}
	}
	body := in[:len(in)-keep]
	keep += len(body) - len(strings.TrimRight(body, " \t\r\n"))
	return keep
}

func (r *reader) closing() string {
	for _, t := range tags() {
		if t[0] == r.open {
			return t[1]
		}
	}
	return ""
}

// closed cuts the text of a call out of what is held, when its end is there.
func (r *reader) closed() (body, rest string, ok bool) {
	return strings.Cut(r.held.String(), r.closing())
}

// rest is what was held back and is no call.
func (r *reader) rest() string {
	if r.state == inTag || r.calls > 0 {
		return ""
	}
	text := r.held.String()
	r.held.Reset()
	return text
}

// flush decides about what is held when the answer is over. A call without its end counts,
// unless the answer was cut off.
func (r *reader) flush(finish string) (text string, calls []agent.CallDelta) {
	body := r.held.String()
	r.held.Reset()
	before := r.state
	r.state = deaf
	var out strings.Builder
	switch before {
	case inTag:
		calls = r.parse(body, finish != "length")
		if calls == nil {
			r.write(&out, r.gap+r.open+body)
		}
	case inValue:
		if known(body, r.names) {
			calls = r.parse(unfenced(body), finish != "length")
		}
		if calls == nil {
			r.write(&out, body)
		}
	default:
		r.write(&out, body)
	}
	return out.String(), calls
}

// parse reads the calls of one block: an object, a list of them, or one in each line. Nil
// means that nothing in it looks like a call.
func (r *reader) parse(body string, whole bool) []agent.CallDelta {
	body = strings.TrimSpace(body)
	var out []agent.CallDelta
	for _, part := range objects(body) {
		name, args, ok := split(part, whole)
		if !ok {
			return nil
		}
		out = append(out, agent.CallDelta{Index: r.calls, ID: "call_" + rand.Text(), Name: name, Args: args})
		r.calls++
	}
	return out
}
