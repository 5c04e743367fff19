package middleware

import (
	"path"
	"slices"
	"strings"
)

// destructive names what a program would ruin or lay open, by its name and arguments.
func destructive(c call) string {
	switch {
	case c.name == "rm" && c.flag("rR", "--recursive") && slices.ContainsFunc(c.operands(), wholeFolder):
		return "deleting a whole system or home folder"
	case c.name == "dd" && slices.ContainsFunc(c.args, func(w word) bool { return strings.HasPrefix(w.text, "if=") }):
		return "copying raw devices with dd"
	case c.name == "mkfs" || strings.HasPrefix(c.name, "mkfs."):
		return "making a file system"
	case readsFiles(c.name) && slices.ContainsFunc(c.args, func(w word) bool { return path.Clean(w.text) == "/etc/shadow" }):
		return "reading the password file"
	case c.name == "tee" && slices.ContainsFunc(c.operands(), protected):
		return "writing into a folder of the system or a start-up file of the shell"
	}
	return ""
}

func readsFiles(name string) bool {
	switch name {
	case "cat", "tac", "nl", "less", "more", "head", "tail", "cp", "mv", "strings", "xxd", "od", "hexdump", "base64", "grep", "awk", "sed", "cut", "sort":
		return true
	}
	return false
}

// home takes off what stands for the home folder.
func home(p string) (rest string, ok bool) {
	for _, h := range []string{"~", "$HOME", "${HOME}", "/root"} {
		if rest, found := strings.CutPrefix(p, h); found && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	if rest, found := strings.CutPrefix(p, "/home/"); found {
		if _, rest, found := strings.Cut(rest, "/"); found {
			return "/" + rest, true
		}
	}
	return "", false
}

// wholeFolder tells whether a path is the root, a home folder or all of what they hold.
func wholeFolder(p string) bool {
	if p == "" {
		return false
	}
	if strings.HasPrefix(p, "/") {
		p = path.Clean(p)
	}
	if rest, ok := home(p); ok {
		rest = path.Clean("/" + rest)
		return rest == "/" || rest == "/*" || rest == "/.*"
	}
	switch p {
	case "/", "/*", "/.*", "/home", "/home/*":
		return true
	}
	return false
}

// protected tells whether writing to a path changes the system or what every shell runs.
func protected(p string) bool {
	if strings.HasPrefix(p, "/") {
		p = path.Clean(p)
	}
	for _, dir := range []string{"/etc/", "/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	rest, ok := home(p)
	switch path.Clean("/" + rest) {
	case "/.bashrc", "/.profile", "/.zshrc", "/.bash_profile":
		return ok
	}
	return false
}

// environment tells whether a text names the environment of a process.
func environment(text string) bool {
	for {
		_, after, ok := strings.Cut(text, "/proc/")
		if !ok {
			return false
		}
		text = after
		for {
			before, rest, ok := strings.Cut(after, "/environ")
			if !ok || strings.ContainsAny(before, " \t\n'\"") {
				break
			}
			if rest == "" || !letter(rest[0]) {
				return true
			}
			after = rest
		}
	}
}

// preloads tells whether a text sets what the loader puts into every program.
func preloads(text string) bool {
	for _, name := range []string{"LD_PRELOAD=", "LD_LIBRARY_PATH="} {
		if i := strings.Index(text, name); i == 0 || i > 0 && !letter(text[i-1]) {
			return true
		}
	}
	return false
}

func letter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// multiplies tells whether a script is a fork bomb: a function that starts itself in the
// background or twice in a pipe, or an endless loop that starts programs without waiting.
func multiplies(cmds []simple) bool {
	endless := false
	for i, c := range cmds {
		n := len(c.words)
		if n == 0 {
			continue
		}
		if c.after == "()" && selfStarting(c.words[n-1].text, cmds[i+1:]) {
			return true
		}
		if c.words[0].bare {
			if c.words[0].text == "function" && n > 2 {
				body := c
				body.words = c.words[2:]
				if selfStarting(c.words[1].text, append([]simple{body}, cmds[i+1:]...)) {
					return true
				}
			}
			endless = endless || forever(c.words)
			if c.words[0].text == "done" {
				if endless && c.before == "&" {
					return true
				}
				endless = false
			}
		}
	}
	return false
}

func forever(words []word) bool {
	if len(words) < 2 {
		return false
	}
	switch words[0].text {
	case "while":
		return words[1].text == "true" || words[1].text == ":" || words[1].text == "((1))"
	case "until":
		return words[1].text == "false"
	case "for":
		return strings.Join(strings.Fields(words[1].text), "") == "((;;))"
	}
	return false
}

// selfStarting tells whether the body of a function, which is what follows, starts it.
func selfStarting(name string, body []simple) bool {
	for i, c := range body {
		if i > 0 && len(c.words) > 0 && c.words[0].bare && c.words[0].text == "}" {
			return false
		}
		if resolve(c.words).name != name {
			continue
		}
		if c.after == "&" || c.after == "|" && i+1 < len(body) && resolve(body[i+1].words).name == name {
			return true
		}
	}
	return false
}
