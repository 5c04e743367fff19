// Command vet runs the checks of go vet for other systems. go vet compiles every dependency for each system, which
// takes eight minutes of processor time; this command reads them from source.
//
// Usage: vet SYSTEM/PROCESSOR...
package main

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/scannererr"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	failed := false
	for _, platform := range os.Args[1:] {
		fmt.Println("vet", platform)
		findings, err := check(platform, ".", "./...")
		for _, f := range findings {
			fmt.Fprintln(os.Stderr, f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "vet:", err)
		}
		failed = failed || err != nil || len(findings) > 0
		runtime.GC() // the next system needs the memory
	}
	if failed {
		os.Exit(1)
	}
}

// check vets the packages with their tests, as platform builds them. The findings are sorted, each once.
func check(platform, dir string, patterns ...string) ([]string, error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("%q isn't SYSTEM/PROCESSOR", platform)
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: dir, Tests: true,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, errors.New("there are no packages")
	}
	if packages.PrintErrors(pkgs) > 0 {
		return nil, errors.New("packages for " + platform + " have errors")
	}
	graph, err := checker.Analyze(analyzers(), pkgs, nil)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, fmt.Errorf("%s: %w", action, action.Err)
		}
		for _, d := range action.Diagnostics {
			found = append(found, place(action.Package.Fset, d.Pos)+": "+d.Message)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil // packages with tests are listed twice
}

// analyzers returns those of go vet. scannererr is left out for now: it also reports scanners of a process's lines, which
// may be cut off.
func analyzers() []*analysis.Analyzer {
	return slices.DeleteFunc(slices.Clone(vet.Suite), func(a *analysis.Analyzer) bool {
		return a == scannererr.Analyzer
	})
}

func place(files *token.FileSet, at token.Pos) string {
	p := files.Position(at)
	return fmt.Sprintf("%s:%d:%d", p.Filename, p.Line, p.Column)
}
