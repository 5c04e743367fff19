package agent

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Masked replaces the value of a secret.
const Masked = "****"

const (
	minSecret     = 4 // shorter values occur by chance; masking them would spoil texts
	minSecretLine = 8 // the same for single lines of longer ones
)

// Secrets are variables, by name, which only the commands of one run get. They live in
// memory alone: printed, logged or encoded, only their names are left.
type Secrets map[string]string

// Names returns the names in order.
func (s Secrets) Names() []string { return slices.Sorted(maps.Keys(s)) }

// String implements fmt.Stringer.
func (s Secrets) String() string { return "[" + strings.Join(s.Names(), " ") + "]" }

// GoString implements fmt.GoStringer.
func (s Secrets) GoString() string { return "agent.Secrets" + s.String() }

// LogValue implements slog.LogValuer.
func (s Secrets) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON implements json.Marshaler.
func (s Secrets) MarshalJSON() ([]byte, error) {
	out := make(map[string]string, len(s))
	for name := range s {
		out[name] = Masked
	}
	return json.Marshal(out)
}

// Masker returns a replacer that masks each value of at least 4 bytes, and each of its lines of at least 8 bytes, with
// [Masked]. It is nil if there is nothing to mask.
func (s Secrets) Masker() func(string) string {
	var words []string
	for _, v := range s {
		for _, line := range strings.FieldsFunc(v, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if line != v && len(line) >= minSecretLine {
				words = append(words, line)
			}
		}
		if len(v) >= minSecret {
			words = append(words, v)
		}
	}
	if len(words) == 0 {
		return nil
	}
	for _, w := range slices.Clone(words) { // its form inside JSON
		if quoted, err := marshal(w); err == nil && len(quoted) > 2 && string(quoted[1:len(quoted)-1]) != w {
			words = append(words, string(quoted[1:len(quoted)-1]))
		}
	}
	slices.SortFunc(words, func(a, b string) int { // a replacer prefers the earlier of two
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, w := range slices.Compact(words) {
		pairs = append(pairs, w, Masked)
	}
	return strings.NewReplacer(pairs...).Replace
}
