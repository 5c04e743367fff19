// Command report runs go test -json and prints a line as each package ends, the output of failed tests, and at the
// end how many tests passed, failed and were skipped, with the reasons.
//
// Usage: report go test -json [flags] packages
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64 // seconds
}

// name identifies a test.
type name struct{ pkg, test string }

// report adds up the events of a run.
type report struct {
	out                     io.Writer
	output                  map[name][]string // of unfinished tests and packages; of builds, by import path
	parents                 map[name]bool     // tests with subtests
	failures                []failure
	passed, failed, skipped int
	reasons                 map[string]int // number of tests skipped for each reason
	slowest                 []ended
}

// failure is a failed test, or a package that wasn't built or ended in the middle of a test.
type failure struct {
	name string
	said []string // the last lines it logged from its own files
}

type ended struct {
	name    name
	seconds float64
}

func main() {
	env := os.Args[1:]
	args := env
	for len(args) > 0 && strings.Contains(args[0], "=") {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: report [NAME=value ...] go test -json [flags] packages")
		os.Exit(2)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env[:len(env)-len(args)]...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	r := &report{out: os.Stdout, output: map[name][]string{}, parents: map[name]bool{}, reasons: map[string]int{}}
	began := time.Now()
	r.read(pipe)
	err = cmd.Wait()
	r.close(time.Since(began), err)
	if err != nil || r.failed > 0 {
		os.Exit(1)
	}
}

// read handles every line; lines that aren't events are printed.
func (r *report) read(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 {
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.add(e)
			} else {
				fmt.Fprintf(r.out, "%s", line)
			}
		}
		if err != nil {
			return
		}
	}
}

func (r *report) add(e event) {
	at := name{cmp.Or(e.Package, e.ImportPath), e.Test}
	switch e.Action {
	case "output", "build-output":
		r.output[at] = append(r.output[at], e.Output)
		return
	case "build-fail":
		fmt.Fprint(r.out, strings.Join(r.output[at], ""))
		return
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
			r.parents[name{e.Package, e.Test[:i]}] = true
		}
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	said := r.output[at]
	delete(r.output, at)
	if e.Test == "" {
		r.endPackage(e, said)
		return
	}
	if i := strings.LastIndexByte(e.Test, '/'); i > 0 && e.Action == "fail" {
		up := name{e.Package, e.Test[:i]}
		r.output[up] = append(r.output[up], said...) // printed with the whole test
	}
	r.slowest = append(r.slowest, ended{at, e.Elapsed})
	switch {
	case e.Action == "fail":
		r.failed++
		r.failures = append(r.failures, failure{e.Package + " " + e.Test, logged(said)})
		if !strings.Contains(e.Test, "/") {
			fmt.Fprint(r.out, strings.Join(said, ""))
		}
	case r.parents[at]: // its subtests count
	case e.Action == "pass":
		r.passed++
	default:
		r.skipped++
		r.reasons[reason(said)]++
	}
}

func (r *report) endPackage(e event, said []string) {
	switch e.Action {
	case "fail":
		if !slices.ContainsFunc(r.failures, func(f failure) bool { return strings.HasPrefix(f.name, e.Package+" ") }) {
			r.failed++ // it wasn't built, or ended in the middle of a test
			r.failures = append(r.failures, failure{name: e.Package})
			for at, rest := range r.output {
				if at.pkg == e.Package {
					fmt.Fprint(r.out, strings.Join(rest, ""))
				}
			}
			fmt.Fprint(r.out, strings.Join(said, ""))
		}
		fmt.Fprintf(r.out, "FAIL  %s  %.1fs\n", e.Package, e.Elapsed)
	case "pass":
		cached := ""
		if strings.Contains(strings.Join(said, ""), "(cached)") {
			cached = "  (cached)"
		}
		fmt.Fprintf(r.out, "ok    %s  %.1fs%s\n", e.Package, e.Elapsed, cached)
	}
}

var place = regexp.MustCompile(`^\s*[\w./-]+\.go:\d+: `)

// logged returns the lines of t.Error and t.Log, the last of them last: the output of a failed test may end with pages
// of a server's log.
func logged(said []string) (list []string) {
	for _, line := range said {
		if place.MatchString(line) {
			list = append(list, fmt.Sprintf("%.400s", strings.TrimSpace(line)))
		}
	}
	return list[max(0, len(list)-maxLogged):]
}

// maxLogged limits the lines of a failed test repeated at the end.
const maxLogged = 25

// reason returns the text that a test passed to Skip.
func reason(said []string) string {
	for _, line := range said {
		if at := place.FindString(line); at != "" {
			return strings.TrimSpace(line[len(at):])
		}
	}
	return "no reason given"
}

// close prints the slowest tests if FAWN_SLOWEST is set, the reasons of skipped tests, failures, and the counts.
func (r *report) close(took time.Duration, err error) {
	if os.Getenv("FAWN_SLOWEST") != "" {
		slices.SortFunc(r.slowest, func(a, b ended) int { return cmp.Compare(b.seconds, a.seconds) })
		for _, s := range r.slowest[:min(40, len(r.slowest))] {
			fmt.Fprintf(r.out, "%6.1fs  %s %s\n", s.seconds, s.name.pkg, s.name.test)
		}
	}
	fmt.Fprintf(r.out, "\n%d s\n", int(took.Seconds()))
	often := slices.SortedFunc(maps.Keys(r.reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.reasons[b], r.reasons[a]), cmp.Compare(a, b))
	})
	for _, why := range often {
		fmt.Fprintf(r.out, "skipped %4d: %s\n", r.reasons[why], why)
	}
	for _, f := range r.failures {
		fmt.Fprintln(r.out, "failed:", f.name)
		for _, line := range f.said {
			fmt.Fprintln(r.out, "    ", line)
		}
	}
	if err != nil && r.failed == 0 {
		fmt.Fprintln(r.out, "failed:", err)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
