package texttools

import (
	"regexp"
	"strings"
	"sync"
)

// prefixes returns prefixes that models add to tool names, as their templates do.
func prefixes() []string {
	return []string{"functions.", "function.", "functions:", "function:", "tools.", "tool.", "tools:", "tool:", "functions/",
		"tools/", "default_api.", "default_api:", "default_api/", "api.", "call:", "functions_", "mcp."}
}

var counted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[:#]\d+$`) })

// named returns the tool that a model means: the only offered tool whose name matches after trimming blanks, trailing
// marks and prefixes and ignoring case. Otherwise it returns the trimmed name.
func (r *reader) named(name string) string {
	if _, ok := r.tools[name]; ok || name == "" {
		return name
	}
	name, _, _ = strings.Cut(name, "<|")
	name = strings.Trim(name, " \t\r\n\"'`*")
	short := counted().ReplaceAllString(name, "")
	tries := []string{name, short}
	for _, p := range prefixes() {
		if rest, ok := strings.CutPrefix(short, p); ok {
			tries = append(tries, rest)
		}
	}
	if at := strings.LastIndexAny(short, ".:/"); at >= 0 {
		tries = append(tries, short[at+1:])
	}
	for _, t := range tries {
		if _, ok := r.tools[t]; ok {
			return t
		}
	}
	for _, t := range tries {
		found, n := "", 0
		for known := range r.tools {
			if t != "" && folded(known) == folded(t) {
				found, n = known, n+1
			}
		}
		if n == 1 {
			return found
		}
	}
	return name
}

// folded returns a name in lower case without the marks between its words.
func folded(name string) string {
	return strings.Map(func(c rune) rune {
		switch c {
		case '-', '_', ' ', '.':
			return -1
		}
		return c
	}, strings.ToLower(name))
}
