package pool

import "fawn/sandbox"

// StreamOut translates output that comes in pieces.
func StreamOut(m sandbox.PathMapper, pieces ...string) string {
	r, out := newReplacer(nil, outside(m)...), ""
	for _, p := range pieces {
		out += string(r.next([]byte(p), false))
	}
	return out + string(r.next(nil, true))
}
