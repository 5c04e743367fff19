package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	systemWrite = "writing into a folder of the system or a start-up file of the shell"
	preloading  = "loading a library into other programs"
	multiplies  = "it starts copies of itself without end"
)

// destructive describes the damage a program would do, given its name and arguments.
func destructive(c call) string {
	switch {
	case c.name == "rm" && c.flag("rR", "--recursive") && slices.ContainsFunc(c.operands(), wholeFolder):
		return "deleting a whole system or home folder"
	case c.name == "dd" && slices.ContainsFunc(c.args, func(w word) bool { return strings.HasPrefix(w.text, "if=") }):
		return "copying raw devices with dd"
	case c.name == "mkfs" || strings.HasPrefix(c.name, "mkfs."):
		return "making a file system"
	case readsFiles(c.name) && slices.ContainsFunc(c.args, func(w word) bool { return shadow(w.text) }):
		return "reading the password file"
	case c.name == "tee" && slices.ContainsFunc(c.operands(), protected):
		return systemWrite
	}
	return ""
}

func shadow(file string) bool { return path.Clean(file) == "/etc/shadow" }

func readsFiles(name string) bool {
	switch name {
	case "cat", "tac", "nl", "less", "more", "head", "tail", "cp", "mv", "strings", "xxd", "od", "hexdump", "base64",
		"grep", "awk", "sed", "cut", "sort":
		return true
	}
	return false
}

// home strips a reference to the home folder.
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

// wholeFolder reports whether a path is the root, a home folder or all of their content.
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

// protected reports whether writing to a path changes the system or the startup of shells.
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

// environment reports whether a text names the environment of a process.
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

// preloads reports whether a text sets a variable that makes the loader inject code.
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

// startsItself reports whether the body of a function starts it in the background or twice in a pipe: a fork bomb.
func (j *judge) startsItself(name string, body *syntax.Stmt) bool {
	times := func(n syntax.Node) (count int) {
		for c := range j.calls(n) {
			if c.name == name {
				count++
			}
		}
		return count
	}
	found := false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.Word, *syntax.FuncDecl:
			return false
		case *syntax.Stmt:
			found = found || n.Background && times(n) > 0
		case *syntax.BinaryCmd:
			found = found || (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && times(n) > 1
		}
		return !found && !j.tooComplex(1)
	})
	return found
}

// forever reports whether a loop has no end: "while true", "while :" or "until false".
func forever(loop *syntax.WhileClause) bool {
	switch cond := loop.Cond[0].Cmd.(type) {
	case *syntax.CallExpr:
		if len(cond.Args) == 0 {
			return false
		}
		name := cond.Args[0].Lit()
		return loop.Until && name == "false" || !loop.Until && (name == "true" || name == ":")
	case *syntax.ArithmCmd:
		one, ok := cond.X.(*syntax.Word)
		return ok && !loop.Until && one.Lit() == "1"
	}
	return false
}

// waitless reports whether the body of a loop ends with a command it does not wait for.
func waitless(body []*syntax.Stmt) bool {
	return len(body) > 0 && body[len(body)-1].Background
}
