package skills

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// reserved are slash names with another meaning.
var reserved = []string{"bootstrap", "compact", "goal", "help", "memory", "models", "new", "status"}

var slash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/([a-z0-9]+(?:-[a-z0-9]+)*)(?:\s+|$)`) })

// Asked splits a message that begins with a slash and a skill's name.
func Asked(text string) (name, rest string, ok bool) {
	m := slash().FindStringSubmatchIndex(text)
	if m == nil {
		return "", "", false
	}
	name = text[m[2]:m[3]]
	if len(name) > maxName || slices.Contains(reserved, name) {
		return "", "", false
	}
	return name, text[m[1]:], true
}

// toolNames map tool names of other programs to ours.
var toolNames = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for pair := range strings.FieldsSeq(
		"read=read_file view=read_file cat=read_file write=write_file edit=str_replace multiedit=str_replace " +
			"notebookedit=str_replace glob=glob grep=grep ls=ls webfetch=web_fetch websearch=web_search todowrite=write_todos agent=task") {
		other, own, _ := strings.Cut(pair, "=")
		m[other] = own
	}
	return m
})

// always are tools that only search tools, ask, plan, or present results.
var always = []string{"tool_search", "describe_skill", "ask_clarification", "write_todos", "present_files"}

// Allows reports whether a list of allowed tools contains one. Names of other programs count, and text in parentheses
// is ignored; nil allows all.
func Allows(list []string, tool string) bool {
	if list == nil || slices.Contains(always, tool) {
		return true
	}
	return slices.ContainsFunc(list, func(name string) bool {
		name, _, _ = strings.Cut(name, "(")
		name = strings.TrimSpace(name)
		if name == tool || name == "*" || strings.EqualFold(name, tool) {
			return true
		}
		return toolNames()[strings.ToLower(name)] == tool
	})
}
