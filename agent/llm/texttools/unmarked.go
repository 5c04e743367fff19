package texttools

import (
	"slices"
	"strings"

	"fawn/agent/llm/marks"
)

// unmarked restores the marks of gpt-oss channels that a server removed, leaving their words in the text: "analysisThey
// want a list.assistantcommentary to=functions.ls json{}". It puts the marks back. An answer that begins with such a
// word is held until a second one proves the form, since "analysisResult" may be any name in code.
type unmarked struct {
	in    channelState
	held  string
	depth int  // depth of the braces of a call
	text  bool // a string of the call is open
	skip  bool // after a backslash in it
}

type channelState uint8

const (
	unproved  channelState = iota
	marked                 // not such an answer: pass everything unchanged
	inWords                // in a thought, or in words before a call
	inObject               // in the arguments of a call
	behindOne              // after a call
	inFinal                // in the answer
)

// take returns a piece of an answer with marks.
func (u *unmarked) take(r *reader, piece string) string {
	switch u.in {
	case marked, inFinal:
		return piece
	case unproved:
		if r.started || r.calls > 0 || r.state != outside {
			u.in = marked
			return piece
		}
		u.held += piece
		return u.prove(r)
	}
	u.held += piece
	return u.mark(r)
}

// prove decides about the beginning of an answer.
func (u *unmarked) prove(r *reader) string {
	head := strings.TrimLeft(u.held, " \t\r\n")
	none := func() string {
		out := u.held
		u.in, u.held = marked, ""
		return out
	}
	if head == "" {
		return "" // white space is held anyway
	}
	for _, word := range channelTurns() {
		switch {
		case strings.HasPrefix(word, head):
			return ""
		case strings.HasPrefix(head, word):
			if next := head[len(word):]; next == "" {
				return ""
			} else if strings.ContainsAny(next[:1], "abcdefghijklmnopqrstuvwxyz_") || strings.Contains(r.asked, word) {
				return none()
			}
			u.in = inWords
			return u.mark(r)
		}
	}
	for _, word := range channelWords() {
		switch {
		case strings.HasPrefix(word, head):
			return ""
		case !strings.HasPrefix(head, word) || word == "final":
			continue
		}
		next := head[len(word):]
		if next == "" {
			return ""
		}
		to := strings.HasPrefix(next, channelTo) || strings.HasPrefix(channelTo, next)
		if !to && next[0] < 0x80 && !strings.ContainsAny(next[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ\"'\r\n*#") ||
			len(u.held) > maxUnproved {
			return none()
		}
		at, turn := first(head, channelTurns())
		switch {
		case at >= 0 && strings.Contains(r.asked, turn):
			return none()
		case at >= 0:
		case to && strings.HasPrefix(next, channelTo):
			if name, _, ok := strings.Cut(next[len(channelTo):], "{"); !ok && len(name) < maxHead {
				return ""
			} else if !ok || !r.offers(recipientIn(r, name)) {
				return none()
			}
		default:
			return ""
		}
		u.held, u.in = "assistant"+head, inWords
		return u.mark(r)
	}
	return none()
}

// mark inserts marks into the held text, as far as it is known.
func (u *unmarked) mark(r *reader) string {
	var out strings.Builder
	for u.held != "" {
		switch u.in {
		case inWords:
			at, turn := first(u.held, channelTurns())
			if at < 0 {
				keep := marks.Partial(u.held, channelTurns())
				out.WriteString(u.held[:len(u.held)-keep])
				u.held = u.held[len(u.held)-keep:]
				return out.String()
			}
			out.WriteString(u.held[:at])
			head, rest, whole := u.turn(r, u.held[at:], turn)
			u.held = rest
			if !whole {
				return out.String()
			}
			out.WriteString(head)
		case inObject:
			n := u.object(u.held)
			out.WriteString(u.held[:n])
			if u.held = u.held[n:]; u.depth == 0 {
				out.WriteString("<|call|>")
				u.in = behindOne
			}
		case behindOne: // the next turn may lack its first word
			u.held = strings.TrimLeft(u.held, " \t\r\n")
			for _, word := range channelWords() {
				if strings.HasPrefix(u.held, word) {
					u.held = "assistant" + u.held
					break
				}
				if strings.HasPrefix(word, u.held) {
					return out.String()
				}
			}
			u.in = inWords
		case inFinal:
			out.WriteString(u.held)
			u.held = ""
		}
	}
	return out.String()
}

// turn parses the head of a turn. If it is incomplete, rest is the text to keep.
func (u *unmarked) turn(r *reader, in, turn string) (head, rest string, whole bool) {
	const start = "<|end|>" + channelStart + "assistant"
	behind := in[len(turn):]
	to := turn == channelRole+channelTo
	if !to && turn != "assistantfinal" {
		if strings.HasPrefix(channelTo, behind) && len(behind) < len(channelTo) {
			return "", in, false
		}
		if behind, to = strings.CutPrefix(behind, channelTo); !to {
			behind = in[len(turn):]
		}
	}
	if to {
		name, _, ok := strings.Cut(behind, "{")
		if !ok && len(name) <= maxHead {
			return "", in, false
		}
		if ok && len(name) <= maxHead {
			u.in, u.depth = inObject, 0
			return start + " to=" + recipientIn(r, name) + channelName + "commentary" + channelBody, behind[len(name):], true
		}
	}
	channel := strings.TrimPrefix(turn, channelRole)
	if u.in = inWords; channel == "final" {
		u.in = inFinal
	}
	return start + channelName + channel + channelBody, in[len(turn):], true
}

// object returns the number of bytes that belong to the object that is open or begins here.
func (u *unmarked) object(in string) int {
	for i := range len(in) {
		b := in[i]
		switch {
		case u.skip:
			u.skip = false
		case u.text:
			u.skip, u.text = b == '\\', b != '"'
		case b == '"':
			u.text = true
		case b == '{' || b == '[':
			u.depth++
		case b == '}' || b == ']':
			if u.depth--; u.depth <= 0 {
				u.depth = 0
				return i + 1
			}
		}
	}
	return len(in)
}

// rest returns the held text when the answer is over.
func (u *unmarked) rest() string {
	out := u.held
	u.held = ""
	if u.in == unproved {
		u.in = marked
	}
	return out
}

// recipientIn returns the tool before the arguments of a call: its name is followed by their kind, which may stick to
// it.
func recipientIn(r *reader, head string) string {
	fields := strings.Fields(head)
	if len(fields) == 0 {
		return ""
	}
	name := fields[0]
	for !r.offers(name) {
		i := slices.IndexFunc(channelKinds(), func(k string) bool { return strings.HasSuffix(name, k) })
		if i < 0 {
			return fields[0]
		}
		name = strings.TrimSuffix(name, channelKinds()[i])
	}
	return name
}

// offers reports whether a name is that of an offered tool.
func (r *reader) offers(name string) bool {
	_, ok := r.tools[r.named(name)]
	return ok && name != ""
}
