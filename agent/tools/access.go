package tools

import (
	"encoding/json"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/sandbox/files"
)

// maxNamed limits the paths of one command that are checked.
const maxNamed = 200

// reading marks a tool that only reads the files its arguments name.
func reading(t *agent.Tool) *agent.Tool {
	t.Access = func(c agent.ToolCall) agent.Access { return agent.Access{Reads: named(c)} }
	return t
}

// writing marks a tool that changes the files its arguments name.
func writing(t *agent.Tool) *agent.Tool {
	t.Access = func(c agent.ToolCall) agent.Access { return agent.Access{Writes: named(c)} }
	return t
}

// named returns the files in a call's arguments. Unreadable arguments name none; the tool reports their errors.
func named(c agent.ToolCall) []string {
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil {
		return nil
	}
	var found []string
	for _, key := range []string{"path", "image_path", "mask_path", "audio_path", "filepaths", "file_paths"} {
		var one string
		var list []string
		if json.Unmarshal(args[key], &one) == nil {
			list = []string{one}
		} else if json.Unmarshal(args[key], &list) != nil {
			continue
		}
		found = append(found, cleaned(list)...)
	}
	return found
}

func cleaned(paths []string) (out []string) {
	for _, p := range paths {
		if clean, err := files.Clean(p); err == nil && p != "" && !slices.Contains(out, clean) {
			out = append(out, clean)
		}
	}
	return out
}

// commandAccess guesses the files used by a command from its words. Output files, and arguments of programs that change
// files, count as written.
func commandAccess(c agent.ToolCall) agent.Access {
	var args bashArgs
	if json.Unmarshal(c.Args, &args) != nil {
		return agent.Access{}
	}
	text := strings.ReplaceAll(strings.ReplaceAll(args.Command, ">|", ">"), ">", " > ")
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&(){}<\"'`=,", r) })
	words = words[:min(len(words), 4*maxNamed)]
	changes := slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"tee", "mv", "cp", "rm", "ln", "touch", "truncate", "dd", "install",
			"patch", "git"}, w)
	}) || slices.Contains(words, "sed") && slices.ContainsFunc(words,
		func(w string) bool { return strings.HasPrefix(w, "-i") })
	var a agent.Access
	for i, w := range words {
		clean, err := files.Clean(w)
		if err != nil || w == ">" || strings.HasPrefix(w, "-") || len(a.Writes)+len(a.Perhaps) == maxNamed {
			continue
		}
		if i > 0 && words[i-1] == ">" || changes && strings.ContainsAny(w, "./") {
			a.Writes = append(a.Writes, clean)
		} else {
			a.Perhaps = append(a.Perhaps, clean)
		}
	}
	return a
}
