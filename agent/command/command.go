// Package command judges shell commands before they run: which are the well-known ways to ruin a machine, or to run
// code from the network unseen. mvdan.cc/sh parses the commands; this package holds the rules. It only judges text:
// running and blocking commands is up to the caller.
package command

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Level is the consequence for a command.
type Level string

// Levels of a [Verdict].
const (
	Pass  Level = "pass"
	Warn  Level = "warn"  // it runs, and the result carries a note
	Block Level = "block" // is not executed
)

// Verdict is the result of [Judge]. Reason is a clause for people and models; a passing command has none.
type Verdict struct {
	Level  Level
	Reason string
}

const (
	maxLength = 10_000    // characters
	maxDepth  = 40        // scripts in the arguments of scripts
	maxWork   = 1_000_000 // limit of bytes and nodes examined; nested scripts are read more than once
)

// TooLong is the reason for blocking a command of more than 10,000 characters.
const TooLong = "command too long"

// Judge checks a shell command before it runs. It backs up the sandbox but isn't a security boundary: a deliberate
// author can write commands that it doesn't understand.
func Judge(command string) Verdict {
	switch {
	case strings.TrimSpace(command) == "":
		return Verdict{Block, "empty command"}
	case len(command) > maxLength && utf8.RuneCountInString(command) > maxLength:
		return Verdict{Block, TooLong}
	case strings.IndexByte(command, 0) >= 0:
		return Verdict{Block, "null byte detected"}
	}
	var j judge
	j.script(command)
	// The parser takes CR LF for the end of a line; to the shell a CR is a letter like
	// others, which a backslash or the end word of a here-document may turn on.
	if strings.Contains(command, "\r") {
		j.script(strings.ReplaceAll(command, "\r", "\x7f"))
	}
	switch {
	case j.block != "":
		return Verdict{Block, j.block}
	case len(j.warn) > 0:
		return Verdict{Warn, strings.Join(j.warn, "; ")}
	}
	return Verdict{Level: Pass}
}

// judge collects the findings of one command.
type judge struct {
	block string // the first reason
	warn  []string
	depth int
	work  int
}

// tooComplex reports whether a command is too complex to judge; it is blocked then.
func (j *judge) tooComplex(n int) bool {
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

// call judges one simple command, excluding the content of its words.
func (j *judge) call(c call) {
	if j.tooComplex(1 + len(c.args)) {
		return
	}
	if reason := destructive(c); reason != "" {
		j.no(reason)
	}
	if c.first != nil {
		j.runs(c)
	}
	j.notes(c)
}

const unseen = "running code from elsewhere unseen"

// runs judges the output that a command executes.
func (j *judge) runs(c call) {
	if c.first.leads != nil && j.risky(c.first.leads) {
		j.no(unseen)
	}
	switch {
	case c.name == "eval" || c.name == "source" || c.name == ".":
		if slices.ContainsFunc(c.args, j.brings) {
			j.no(unseen)
		}
		if c.name == "eval" {
			j.script(texts(c.args))
		}
	case isInterpreter(c.name):
		for _, w := range c.code() {
			if j.brings(w) {
				j.no(unseen)
			}
			if isShell(c.name) {
				j.script(w.text)
			}
		}
		for _, w := range c.args {
			if strings.HasPrefix(w.text, "<(") && j.brings(w) {
				j.no(unseen)
			}
		}
	case c.name == "find":
		j.found(c.args)
	case c.name == "su":
		for i, w := range c.args {
			if text, ok := strings.CutPrefix(w.text, "--command="); ok {
				j.script(text)
			} else if (w.text == "-c" || w.text == "--command") && i+1 < len(c.args) {
				j.script(c.args[i+1].text)
			}
		}
	case c.name == "trap" && len(c.args) > 1:
		j.script(c.operands()[0])
	case c.name == "alias":
		for _, w := range c.args {
			if _, text, ok := strings.Cut(w.text, "="); ok {
				j.script(text)
			}
		}
	case computes(c.name):
		for _, w := range c.args {
			j.subscripts(w.text)
		}
	}
}

// found judges the commands that find runs.
func (j *judge) found(args []word) {
	for i := 0; i < len(args) && !j.tooComplex(1); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
			run := args[i+1:]
			if n := slices.IndexFunc(run, func(w word) bool { return w.text == ";" || w.text == "+" }); n >= 0 {
				run = run[:n]
			}
			j.call(resolve(nil, run))
			i += len(run)
		}
	}
}

// computes reports whether a builtin takes variable names, whose subscripts the shell evaluates even if quoted.
func computes(name string) bool {
	switch name {
	case "let", "declare", "typeset", "local", "export", "readonly", "unset", "read", "printf", "test", "[", "mapfile":
		return true
	}
	return false
}

// subscripts judges the substitutions in a text that the shell reads as arithmetic.
func (j *judge) subscripts(text string) {
	if !strings.Contains(text, "[") || !strings.ContainsAny(text, "$`") || j.tooComplex(len(text)) {
		return
	}
	doc, err := syntax.NewParser().Document(strings.NewReader(text))
	if err != nil || doc == nil {
		j.unread(text)
		return
	}
	for _, part := range doc.Parts {
		j.node(part)
	}
}

// redirect judges the redirections of a command or group.
func (j *judge) redirect(r *syntax.Redirect, s *syntax.Stmt) {
	target := j.render(r.Word)
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
	default:
		if protected(target.text) {
			j.no(systemWrite)
		}
		return
	}
	if r.Op == syntax.RdrIn && shadow(target.text) {
		j.no("reading the password file")
	}
	if r.Op == syntax.DplIn || s.Cmd == nil {
		return
	}
	input := target
	if r.Hdoc != nil {
		input = j.render(r.Hdoc)
	}
	for c := range j.calls(s.Cmd) {
		switch {
		case !isInterpreter(c.name) && !c.readsScript():
		case j.brings(input):
			j.no(unseen)
		case r.Op == syntax.RdrIn: // a plain file
		case c.readsScript():
			j.script(input.text)
		default:
			j.text(input.text)
		}
	}
}

// notes adds remarks about commands with unexpected behavior.
func (j *judge) notes(c call) {
	operands := c.operands()
	first := ""
	if len(operands) > 0 {
		first = operands[0]
	}
	pip := c.name == "pip" || c.name == "pip3" || strings.HasPrefix(c.name, "pip3.")
	module := isPython(c.name) && slices.ContainsFunc(c.args, func(w word) bool { return w.text == "-m" })
	switch {
	case slices.Contains(c.through, "sudo") || c.name == "sudo" || c.name == "su":
		j.mind("it asks for another user's rights")
	case c.name == "chmod" && slices.ContainsFunc(operands, openToAll):
		j.mind("it lets everybody change files")
	case pip && first == "install",
		module && first == "pip" && len(operands) > 1 && operands[1] == "install":
		j.mind("it installs Python packages")
	case (c.name == "apt" || c.name == "apt-get") && slices.Contains(operands, "install"):
		j.mind("it installs system packages")
	}
	set := c.assigned
	switch c.name {
	case "export", "declare", "typeset", "local", "readonly":
		set = slices.Concat(set, c.args)
	}
	for _, w := range set {
		if strings.HasPrefix(w.text, "PATH=") || strings.HasPrefix(w.text, "PATH+=") {
			j.mind("it changes where programs are looked for")
		}
	}
}

func openToAll(mode string) bool {
	switch mode {
	case "a+rwx", "ugo+rwx", "+rwx", "a=rwx":
		return true
	}
	return strings.TrimLeft(mode, "0") == "777"
}
