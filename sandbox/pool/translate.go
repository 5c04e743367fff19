package pool

import (
	"cmp"
	"slices"
	"strings"

	"fawn/sandbox"
)

// samePaths is for providers that show files at their virtual paths.
type samePaths struct{}

func (samePaths) Identity() bool         { return true }
func (samePaths) In(text string) string  { return text }
func (samePaths) Out(text string) string { return text }

// Translator replaces virtual paths by host paths, and back.
type Translator struct {
	in  []replacement // longest first
	out *replacer
}

// NewTranslator maps folders: virtual to host. Paths of the host must consist of
// characters that mean nothing to a shell, see PlainPath.
func NewTranslator(folders map[string]string) Translator {
	var in, out []replacement
	for virtual, host := range folders {
		in = append(in, replacement{virtual, host})
		out = append(out, replacement{host, virtual})
	}
	slices.SortFunc(in, func(a, b replacement) int {
		return cmp.Or(cmp.Compare(len(b.from), len(a.from)), strings.Compare(a.from, b.from))
	})
	return Translator{in, newReplacer(nil, out...)}
}

// Identity implements sandbox.PathMapper.
func (t Translator) Identity() bool { return false }

// Out implements sandbox.PathMapper.
func (t Translator) Out(text string) string { return t.out.text(text) }

// In replaces whole names only: neither /x/mnt/user-data nor /mnt/user-data-2
// is a virtual path.
func (t Translator) In(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		n, to := t.at(text, at)
		if n == 0 {
			b.WriteByte(text[at])
			at++
			continue
		}
		b.WriteString(to)
		at += n
	}
	return b.String()
}

func (t Translator) at(text string, at int) (n int, to string) {
	if text[at] != '/' || at > 0 && continues(text[:at]) {
		return 0, ""
	}
	for _, r := range t.in {
		if rest, ok := strings.CutPrefix(text[at:], r.from); ok && (rest == "" || !nameByte(rest[0])) {
			return len(r.from), r.to
		}
	}
	return 0, ""
}

// continues reports whether a slash after the text continues a path: after a name, or after a shell expansion.
func continues(text string) bool {
	last := text[len(text)-1]
	if last == '/' {
		return !strings.HasSuffix(text, "file://")
	}
	return nameByte(last) && !shortOption(text) || strings.IndexByte("})]*?~", last) >= 0
}

// shortOption reports whether a text ends with an option such as -I, whose value may follow directly.
func shortOption(text string) bool {
	n := len(text) - 2
	letter := text[len(text)-1] | 0x20
	return n >= 0 && text[n] == '-' && 'a' <= letter && letter <= 'z' &&
		(n == 0 || strings.IndexByte(" \t\n'\"=,(;|&", text[n-1]) >= 0)
}

// outside returns the replacements for output that arrives in pieces.
func outside(m sandbox.PathMapper) []replacement {
	if t, ok := m.(Translator); ok {
		return t.out.list
	}
	return nil
}

// nameByte reports whether a byte may continue a name.
func nameByte(b byte) bool {
	return b == '.' || b == '-' || b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' ||
		b >= 0x80
}

// PlainPath reports whether a shell takes a path literally, quoted or not.
func PlainPath(p string) bool {
	return p != "" && !strings.ContainsFunc(p, func(r rune) bool {
		return r >= 0x80 || !nameByte(byte(r)) && !strings.ContainsRune("/+,@%:=", r)
	})
}
