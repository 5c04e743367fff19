package pool

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"fawn/sandbox"
)

// Environment builds the variables of a command from nothing.
func Environment(base, policy map[string]string, r sandbox.ExecReq) []string {
	all := maps.Clone(base)
	for _, vars := range []map[string]string{policy, r.Env, r.Secrets} {
		maps.Copy(all, vars)
	}
	env := make([]string, 0, len(all))
	for name, value := range all {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// firstChars cuts a text after n characters and mends broken ones.
func firstChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			text = text[:i]
			break
		}
		n--
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}
