package openai

import "strings"

// thinkSplitter moves a <think> block at the start of an answer into the reasoning. Tags
// further in are left alone: there they are what the answer talks about. Some templates open
// the block in the prompt, so that only its end is in the answer: alone on a line, it shows
// that everything before was a thought.
type thinkSplitter struct {
	state   thinkState
	pending string // may be the start of a tag
	inLine  bool   // something was said on this line
	late    bool   // an end without a beginning was just found
}

type thinkState uint8

const (
	thinkStart thinkState = iota // only white space so far
	thinkInside
	thinkGap  // behind the block, before the answer's first character
	thinkOpen // no block was begun; its end may still come
	thinkDone // the rest is answer
)

// thinkTags are the forms open models use.
func thinkTags() [3][2]string {
	return [3][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}}
}

// feed takes a piece of content and splits what can be told apart so far.
func (s *thinkSplitter) feed(piece string) (text, reasoning string) {
	if s.state == thinkDone || piece == "" {
		return piece, ""
	}
	if s.state == thinkOpen && s.inLine && s.pending == "" && strings.IndexByte(piece, '\n') < 0 {
		return piece, "" // nearly every piece
	}
	in := s.pending + piece
	s.pending = ""
	var out, thought strings.Builder
	for in != "" {
		switch s.state {
		case thinkStart:
			in = s.start(in)
		case thinkInside:
			in = s.inside(in, &thought)
		case thinkGap:
			if in = strings.TrimLeft(in, " \t\r\n"); in != "" {
				s.state = thinkDone
			}
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

func (s *thinkSplitter) start(in string) string {
	head := strings.TrimLeft(in, " \t\r\n")
	for _, tag := range thinkTags() {
		if strings.HasPrefix(head, tag[0]) {
			s.state = thinkInside
			return head[len(tag[0]):]
		}
		if strings.HasPrefix(tag[0], head) {
			s.pending = in
			return ""
		}
	}
	s.state = thinkOpen
	return in
}

// open takes words which look like an answer and stops behind the end of a block on a line of its own.
func (s *thinkSplitter) open(in string, out *strings.Builder) string {
	for in != "" {
		if !s.inLine {
			head := strings.TrimLeft(in, " \t")
			for _, tag := range thinkTags() {
				rest, ended := strings.CutPrefix(head, tag[1])
				rest = strings.TrimLeft(rest, " \t\r")
				switch {
				case ended && strings.HasPrefix(rest, "\n"):
					s.state, s.late = thinkGap, true
					return rest
				case ended && rest == "" || strings.HasPrefix(tag[1], head) ||
					strings.HasPrefix(tag[0], head) && head != tag[0]:
					s.pending = in
					return ""
				case strings.HasPrefix(head, tag[0]):
					s.state = thinkDone // the answer talks about such tags
					return in
				}
			}
		}
		line := strings.IndexByte(in, '\n') + 1
		if s.inLine = line == 0; s.inLine {
			line = len(in)
		}
		out.WriteString(in[:line])
		in = in[line:]
	}
	return ""
}

func (s *thinkSplitter) inside(in string, thought *strings.Builder) string {
	end, tagLen := -1, 0
	for _, tag := range thinkTags() {
		if i := strings.Index(in, tag[1]); i >= 0 && (end < 0 || i < end) {
			end, tagLen = i, len(tag[1])
		}
	}
	if end >= 0 {
		thought.WriteString(in[:end])
		s.state = thinkGap
		return in[end+tagLen:]
	}
	keep := 0
	for _, tag := range thinkTags() {
		for n := min(len(tag[1])-1, len(in)); n > keep; n-- {
			if strings.HasSuffix(in, tag[1][:n]) {
				keep = n
			}
		}
	}
	thought.WriteString(in[:len(in)-keep])
	s.pending = in[len(in)-keep:]
	return ""
}

// flush returns what was held back when the answer ends.
func (s *thinkSplitter) flush() (text, reasoning string) {
	p := s.pending
	s.pending = ""
	if s.state == thinkInside {
		return "", p
	}
	if s.state == thinkOpen && strings.ContainsRune(p, '>') { // the end of the block is that of the answer
		s.late = true
		return "", ""
	}
	return p, ""
}
