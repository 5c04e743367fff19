package agent

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxLine limits the bytes of an argument that a line about a call shows.
const maxLine = 200

// Line describes the call in one line for people: the tool's name and its most telling argument.
func (c ToolCall) Line() string {
	var args map[string]any
	if json.Unmarshal(c.Args, &args) != nil {
		return c.Name
	}
	for _, name := range []string{"description", "query", "url", "path", "file_path", "command", "question", "name"} {
		if about, ok := args[name].(string); ok && about != "" {
			about = strings.Join(strings.Fields(about), " ")
			if len(about) > maxLine {
				cut := maxLine
				for cut > 0 && !utf8.RuneStart(about[cut]) {
					cut--
				}
				about = about[:cut] + "…"
			}
			return c.Name + ": " + about
		}
	}
	return c.Name
}
