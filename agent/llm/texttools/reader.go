package texttools

import (
	"crypto/rand"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fawn/agent"
	"fawn/agent/llm/marks"
)

// Limits in bytes: of one call's text, and of a channel's head. Longer text is neither. The last limits how far from
// the start of an unmarked call its name may be.
const (
	maxHeld = 4 << 20
	// maxUnproved limits the part of an answer held until a second channel confirms an unmarked first one.
	maxUnproved = 16 << 10
	maxHead     = 300
	maxNamed    = 1 << 10
)

// reader finds calls and thoughts in the text of an answer, and removes marks of templates. Text in code,
// and text that can't be a call, passes unchanged.
type reader struct {
	tools  map[string]*agent.Tool
	native bool   // the model supports calls natively; they take precedence
	asked  string // the question; marks it mentions are left alone

	bare    unmarked // reader of the preceding text
	state   state
	code    marks.Code
	held    string // a possible mark, or the content of the current state
	gap     string // white space allowed before a call
	open    string // the mark that opened a call; "" in a channel
	to      string // the tool that a channel calls
	closers []string
	body    strings.Builder // of a call, or of a value
	seen    int             // length of its prefix without a closing mark
	scanned int             // length of its prefix already scanned for the end
	quoted  bool            // the scan stopped inside a string
	plain   bool            // the answer doesn't begin with a call

	text, thought strings.Builder // ready to be passed on
	deltas        []agent.CallDelta
	found         []agent.CallDelta // calls in the text of a model that has others
	own           bool              // native calls arrived
	thoughts      strings.Builder   // all of them, while there is no other text

	calls   int
	headed  bool // a mark named the speaker
	started bool // some text was passed on
	spoke   bool // text followed a call
	stopped bool
}

type state uint8

const (
	outside   state = iota
	inHead          // after the mark of a channel or role
	inThought       // in a channel of thoughts
	inCall          // after the opening mark of a call
	inValue         // the answer began with a fence or brace and may be an unmarked call
	silent          // nothing that follows is the answer
)

func newReader(req *agent.Request, native bool) *reader {
	r := &reader{tools: make(map[string]*agent.Tool, len(req.Tools)), native: native}
	for _, t := range req.Tools {
		r.tools[t.Name] = t
	}
	if m := agent.LastGenuine(req.Messages); m != nil {
		r.asked = m.Content.String()
	}
	return r
}

// pass handles the next chunk and yields the parsed content. False means stop.
func (r *reader) pass(k agent.Chunk, err error, yield func(agent.Chunk, error) bool) bool {
	if err != nil {
		if text := r.rest(); text != "" && !yield(agent.Chunk{Text: text}, nil) {
			return false
		}
		return yield(k, err)
	}
	if r.quick(&k) {
		return yield(k, nil)
	}
	last := k.Finish != ""
	if k.Thought { // text held back was a thought too
		k.Reasoning = r.rest() + k.Reasoning
		r.started, r.code, r.found = false, marks.Code{}, nil
	}
	if !r.started && r.calls == 0 && r.thoughts.Len() < maxHeld {
		r.thoughts.WriteString(k.Reasoning)
	}
	r.own = r.own || len(k.Calls) > 0
	r.feed(r.bare.take(r, k.Text))
	if last {
		r.flush(k.Finish)
	}
	if !r.native {
		for i := range k.Calls { // native calls come after those found in text
			k.Calls[i].Index += r.calls
		}
	}
	for i := range k.Calls {
		k.Calls[i].Name = r.named(k.Calls[i].Name)
	}
	k.Text, k.Calls = r.text.String(), append(r.deltas, k.Calls...)
	if r.thought.Len() > 0 {
		k.Reasoning += r.thought.String()
	}
	r.text.Reset()
	r.thought.Reset()
	r.deltas = nil
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

// quick reports whether a chunk passes unchanged, as nearly every piece of an answer does.
func (r *reader) quick(k *agent.Chunk) bool {
	if !r.native || !r.started || r.state != outside || r.held != "" || r.bare.held != "" ||
		r.bare.in == inWords || r.calls > 0 || k.Finish != "" || k.Thought ||
		len(k.Calls) > 0 {
		return false
	}
	first := &words().first
	for i := range len(k.Text) {
		if first[k.Text[i]] {
			return false
		}
	}
	for i := range len(k.Text) {
		r.code.Next(k.Text[i])
	}
	return true
}

// end yields the text held back when the answer ended without a reason.
func (r *reader) end(yield func(agent.Chunk, error) bool) {
	if r.stopped {
		return
	}
	r.flush("")
	if r.text.Len() > 0 || r.thought.Len() > 0 || len(r.deltas) > 0 {
		yield(agent.Chunk{Text: r.text.String(), Reasoning: r.thought.String(), Calls: r.deltas}, nil)
	}
}

// feed takes a piece of text.
func (r *reader) feed(piece string) {
	for piece != "" {
		switch r.state {
		case outside:
			piece = r.outside(piece)
		case inHead:
			piece = r.head(piece)
		case inThought:
			piece = r.thinking(piece)
		case inCall:
			piece = r.call(piece)
		case inValue:
			piece = r.value(piece)
		case silent:
			return
		}
	}
}

// write passes text on. Nothing after a call is read.
func (r *reader) write(text string) {
	if r.calls > 0 || text == "" {
		r.spoke = r.spoke || strings.TrimSpace(text) != ""
		return
	}
	if r.headed && !r.started { // white space between a head and its text
		text = strings.TrimLeft(text, " \t\r\n")
	}
	body := strings.TrimRight(text, " \t\r\n")
	if body == "" && !r.native {
		r.gap += text
		return
	}
	r.started = r.started || body != ""
	r.text.WriteString(r.gap)
	r.gap = ""
	if !r.native {
		r.gap, text = text[len(body):], body
	}
	r.text.WriteString(text)
}

// outside searches for a mark and returns the text after it.
func (r *reader) outside(piece string) string {
	in := r.held + piece
	r.held = ""
	if !r.started && r.calls == 0 && !r.plain && len(r.tools) > 0 {
		if head := strings.TrimLeft(in, " \t\r\n"); head != "" {
			if r.mayBeCall(head) {
				r.state = inValue
				return in
			}
			r.plain = true
		}
	}
	v := words()
	for i := 0; i < len(in); i++ {
		if !v.first[in[i]] || r.code.Inside() {
			r.code.Next(in[i])
			continue
		}
		mark, maybe := v.at(in[i:])
		if mark == asked && r.counts(mark) {
			mark, maybe = r.addresses(in[i:])
		}
		if maybe {
			r.write(in[:i])
			r.held = in[i:]
			return ""
		}
		if mark == "" || !r.counts(mark) {
			r.code.Next(in[i])
			continue
		}
		r.write(in[:i])
		behind := in[i+len(mark):]
		if mark == toAll {
			return behind
		}
		if !slices.Contains(lastEnds(), mark) {
			return r.meet(mark, behind)
		}
		if rest := strings.TrimLeft(behind, " \t\r\n"); rest == "" {
			r.held = in[i:]
			return ""
		} else if next, maybe := v.at(rest); maybe {
			r.held = in[i:]
			return ""
		} else if next != "" {
			return rest
		}
		r.write(mark)
		for k := range len(mark) {
			r.code.Next(mark[k])
		}
		return behind
	}
	r.write(in)
	return ""
}

// toAll is the prefix of plain text in Functionary's format.
const toAll = asked + "all\n"

// addresses reports whether the mark of Functionary with which a text begins counts: the name of a tool and an object
// follow in the next line. Python's prompts and quotes of mail have the same mark.
func (r *reader) addresses(text string) (mark string, maybe bool) {
	if strings.HasPrefix(text, toAll) && !r.started {
		return toAll, false
	}
	name, args, ok := strings.Cut(text[len(asked):], "\n")
	if !ok && !r.started && strings.HasPrefix(toAll, text) {
		return "", true
	}
	if len(name) > maxHead || strings.ContainsAny(name, " \t") {
		return "", false
	}
	if !ok {
		for known := range r.tools {
			if strings.HasPrefix(known, name) {
				return "", true
			}
		}
		return "", false
	}
	if _, known := r.tools[name]; !known {
		return "", false
	}
	switch args = strings.TrimLeft(args, " \r\n"); {
	case args == "":
		return "", true
	case args[0] == '{':
		return asked, false
	}
	return "", false
}

// counts reports whether a mark means something here.
func (r *reader) counts(mark string) bool {
	v := words()
	switch {
	case mark == resultOpen:
		return r.calls > 0 && !r.native
	case slices.Contains(v.opening, mark):
		return len(r.tools) > 0
	}
	return r.asked == "" || !strings.Contains(r.asked, mark)
}

// meet handles a mark and returns the text after it.
func (r *reader) meet(mark, behind string) string {
	v := words()
	switch {
	case mark == resultOpen:
		r.state, r.stopped = silent, true
		return ""
	case mark == channelStart, mark == channelName:
		r.state, r.held, r.open, r.closers = inHead, mark, mark, []string{channelBody}
	case slices.Contains(roles(), mark):
		r.state, r.open, r.closers = inHead, mark, []string{"\n", "<|end_header_id|>", "<|end_of_role|>", "<|im_sep|>",
			"<|im_middle|>"}
	case slices.Contains(v.opening, mark):
		r.begin(mark, "", v.closing(mark))
	}
	return behind
}

func (r *reader) begin(open, to string, closers []string) {
	r.state, r.open, r.to, r.closers = inCall, open, to, closers
	r.seen, r.scanned, r.quoted = 0, 0, false
	r.body.Reset()
}

// head parses the speaker and the recipient.
func (r *reader) head(piece string) string {
	in := r.held + piece
	at, mark := first(in, r.closers)
	if at < 0 {
		if len(in) > maxHead { // not a header after all
			r.state, r.held = outside, ""
			return strings.TrimPrefix(in, r.open)
		}
		r.held = in
		return ""
	}
	r.held, r.state, r.headed = "", outside, true
	said := strings.TrimSpace(in[:at])
	rest := in[at+len(mark):]
	if r.open != channelStart && r.open != channelName {
		if !strings.HasPrefix(said, "assistant") && said != "" && said != "model" {
			r.state = silent // the model plays the next speaker
		}
		return rest
	}
	role, channel, _ := strings.Cut(strings.TrimPrefix(said, channelStart), channelName)
	if role = strings.TrimSpace(role); strings.HasPrefix(role, "user") || strings.HasPrefix(role, "system") ||
		strings.HasPrefix(role, "developer") {
		r.state = silent
		return ""
	}
	to := recipient().FindStringSubmatch(said)
	switch {
	case to != nil && len(r.tools) > 0 && to[1] != "assistant" && to[1] != "all":
		r.begin("", to[1], channelEnds())
	case to != nil, strings.HasPrefix(strings.TrimSpace(channel), "analysis"):
		r.state = inThought
	case r.started:
		r.write("\n\n")
	}
	return rest
}

var recipient = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bto=([^\s<]+)`) })

// thinking reads a thought to the end of its channel.
func (r *reader) thinking(piece string) string {
	in := r.held + piece
	r.held = ""
	if at, mark := first(in, channelEnds()); at >= 0 {
		r.think(in[:at])
		r.state = outside
		return again(mark) + in[at+len(mark):]
	}
	keep := marks.Partial(in, channelEnds())
	r.think(in[:len(in)-keep])
	r.held = in[len(in)-keep:]
	return ""
}

func (r *reader) think(text string) {
	r.thought.WriteString(text)
	if !r.started && r.calls == 0 && r.thoughts.Len() < maxHeld {
		r.thoughts.WriteString(text)
	}
}

// again returns a mark that both closes and opens.
func again(mark string) string {
	if mark == channelStart || mark == channelName || mark == asked {
		return mark
	}
	return ""
}

// call reads a call to the mark that closes it.
func (r *reader) call(piece string) string {
	r.body.WriteString(piece)
	in := r.body.String()
	n := nearest{in: in, marks: r.closers}
	for {
		at, mark := n.from(r.seen)
		if at < 0 {
			break
		}
		inside := in[:at]
		if r.unfinished(inside) {
			r.seen = at + len(mark)
			continue
		}
		rest := again(mark) + in[at+len(mark):]
		r.state = outside
		if !r.take(r.read(inside, true)) {
			r.literal()
			return in
		}
		return rest
	}
	longest := 0
	for _, c := range r.closers {
		longest = max(longest, len(c))
	}
	r.seen = max(r.seen, len(in)-longest)
	if r.impossible(in) || len(in) > maxHeld {
		r.state = outside
		r.literal()
		return in
	}
	return ""
}

// literal passes the mark of a call on that was none.
func (r *reader) literal() {
	r.write(r.open)
	for i := range len(r.open) {
		r.code.Next(r.open[i])
	}
}

// read returns the calls between two marks.
func (r *reader) read(inside string, whole bool) []writtenCall {
	if r.open == "" {
		if inside = unfenced(strings.TrimSpace(inside)); inside == "" {
			inside = "{}"
		}
		return []writtenCall{{r.to, inside}}
	}
	return r.block(r.open, inside, whole)
}

// unfinished reports whether a closing mark is inside a call, as a part of its arguments.
func (r *reader) unfinished(inside string) bool {
	s := strings.TrimSpace(inside)
	if r.open == asked {
		_, s, _ = strings.Cut(s, "\n")
		s = strings.TrimSpace(s)
	}
	switch {
	case s == "":
		return false
	case s[0] == '{' || s[0] == '[':
		for ; r.scanned < len(inside); r.scanned++ {
			if inside[r.scanned] == '\\' {
				r.scanned++
			} else if inside[r.scanned] == '"' {
				r.quoted = !r.quoted
			}
		}
		return r.quoted
	case strings.HasPrefix(s, "<function="):
		const end = "</function>"
		from := max(0, r.scanned-len(end))
		r.scanned = len(inside)
		return !strings.Contains(inside[from:], end)
	}
	return false
}

// impossible reports whether text after a call's mark can't be a call: words, as in a sentence about such marks.
func (r *reader) impossible(in string) bool {
	head := strings.TrimLeft(in, " \t\r\n")
	if head == "" || r.open == "" || strings.HasPrefix(r.open, "<xai:") {
		return false
	}
	if at := strings.IndexAny(head, "\n<[{(`"); at >= 0 {
		head = head[:at]
	} else if len(head) > maxHead {
		return true
	}
	return strings.ContainsAny(strings.TrimSpace(head), " \t")
}

// take passes calls on; false if there are none.
func (r *reader) take(list []writtenCall) bool {
	for _, c := range list {
		d := agent.CallDelta{Index: r.calls, ID: "call_" + rand.Text(), Name: r.named(c.name), Args: c.args}
		if r.native {
			r.found = append(r.found, d)
		} else {
			r.deltas = append(r.deltas, d)
		}
		r.calls++
		r.gap = ""
	}
	return len(list) > 0
}

// value reads a call without marks.
func (r *reader) value(piece string) string {
	r.body.WriteString(piece)
	if in := r.body.String(); len(in) > maxHeld || !r.mayBeCall(strings.TrimLeft(in, " \t\r\n")) {
		r.body.Reset()
		r.state, r.plain = outside, true
		return in
	}
	return ""
}

// rest returns held text that isn't a call.
func (r *reader) rest() string {
	text := ""
	switch {
	case r.calls > 0:
	case r.state == outside:
		text = r.gap + r.held + r.bare.rest()
	case r.state == inValue:
		text = r.body.String()
		r.state, r.plain = outside, true
	}
	r.gap, r.held = "", ""
	r.body.Reset()
	return text
}

// flush resolves held text at the end of the answer. An unclosed call counts, unless the answer was truncated.
func (r *reader) flush(finish string) {
	whole := finish != "length"
	r.feed(r.bare.rest())
	r.settle(whole)
	r.held, r.state = "", silent
	if r.calls == 0 && !r.started && !r.own && whole {
		r.take(r.inThoughts())
	}
	if r.calls == 0 {
		r.text.WriteString(r.gap)
	}
	r.gap = ""
	if !r.own {
		r.deltas = append(r.deltas, r.found...)
	} else if r.native {
		r.calls = 0
	}
	r.found = nil
}

// settle passes on the content of the reader's state.
func (r *reader) settle(whole bool) {
	before := r.state
	body := r.body.String()
	r.body.Reset()
	r.state = outside
	switch before {
	case outside:
		held := r.held
		r.held = ""
		r.write(withoutEnds(held))
	case inThought:
		r.think(r.held)
	case inCall:
		if body = withoutEnds(body); !r.take(r.read(body, whole)) {
			r.write(r.open + body)
		}
	case inValue:
		if plain := withoutEnds(body); !r.known(plain) || !r.take(r.block("", unfenced(plain), whole)) {
			r.plain = true // so that it isn't parsed as a value again
			r.feed(body)
			r.settle(whole)
		}
	}
}

// inThoughts returns calls at the end of an unclosed thought: the model forgot to close it.
func (r *reader) inThoughts() []writtenCall {
	all := r.thoughts.String()
	if at, _ := first(all, words().opening); at < 0 || len(r.tools) == 0 {
		return nil
	}
	in := &reader{tools: r.tools}
	in.feed(withoutEnds(all))
	in.flush("")
	var out []writtenCall
	for _, d := range in.deltas {
		if _, ok := r.tools[d.Name]; !ok {
			return nil
		}
		out = append(out, writtenCall{d.Name, d.Args})
	}
	if in.spoke {
		return nil
	}
	return out
}

// withoutEnds strips template marks from the end of a text.
func withoutEnds(s string) string {
	for {
		short := strings.TrimRight(s, " \t\r\n")
		n := len(short)
		for _, m := range append(ends(), lastEnds()...) {
			short = strings.TrimSuffix(short, m)
		}
		if len(short) == n {
			return s
		}
		s = short
	}
}

// first returns the position of the first of some marks, -1 if none occurs.
func first(in string, list []string) (at int, mark string) {
	at = -1
	for _, m := range list {
		if i := strings.Index(in, m); i >= 0 && (at < 0 || i < at) {
			at, mark = i, m
		}
	}
	return at, mark
}

// nearest finds marks in a text from its beginning to its end, and reads it once for each of them.
type nearest struct {
	in    string
	marks []string
	at    []int // next position of each, the end of the text if none
}

// from returns the position of the first mark from a place on, -1 if none occurs.
func (n *nearest) from(i int) (at int, mark string) {
	if n.at == nil {
		n.at = slices.Repeat([]int{-1}, len(n.marks))
	}
	at = -1
	for k, m := range n.marks {
		if n.at[k] < i {
			n.at[k] = len(n.in)
			if j := strings.Index(n.in[i:], m); j >= 0 {
				n.at[k] = i + j
			}
		}
		if n.at[k] < len(n.in) && (at < 0 || n.at[k] < at) {
			at, mark = n.at[k], m
		}
	}
	return at, mark
}
