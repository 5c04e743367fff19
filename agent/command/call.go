package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is a simple command as it will run, without wrappers around the program.
type call struct {
	assigned []word // leading assignments
	through  []string
	name     string // name of the program, without folders; "" if the shell computes it
	first    *word  // position of the name; nil without a program
	args     []word
}

// wrapped returns the options with a value of a program that runs another one.
func wrapped(name string) (options string, ok bool) {
	switch name {
	case "sudo":
		return "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --close-from --role --type " +
			"--command-timeout --other-user --chdir --chroot", true
	case "doas":
		return "-u -C", true
	case "env":
		return "-u -C --unset --chdir", true
	case "nice":
		return "-n --adjustment", true
	case "ionice":
		return "-c -n --class --classdata", true
	case "timeout":
		return "-s -k --signal --kill-after", true
	case "xargs":
		return "-I -n -P -d -L -s -a -E --replace --max-args --max-procs --delimiter --max-lines --max-chars --arg-file", true
	case "exec":
		return "-a", true
	case "stdbuf":
		return "-i -o -e --input --output --error", true
	case "time":
		return "-f -o --format --output", true
	case "command", "builtin", "nohup", "setsid", "busybox", "toybox", "chroot", "unshare":
		return "", true
	}
	return "", false
}

// resolve finds the program of a simple command.
func (j *judge) resolve(c *syntax.CallExpr) call {
	var assigned, words []word
	for _, a := range c.Assigns {
		assigned = append(assigned, j.assigned(a))
	}
	for _, w := range c.Args {
		words = append(words, j.expand(w)...)
	}
	return resolve(assigned, words)
}

// declared returns a command such as export as a call.
func (j *judge) declared(d *syntax.DeclClause) call {
	words := []word{{text: d.Variant.Value}}
	for _, a := range d.Args {
		words = append(words, j.assigned(a))
	}
	return resolve(nil, words)
}

func (j *judge) assigned(a *syntax.Assign) word {
	w := j.render(a.Value)
	if a.Name == nil {
		return w
	}
	name := a.Name.Value
	switch {
	case a.Append:
		name += "+="
	case !a.Naked:
		name += "="
	}
	return word{text: name + w.text, subst: w.subst}
}

// resolve finds the program of a command by its words.
func resolve(assigned, words []word) call {
	c := call{assigned: assigned}
	words = fields(words)
	for len(words) > 0 {
		w := words[0]
		if len(c.through) > 0 && assignment(w.text) {
			c.assigned, words = append(c.assigned, w), words[1:]
			continue
		}
		name := path.Base(w.text)
		options, ok := wrapped(name)
		if !ok || len(words) == 1 {
			c.first, c.name, c.args = &words[0], name, words[1:]
			return c
		}
		c.through = append(c.through, name)
		if name == "env" {
			words = splitString(words)
		}
		words = skipOptions(words[1:], strings.Fields(options))
		if (name == "timeout" || name == "chroot") && len(words) > 1 {
			words = words[1:]
		}
	}
	return c
}

// splitString expands "env -S", whose value becomes several arguments.
func splitString(words []word) []word {
	for i := 1; i < len(words) && strings.HasPrefix(words[i].text, "-"); i++ {
		text, ok := strings.CutPrefix(words[i].text, "--split-string=")
		if short, found := strings.CutPrefix(words[i].text, "-"); !ok && found && !strings.HasPrefix(short, "-") {
			_, text, ok = strings.Cut(short, "S")
		}
		next := i + 1
		if ok && text == "" || words[i].text == "--split-string" {
			if next == len(words) {
				return words
			}
			text, ok, next = words[next].text, true, next+1
		}
		if ok {
			out := words[:1:1]
			for f := range strings.FieldsSeq(strings.NewReplacer(`"`, "", `'`, "").Replace(text)) {
				out = append(out, word{text: f})
			}
			return append(out, words[next:]...)
		}
	}
	return words
}

func skipOptions(words []word, valued []string) []word {
	for len(words) > 1 && strings.HasPrefix(words[0].text, "-") {
		option := words[0].text
		words = words[1:]
		if option == "--" {
			break
		}
		if len(words) > 1 && slices.Contains(valued, option) {
			words = words[1:]
		}
	}
	return words
}

// assignment reports whether a word sets a variable: NAME=…, NAME+=… or NAME[…]=….
func assignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	name = strings.TrimSuffix(name, "+")
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// fields splits words at occurrences of the field separator variable.
func fields(words []word) []word {
	if !slices.ContainsFunc(words, func(w word) bool { return strings.Contains(w.text, "IFS") }) {
		return words
	}
	split := strings.NewReplacer("${IFS}", " ", "$IFS$9", " ", "$IFS", " ")
	var out []word
	for _, w := range words {
		parts := strings.Fields(split.Replace(w.text))
		if len(parts) < 2 {
			out = append(out, w)
			continue
		}
		for i, p := range parts {
			part := word{text: p, subst: w.subst}
			if i == 0 {
				part.leads = w.leads
			}
			out = append(out, part)
		}
	}
	return out
}

// isShell reports whether a program reads shell scripts.
func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "ksh", "zsh", "ash", "rbash":
		return true
	}
	return false
}

// isInterpreter reports whether a program runs code it is given.
func isInterpreter(name string) bool {
	switch name {
	case "perl", "ruby", "node", "php":
		return true
	}
	return isShell(name) || isPython(name)
}

func isPython(name string) bool {
	version, ok := strings.CutPrefix(name, "python")
	return ok && strings.Trim(version, "0123456789.") == ""
}

// fetches reports whether a program downloads content, whose output must not be executed unseen.
func fetches(name string) bool {
	switch name {
	case "curl", "wget", "bash", "sh", "ruby", "perl", "base64":
		return true
	}
	return isPython(name)
}

// readsScript reports whether a command executes its standard input.
func (c call) readsScript() bool {
	operands := c.operands()
	input := func(file string) bool {
		return file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0"
	}
	switch {
	case c.name == "source" || c.name == ".":
		return len(operands) > 0 && input(operands[0])
	case !isShell(c.name) || slices.Contains(c.through, "xargs") || len(c.code()) > 0:
		return false
	}
	return len(operands) == 0 || operands[0] == "-" || input(operands[0]) || c.flag("s", "")
}

// code lists the arguments that an interpreter executes: those after -c, -e, -p and -r, also if the letter is combined
// with others (-lc) or directly followed by the program.
func (c call) code() []word {
	var out []word
	for i := 0; i < len(c.args); i++ {
		text := c.args[i].text
		if len(text) < 2 || text[0] != '-' && text[0] != '+' {
			return out
		}
		at := strings.IndexAny(text[1:], codeLetters(c.name)) + 1
		last := at == len(text)-1
		switch {
		case text == "--eval" || text == "--print":
			last = true
		case text == "--rcfile" || text == "--init-file":
			i++
			continue
		case strings.HasPrefix(text, "--"):
			if strings.HasPrefix(text, "--eval=") || strings.HasPrefix(text, "--print=") {
				out = append(out, c.args[i])
			}
			continue
		case isShell(c.name) && at > 0:
			if len(c.args[i].subst) > 0 {
				out = append(out, c.args[i])
			}
			for i+1 < len(c.args) && strings.HasPrefix(c.args[i+1].text, "-") {
				i++
			}
			if i+1 < len(c.args) {
				out = append(out, c.args[i+1])
			}
			return out
		case at == 0:
			if strings.IndexByte(valuedLetters(c.name), text[len(text)-1]) >= 0 {
				i++
			}
			continue
		}
		if !last {
			out = append(out, c.args[i])
		} else if i++; i < len(c.args) {
			out = append(out, c.args[i])
		}
	}
	return out
}

// codeLetters returns the options of an interpreter that supply a program.
func codeLetters(name string) string {
	switch name {
	case "perl", "ruby":
		return "eE"
	case "node":
		return "ep"
	case "php":
		return "r"
	}
	return "c"
}

// valuedLetters returns the options whose value is the next argument.
func valuedLetters(name string) string {
	switch name {
	case "perl":
		return "I"
	case "ruby":
		return "rIC"
	case "node":
		return "rC"
	case "php":
		return "dcz"
	}
	if isShell(name) {
		return "oO"
	}
	return "WXQ"
}

// operands returns the arguments that aren't options.
func (c call) operands() []string {
	var out []string
	for i, w := range c.args {
		if w.text == "--" {
			for _, w := range c.args[i+1:] {
				out = append(out, w.text)
			}
			break
		}
		if !strings.HasPrefix(w.text, "-") || w.text == "-" {
			out = append(out, w.text)
		}
	}
	return out
}

// flag reports whether a short option is among the letters, or a long one is given.
func (c call) flag(letters, long string) bool {
	for _, w := range c.args {
		switch {
		case w.text == "--":
			return false
		case strings.HasPrefix(w.text, "--"):
			if w.text == long {
				return true
			}
		case len(w.text) > 1 && w.text[0] == '-' && strings.ContainsAny(w.text[1:], letters):
			return true
		}
	}
	return false
}
