package middleware

import (
	"path"
	"slices"
	"strings"
)

// call is a simple command as it will run: what stands around the program's name is
// taken off.
type call struct {
	assigned []word // assignments in front
	through  []string
	name     string // of the program, without folders; "" when the shell works it out first
	first    *word  // where the name stands; nil when there is no program
	args     []word
}

// keyword tells whether a word only opens or closes a part of a script.
func keyword(w word) bool {
	if !w.bare {
		return false
	}
	switch w.text {
	case "{", "}", "!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "coproc":
		return true
	}
	return false
}

// wrapped gives the options with a value of a program that runs another one.
func wrapped(name string) (options string, ok bool) {
	switch name {
	case "sudo":
		return "-u -g -h -p -C -r -t -T -U -D -R", true
	case "doas":
		return "-u -C", true
	case "env":
		return "-u -C", true
	case "nice":
		return "-n", true
	case "timeout":
		return "-s -k", true
	case "xargs":
		return "-I -n -P -d -L -s -a -E", true
	case "exec":
		return "-a", true
	case "stdbuf":
		return "-i -o -e", true
	case "time":
		return "-f -o", true
	case "command", "builtin", "nohup", "setsid", "busybox":
		return "", true
	}
	return "", false
}

// resolve finds the program of a command.
func resolve(words []word) call {
	var c call
	words = fields(words)
	for len(words) > 0 && keyword(words[0]) {
		words = words[1:]
	}
	for len(words) > 0 {
		w := words[0]
		if w.bare && assignment(w.text) {
			c.assigned, words = append(c.assigned, w), words[1:]
			continue
		}
		name := w.text
		if len(w.subst) == 0 {
			name = path.Base(name)
		}
		options, ok := wrapped(name)
		if !ok || len(words) == 1 {
			c.first, c.name, c.args = &words[0], name, words[1:]
			return c
		}
		c.through = append(c.through, name)
		words = skipOptions(words[1:], strings.Fields(options))
		if name == "timeout" && len(words) > 1 {
			words = words[1:]
		}
	}
	return c
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

// assignment tells whether a word sets a variable: NAME=…, NAME+=… or NAME[…]=….
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

// fields splits words where the variable that separates words stands in them.
func fields(words []word) []word {
	if !slices.ContainsFunc(words, func(w word) bool { return strings.Contains(w.text, "IFS") }) {
		return words
	}
	split := strings.NewReplacer("${IFS}", " ", "$IFS$9", " ", "$IFS", " ")
	var out []word
	for _, w := range words {
		parts := strings.Fields(split.Replace(w.text))
		if len(parts) < 2 || len(w.subst) > 0 {
			out = append(out, w)
			continue
		}
		for _, p := range parts {
			out = append(out, word{text: p, bare: w.bare})
		}
	}
	return out
}

// isShell tells whether a program reads shell scripts.
func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "ksh", "zsh", "ash", "rbash":
		return true
	}
	return false
}

// isInterpreter tells whether a program runs code it is given.
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

// fetches tells whether the output of a program should not be run unseen.
func fetches(name string) bool {
	switch name {
	case "curl", "wget", "bash", "sh", "ruby", "perl", "base64":
		return true
	}
	return isPython(name)
}

// risky tells whether a substitution brings text from elsewhere.
func (s subst) risky() bool {
	for _, c := range s.cmds {
		if r := resolve(c.words); fetches(r.name) {
			return true
		}
		for _, w := range c.words {
			if w.risky() {
				return true
			}
		}
	}
	return false
}

func (w word) risky() bool { return slices.ContainsFunc(w.subst, subst.risky) }

// code lists the words that an interpreter runs as programs: those behind -c, -e, -p and
// -r, also when the letter stands among others (-lc) or the program follows at once.
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
		case isShell(c.name):
			if text[len(text)-1] == 'o' { // its value follows
				i++
			}
			continue
		case at == 0:
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

// codeLetters are the options of an interpreter that bring a program.
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

// operands are the arguments that are no options.
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

// flag tells whether a short option is among the letters, or a long one is given.
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
