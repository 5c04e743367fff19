package openai

import (
	"slices"
	"strings"
	"sync"

	"fawn/agent/llm/marks"
)

// thinkSplitter moves a block of thinking at the start of an answer into the reasoning. Later tags are part of the
// answer and stay. Some templates open the block in the prompt, so the answer contains only its end: everything before
// is then a thought, unless the tag is quoted, in code or part of a sentence.
type thinkSplitter struct {
	state   thinkState
	pending string // possibly the start of a tag
	late    bool   // an end without a beginning was just found

	code marks.Code // text outside of a block
	last byte       // its last byte, and its last non-blank
	word byte
}

type thinkState uint8

const (
	thinkStart thinkState = iota // only white space so far
	thinkInside
	thinkGap  // after the block, before the answer's first character
	thinkOpen // no block began; its end may still come
	thinkDone // the rest is answer
)

// thinkTags match the tags of open models in any case: opening, closing, and both.
var thinkTags = sync.OnceValue(func() (t struct{ opening, closing, all []string }) {
	for _, name := range []string{"think", "thinking", "thought", "thoughts", "reasoning", "reflection", "seed:think",
		"mm:think", "longcat_think", "ernie_think", "internal_reasoning"} {
		t.opening, t.closing = append(t.opening, "<"+name+">"), append(t.closing, "</"+name+">")
	}
	for _, pair := range [][2]string{{"◁think▷", "◁/think▷"}, {"[think]", "[/think]"}, {"[thinking]", "[/thinking]"},
		{"<|begin_of_thought|>", "<|end_of_thought|>"}, {"<|start_thinking|>", "<|end_thinking|>"},
		{"<|think|>", "<|/think|>"}, {"<|inner_prefix|>", "<|inner_suffix|>"}, {"<|thinking|>", "<|/thinking|>"},
		{"<｜think｜>", "<｜/think｜>"}, {"<think_start>", "<think_end>"}, {"《think》", "《/think》"}} {
		t.opening, t.closing = append(t.opening, pair[0]), append(t.closing, pair[1])
	}
	t.all = append(append(t.all, t.opening...), t.closing...)
	return t
})

// mayTag reports whether a byte can begin a tag.
func mayTag(b byte) bool { return b == '<' || b == '[' || b == "◁"[0] || b == "《"[0] }

// feed splits a piece of content as far as it is unambiguous.
func (s *thinkSplitter) feed(piece string) (text, reasoning string) {
	if s.state == thinkDone || piece == "" {
		return piece, ""
	}
	if s.state == thinkOpen && s.pending == "" && !slices.ContainsFunc([]byte(piece), mayTag) { // nearly every piece
		for i := range len(piece) {
			s.pass(piece[i])
		}
		return piece, ""
	}
	in := s.pending + piece
	s.pending = ""
	var out, thought strings.Builder
	for in != "" {
		switch s.state {
		case thinkStart, thinkGap:
			in = s.begin(in, &out)
		case thinkInside:
			in = s.inside(in, &thought)
		case thinkOpen:
			if in = s.open(in, &out); s.state == thinkGap {
				thought.WriteString(out.String())
				out.Reset()
			}
		case thinkDone:
			out.WriteString(in)
			in = ""
		}
	}
	return out.String(), thought.String()
}

// begin checks for the start of a block, at the beginning or after another one. An end tag there is ignored.
func (s *thinkSplitter) begin(in string, out *strings.Builder) string {
	head := strings.TrimLeft(in, " \t\r\n")
	if head == "" {
		if s.state == thinkStart {
			s.pending = in
		}
		return ""
	}
	tags := thinkTags()
	for i, tag := range tags.all {
		yes, maybe := marks.Begins(head, tag)
		switch {
		case yes && i < len(tags.opening):
			s.state = thinkInside
			return head[len(tag):]
		case yes:
			s.state = thinkGap
			return head[len(tag):]
		case maybe:
			s.pending = in
			return ""
		}
	}
	if s.state == thinkGap {
		s.state = thinkDone
		return head
	}
	s.state = thinkOpen
	return in
}

// open takes text that looks like an answer and stops after the end of a block.
func (s *thinkSplitter) open(in string, out *strings.Builder) string {
	tags := thinkTags()
	for i := 0; i < len(in); i++ {
		b := in[i]
		if mayTag(b) && !s.code.Inside() {
			for k, tag := range tags.all {
				yes, maybe := marks.Begins(in[i:], tag)
				switch {
				case maybe:
					s.pending = in[i:]
					out.WriteString(in[:i])
					return ""
				case yes && k < len(tags.opening): // the answer talks about such tags
					s.state = thinkDone
					return in
				case yes && s.ends():
					s.state, s.late = thinkGap, true
					out.WriteString(in[:i])
					return in[i+len(tag):]
				}
			}
		}
		s.pass(b)
	}
	out.WriteString(in)
	return ""
}

// pass takes a byte of the answer.
func (s *thinkSplitter) pass(b byte) {
	s.code.Next(b)
	if s.last = b; b != ' ' && b != '\t' && b != '\r' {
		s.word = b
	}
}

// ends reports whether a tag here ends a thought: on a new line, glued to its last word, or after a whole sentence.
func (s *thinkSplitter) ends() bool {
	switch s.word {
	case '\n', '.', '!', '?', ':', ';', ')':
		return true
	case '"', '\'', '(', '`':
		return s.code.LineStart()
	}
	return s.last == s.word || s.code.LineStart()
}

func (s *thinkSplitter) inside(in string, thought *strings.Builder) string {
	tags := thinkTags()
	if end, tag := marks.Index(in, tags.closing); end >= 0 {
		thought.WriteString(in[:end])
		s.state = thinkGap
		return in[end+len(tag):]
	}
	keep := marks.Partial(in, tags.closing)
	thought.WriteString(in[:len(in)-keep])
	s.pending = in[len(in)-keep:]
	return ""
}

// flush returns the text held back when the answer ends.
func (s *thinkSplitter) flush() (text, reasoning string) {
	p := s.pending
	s.pending = ""
	if s.state == thinkInside {
		return "", p
	}
	return p, ""
}
