package httpx

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// ID is the id of a server-sent event: the number of the run's event and, for several frames of it, the frame. Its text
// form is "12", and "12.1" for a further frame.
type ID struct {
	Seq  int64
	Part int32
}

// LastPart is after every frame of a number.
const LastPart = math.MaxInt32

// Compare orders ids the way their frames are sent.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Seq, other.Seq), cmp.Compare(id.Part, other.Part))
}

// String returns the id as sent; without a number it is "".
func (id ID) String() string { return string(id.append(nil)) }

func (id ID) append(dst []byte) []byte {
	if id.Seq < 1 {
		return dst
	}
	dst = strconv.AppendInt(dst, id.Seq, 10)
	if id.Part > 0 {
		dst = strconv.AppendInt(append(dst, '.'), int64(id.Part), 10)
	}
	return dst
}

// ParseID parses an id sent by a client, also one with a time before it, as in "1795231741539-12". Anything else is the
// zero id, which precedes everything.
func ParseID(s string) ID {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '-'); i > 0 {
		s = s[i+1:]
	}
	number, part, further := strings.Cut(s, ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 0 {
		return ID{}
	}
	if !further {
		return ID{Seq: seq}
	}
	n, err := strconv.ParseInt(part, 10, 32)
	if err != nil || n < 0 {
		return ID{}
	}
	return ID{Seq: seq, Part: int32(n)}
}
