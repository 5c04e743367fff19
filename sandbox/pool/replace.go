package pool

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

const (
	// Shorter values occur by chance; masking them would spoil the output.
	minSecret     = 4
	minSecretLine = 8 // the same for single lines of longer values
	masked        = "****"
)

// replacement puts to in the place of from.
type replacement struct{ from, to string }

// replacer replaces texts in a stream, wherever its pieces are cut.
type replacer struct {
	list    []replacement // longest first
	pending []byte        // may be the start of one
}

// newReplacer masks secrets and replaces listed words.
func newReplacer(secrets map[string]string, list ...replacement) *replacer {
	r := &replacer{list: slices.Clone(list)}
	for _, v := range secrets {
		if len(v) >= minSecret {
			r.list = append(r.list, replacement{v, masked})
		}
		for _, line := range strings.FieldsFunc(v, func(c rune) bool { return c == '\n' || c == '\r' }) {
			if line != v && len(line) >= minSecretLine {
				r.list = append(r.list, replacement{line, masked})
			}
		}
	}
	slices.SortFunc(r.list, func(a, b replacement) int {
		return cmp.Or(cmp.Compare(len(b.from), len(a.from)), strings.Compare(a.from, b.from))
	})
	return r
}

// next returns the text that can be shown now; the rest comes with the next call, or with the last one. The result may
// share memory with p.
func (r *replacer) next(p []byte, last bool) []byte {
	if len(r.list) == 0 {
		return p
	}
	p = append(r.pending, p...)
	r.pending = nil
	var out []byte
	for at := 0; at < len(p); {
		found, partial := r.match(p[at:])
		switch {
		case partial && !last:
			r.pending = bytes.Clone(p[at:])
			return out
		case found != nil:
			out = append(out, found.to...)
			at += len(found.from)
		default:
			out = append(out, p[at])
			at++
		}
	}
	return out
}

// match finds the longest text at the start of p, or reports that p may be the start of a longer one.
func (r *replacer) match(p []byte) (found *replacement, partial bool) {
	for i, c := range r.list {
		switch {
		case len(p) < len(c.from):
			partial = partial || strings.HasPrefix(c.from, string(p))
		case string(p[:len(c.from)]) == c.from:
			return &r.list[i], partial
		}
	}
	return nil, partial
}

// text replaces in a whole text.
func (r *replacer) text(s string) string {
	if len(r.list) == 0 {
		return s
	}
	return string((&replacer{list: r.list}).next([]byte(s), true))
}
