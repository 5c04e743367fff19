package sandbox

// StreamOut translates output that comes in pieces.
func StreamOut(m PathMapper, pieces ...string) string {
	r, out := newReplacer(nil, outside(m)...), ""
	for _, p := range pieces {
		out += string(r.next([]byte(p), false))
	}
	return out + string(r.next(nil, true))
}
