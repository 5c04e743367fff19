package pool

import (
	"fmt"
	"unicode/utf8"
)

// maxKept limits a result without a limit in characters.
const maxKept = 4 << 20

// keeper keeps the beginning and the end of a text of any length.
type keeper struct {
	chars int // characters kept, half of them from the beginning; 0 keeps maxKept bytes
	head  []byte
	left  int // characters left in head
	tail  []byte
	next  int // write position in tail, once it is full
	full  bool
	bytes int64
	total int64 // characters
}

func newKeeper(chars int) *keeper {
	k := &keeper{chars: chars}
	if chars <= 0 {
		k.chars = maxKept / utf8.UTFMax
	}
	k.left = k.chars / 2
	return k
}

// Write never fails and keeps nothing of p itself.
func (k *keeper) Write(p []byte) (int, error) {
	n := len(p)
	k.bytes += int64(n)
	for k.left > 0 && len(p) > 0 {
		// A character split across two writes counts once.
		size := 1
		for size < len(p) && !utf8.RuneStart(p[size]) {
			size++
		}
		k.head = append(k.head, p[:size]...)
		if starts(p[:size]) > 0 {
			k.left--
			k.total++
		}
		p = p[size:]
	}
	for k.left == 0 && len(p) > 0 && len(k.tail) == 0 && !utf8.RuneStart(p[0]) {
		k.head = append(k.head, p[0])
		p = p[1:]
	}
	k.total += int64(starts(p))
	k.keepTail(p)
	return n, nil
}

// keepTail writes into a ring that has room for the longest characters.
func (k *keeper) keepTail(p []byte) {
	room := (k.chars - k.chars/2) * utf8.UTFMax
	if len(p) >= room {
		k.tail = append(k.tail[:0], p[len(p)-room:]...)
		k.full, k.next = true, 0
		return
	}
	if !k.full {
		n := min(len(p), room-len(k.tail))
		k.tail = append(k.tail, p[:n]...)
		p = p[n:]
		k.full = len(k.tail) == room
	}
	for len(p) > 0 {
		n := copy(k.tail[k.next:], p)
		k.next = (k.next + n) % room
		p = p[n:]
	}
}

// text returns a limited number of characters of the output, valid UTF-8 with a line about the omitted
// part.
func (k *keeper) text(most int) (out []byte, truncated bool) {
	most = min(most, k.chars)
	tail := k.tail
	if k.full {
		tail = append(append([]byte{}, k.tail[k.next:]...), k.tail[:k.next]...)
	}
	head := k.head
	if int64(len(head)+len(tail)) == k.bytes {
		all := append(append([]byte{}, head...), tail...)
		if starts(all) <= most {
			return valid(all), false
		}
		head, tail = all, all
	}
	head, tail = leading(head, most/2), trailing(tail, most-most/2)
	skipped := max(0, k.total-int64(starts(head)+starts(tail)))
	out = append(append([]byte{}, head...), fmt.Sprintf("\n... [middle truncated: %d chars skipped] ...\n", skipped)...)
	return valid(append(out, tail...)), true
}

// leading returns the first n characters of p.
func leading(p []byte, n int) []byte {
	for at, b := range p {
		if utf8.RuneStart(b) {
			if n--; n < 0 {
				return p[:at]
			}
		}
	}
	return p
}

// trailing returns the last n characters of p.
func trailing(p []byte, n int) []byte {
	at := len(p)
	for at > 0 && n > 0 {
		at--
		if utf8.RuneStart(p[at]) {
			n--
		}
	}
	return p[at:]
}

// share divides a result's characters between two outputs of given lengths. Each gets as much as it needs, or else half
// plus the other's rest.
func share(most int, a, b int64) (int, int) {
	half := int64(most / 2)
	switch {
	case a+b <= int64(most):
		return int(a), int(b)
	case b <= half:
		return most - int(b), int(b)
	case a <= half:
		return int(a), most - int(a)
	}
	return most - int(half), int(half)
}

// starts counts characters by their first bytes.
func starts(p []byte) (n int) {
	for _, b := range p {
		if utf8.RuneStart(b) {
			n++
		}
	}
	return n
}

// valid replaces invalid bytes as a terminal would.
func valid(p []byte) []byte {
	if utf8.Valid(p) {
		return p
	}
	out := make([]byte, 0, len(p)+8)
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		out = utf8.AppendRune(out, r)
		p = p[n:]
	}
	return out
}

// whole splits p after its last complete character. The rest is the start of one, at most three bytes.
func whole(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if b := p[len(p)-back]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-back:]) {
				return len(p) - back
			}
			break
		}
	}
	return len(p)
}
