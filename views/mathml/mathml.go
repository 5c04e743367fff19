// Package mathml converts TeX formulas to MathML, which browsers render without a script.
//
// Temml, a JavaScript program, does the conversion in an interpreter started with the first formula. Formulas come from
// models and are untrusted: their length, nesting and time are limited, they can't define commands, and only listed
// elements and attributes of the result are kept.
package mathml

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
)

//go:embed temml.min.js
var program string

// MaxSource is the longest formula in bytes that is translated.
const MaxSource = 4 << 10

const (
	maxNesting = 60               // braces and environments within each other
	maxOutput  = 256 << 10        // bytes of MathML of one formula
	patience   = 30 * time.Second // no formula within the other limits comes close, even on a busy machine
	cacheBytes = 4 << 20
)

// ErrRefused is returned for a formula that is too long or slow, nests too deep, or defines commands.
var ErrRefused = errors.New("formula refused")

// Render converts a formula without its dollar signs to MathML, as display or inline. The result is one math element in
// the form browsers serialize. The error is ErrRefused, or a TeX error. Results depend only on the arguments and are
// cached.
func Render(tex string, display bool) (string, error) {
	if err := check(tex); err != nil {
		return "", err
	}
	return theEngine.render(formula{strings.Clone(tex), display}) // rendered formulas are kept, so don't retain a long text
}

// check refuses formulas that could take superlinear time or space.
func check(tex string) error {
	if len(tex) > MaxSource {
		return fmt.Errorf("%w: longer than %d bytes", ErrRefused, MaxSource)
	}
	depth := 0
	for i := 0; i < len(tex); i++ {
		switch tex[i] {
		case '{':
			depth++
		case '}':
			depth--
		case '\\':
			name := command(tex[i+1:])
			if defines(name) {
				return fmt.Errorf("%w: \\%s", ErrRefused, name)
			}
			switch name {
			case "left", "begin":
				depth++
			case "right", "end":
				depth--
			}
			i += max(len(name), 1)
		}
		if depth > maxNesting {
			return fmt.Errorf("%w: nests deeper than %d", ErrRefused, maxNesting)
		}
	}
	return nil
}

// command returns the name that s begins with, after a backslash.
func command(s string) string {
	n := 0
	for n < len(s) && (s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || s[n] == '@') {
		n++
	}
	return s[:n]
}

// defines matches commands by which a short text can expand.
func defines(name string) bool {
	switch name {
	case "def", "gdef", "edef", "xdef", "let", "futurelet", "global", "long", "newcommand", "renewcommand",
		"providecommand",
		"DeclareMathOperator", "char", "expandafter", "noexpand", "csname":
		return true
	}
	return strings.HasPrefix(name, "@")
}

type formula struct {
	tex     string
	display bool
}

type result struct {
	html string
	err  error
}

// engine is the interpreter with its cache; formulas are rendered one at a time.
type engine struct {
	mu    sync.Mutex
	call  goja.Callable // nil until the first formula
	vm    *goja.Runtime
	known map[formula]result
	bytes int // bytes of known formulas
}

var theEngine engine

func (e *engine) render(f formula) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r, ok := e.known[f]; ok {
		return r.html, r.err
	}
	var r result
	r.html, r.err = e.translate(f)
	size := 2*len(f.tex) + len(r.html) + 200
	if e.known == nil || e.bytes+size > cacheBytes {
		e.known, e.bytes = map[formula]result{}, 0
	}
	e.known[f] = r
	e.bytes += size
	return r.html, r.err
}

func (e *engine) translate(f formula) (string, error) {
	if e.call == nil {
		if err := e.start(); err != nil {
			return "", err
		}
	}
	late := time.AfterFunc(patience, func() { e.vm.Interrupt(ErrRefused) })
	v, err := e.call(goja.Undefined(), e.vm.ToValue(f.tex), e.vm.ToValue(f.display))
	if late.Stop() {
		e.vm.ClearInterrupt()
	} else {
		e.call = nil // the interruption may arrive late: this interpreter is unusable
	}
	if err != nil {
		var stopped *goja.InterruptedError
		var deep *goja.StackOverflowError
		if errors.As(err, &stopped) || errors.As(err, &deep) {
			return "", fmt.Errorf("%w: too much work", ErrRefused)
		}
		return "", fmt.Errorf("formula: %w", err)
	}
	out := v.String()
	if len(out) > maxOutput {
		return "", fmt.Errorf("%w: its MathML is longer than %d bytes", ErrRefused, maxOutput)
	}
	return sanitize(out, f)
}

func (e *engine) start() error {
	e.vm = goja.New()
	e.vm.SetMaxCallStackSize(2000)
	if _, err := e.vm.RunScript("temml.min.js", program); err != nil {
		return fmt.Errorf("start the translator of formulas: %w", err)
	}
	v, err := e.vm.RunString(`(tex, display) => temml.renderToString(tex, {displayMode: display, throwOnError: true, maxExpand: 500, maxSize: [40, 40]})`)
	if err != nil {
		return fmt.Errorf("start the translator of formulas: %w", err)
	}
	call, ok := goja.AssertFunction(v)
	if !ok {
		return errors.New("start the formula translator: it isn't a function")
	}
	e.call = call
	return nil
}
