package middleware

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Level says what becomes of a command.
type Level string

// Levels of a [Verdict].
const (
	Pass  Level = "pass"
	Warn  Level = "warn"  // it runs, and the result carries a note
	Block Level = "block" // it does not run
)

// Verdict is what [Judge] thinks of a command. Reason is a clause for people and models;
// a command that passes has none.
type Verdict struct {
	Level  Level
	Reason string
}

const (
	maxCommand = 10_000  // characters
	maxWork    = 500_000 // bytes and commands looked at: scripts in scripts are read more than once
)

const tooLong = "command too long"

// Judge looks at a shell command before it runs: whether it is one of the well-known ways
// to ruin a machine, or to run code from the network unseen. It is a second line behind
// the sandbox, not a wall: whoever wants to can write a command that it does not
// understand. It only reads text.
func Judge(command string) Verdict {
	switch {
	case strings.TrimSpace(command) == "":
		return Verdict{Block, "empty command"}
	case len(command) > maxCommand && utf8.RuneCountInString(command) > maxCommand:
		return Verdict{Block, tooLong}
	case strings.IndexByte(command, 0) >= 0:
		return Verdict{Block, "null byte detected"}
	}
	var j judge
	cmds, rest, ok := lexShell(command)
	j.script(cmds)
	if !ok {
		j.unread(rest)
	}
	switch {
	case j.block != "":
		return Verdict{Block, j.block}
	case len(j.warn) > 0:
		return Verdict{Warn, strings.Join(j.warn, "; ")}
	}
	return Verdict{Level: Pass}
}

// judge collects what was found in one command.
type judge struct {
	block string // the first reason
	warn  []string
	depth int
	work  int
}

// tired tells whether a command is too tangled to be judged, and blocks it then.
func (j *judge) tired(n int) bool {
	if j.work += n; j.work > maxWork {
		j.no("too many commands inside commands")
	}
	return j.block != ""
}

func (j *judge) no(reason string) {
	if j.block == "" {
		j.block = reason
	}
}

func (j *judge) mind(note string) {
	if !slices.Contains(j.warn, note) {
		j.warn = append(j.warn, note)
	}
}

// script judges commands that run one after the other.
func (j *judge) script(cmds []simple) {
	defer func() { j.depth-- }()
	if j.depth++; j.depth > maxLexDepth || j.tired(len(cmds)) {
		return
	}
	if multiplies(cmds) {
		j.no("it starts copies of itself without end")
	}
	for _, c := range cmds {
		j.simple(c)
		for _, w := range c.words {
			j.word(w)
		}
		for _, r := range c.redirects {
			j.word(r.target)
		}
	}
}

func (j *judge) word(w word) {
	if strings.Contains(w.text, "/dev/tcp/") || strings.Contains(w.text, "/dev/udp/") {
		j.no("a network connection opened by the shell")
	}
	if environment(w.text) {
		j.no("reading the environment of a process")
	}
	if preloads(w.text) {
		j.no("loading a library into other programs")
	}
	for _, s := range w.subst {
		j.script(s.cmds)
	}
}

// text judges a script that is data to the one around it.
func (j *judge) text(script string) {
	if j.tired(len(script)) {
		return
	}
	cmds, rest, ok := lexShell(script)
	j.script(cmds)
	if !ok {
		j.unread(rest)
	}
}

// unread judges text that is no valid script. Wherever a command could start in it, one is
// assumed: the shell may stop reading elsewhere.
func (j *judge) unread(text string) {
	plain := strings.NewReplacer(`"`, "", `'`, "", `\`, "", "`", "\n").Replace(text)
	var words []word
	before := ""
	start := 0
	for i := 0; i <= len(plain); i++ {
		if i < len(plain) && strings.IndexByte(";&|()\n", plain[i]) < 0 {
			continue
		}
		words = words[:0:0]
		for _, f := range strings.Fields(plain[start:i]) {
			words = append(words, word{text: f, bare: true})
		}
		for n, w := range words {
			j.word(w)
			if c := resolve(words[n:]); n == 0 || destructive(c) != "" {
				j.simple(simple{before: before, words: words[n:]})
			}
		}
		if i < len(plain) {
			before, start = string(plain[i]), i+1
		}
	}
}

// simple judges one command without what is inside its words.
func (j *judge) simple(s simple) {
	c := resolve(s.words)
	if reason := destructive(c); reason != "" {
		j.no(reason)
	}
	for _, r := range s.redirects {
		if strings.HasPrefix(r.op, "<") && r.op != "<>" {
			j.input(c, r)
		} else if protected(r.target.text) {
			j.no("writing into a folder of the system or a start-up file of the shell")
		}
	}
	if s.before == "|" && (isShell(c.name)) && !slices.Contains(c.through, "xargs") {
		j.no("output piped into a shell")
	}
	if s.after == "|" && c.name == "base64" && c.flag("dD", "--decode") {
		j.no("decoded data piped into a program")
	}
	if c.first != nil {
		j.program(c)
	}
	j.notes(c)
	if c.name == "find" {
		j.found(c.args)
	}
}

// found judges the commands that find runs.
func (j *judge) found(args []word) {
	for i := 0; i < len(args) && !j.tired(1); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
			run := args[i+1:]
			if n := slices.IndexFunc(run, func(w word) bool { return w.text == ";" || w.text == "+" }); n >= 0 {
				run = run[:n]
			}
			j.simple(simple{words: run})
			i += len(run)
		}
	}
}

// program judges what a command has run.
func (j *judge) program(c call) {
	const unseen = "running code from elsewhere unseen"
	if s := c.first.subst; len(s) > 0 && s[0].at == 0 && s[0].risky() {
		j.no(unseen)
	}
	switch {
	case c.name == "eval" || c.name == "source" || c.name == ".":
		if slices.ContainsFunc(c.args, word.risky) {
			j.no(unseen)
		}
		if c.name == "eval" {
			var code []string
			for _, w := range c.args {
				code = append(code, w.text)
			}
			j.text(strings.Join(code, " "))
		}
	case isInterpreter(c.name):
		for _, w := range c.code() {
			if w.risky() {
				j.no(unseen)
			}
			if isShell(c.name) {
				j.text(w.text)
			}
		}
		for _, w := range c.args {
			if strings.HasPrefix(w.text, "<(") && w.risky() {
				j.no(unseen)
			}
		}
	case c.name == "su":
		for i, w := range c.args {
			if w.text == "-c" && i+1 < len(c.args) {
				j.text(c.args[i+1].text)
			}
		}
	}
}

// input judges what a command reads from a redirection.
func (j *judge) input(c call, r *redirect) {
	if path.Clean(r.target.text) == "/etc/shadow" {
		j.no("reading the password file")
	}
	if !isInterpreter(c.name) || r.op == "<&" {
		return
	}
	text := r.body
	if r.op == "<<<" {
		text = r.target.text
	}
	switch {
	case r.target.risky():
		j.no("running code from elsewhere unseen")
	case isShell(c.name) && len(c.operands()) == 0:
		j.text(text)
	default:
		j.word(word{text: text})
	}
}

// notes tells about commands that run, but not as people may expect.
func (j *judge) notes(c call) {
	operands := c.operands()
	first := ""
	if len(operands) > 0 {
		first = operands[0]
	}
	pip := c.name == "pip" || c.name == "pip3" || strings.HasPrefix(c.name, "pip3.")
	switch {
	case slices.Contains(c.through, "sudo") || c.name == "sudo" || c.name == "su":
		j.mind("it asks for another user's rights")
	case c.name == "chmod" && slices.ContainsFunc(operands, openToAll):
		j.mind("it lets everybody change files")
	case pip && first == "install",
		isPython(c.name) && len(operands) > 1 && operands[1] == "install" && slices.ContainsFunc(c.args, func(w word) bool { return w.text == "-m" }) && first == "pip":
		j.mind("it installs Python packages")
	case (c.name == "apt" || c.name == "apt-get") && slices.Contains(operands, "install"):
		j.mind("it installs system packages")
	}
	for _, w := range slices.Concat(c.assigned, exported(c)) {
		if strings.HasPrefix(w.text, "PATH=") || strings.HasPrefix(w.text, "PATH+=") {
			j.mind("it changes where programs are looked for")
		}
	}
}

func exported(c call) []word {
	switch c.name {
	case "export", "declare", "typeset", "local", "readonly":
		return c.args
	}
	return nil
}

func openToAll(mode string) bool {
	return strings.TrimLeft(mode, "0") == "777" || mode == "a+rwx" || mode == "ugo+rwx" || mode == "+rwx" || mode == "a=rwx"
}
