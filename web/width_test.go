package web_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	widest    = 120 // columns of a line
	tabWidth  = 4   // columns of a tab
	longText  = 90  // a string literal of so many columns may stand where it stands ...
	aroundIt  = 40  // ... if what else is on its line is no wider than this
	fewestRow = 2   // elements that make a table
)

// TestLinesFit: who reads code beside other code sees whole lines. Tables with one row a line, structs with tags and
// long texts may be wider, because they read worse when they are broken.
func TestLinesFit(t *testing.T) {
	for name, text := range sources(t) {
		for _, line := range wideLines(t, name, text) {
			t.Errorf("%s:%d is wider than %d columns", name, line, widest)
		}
	}
}

// sources are the files of Go and templ that are written by hand, by their paths in the repository.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch ext := filepath.Ext(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" ||
			name == "bin"):
			return fs.SkipDir
		case d.IsDir(), ext != ".go" && ext != ".templ", strings.HasSuffix(name, "_templ.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wideLines are the numbers of the lines of a file that are to be broken.
func wideLines(t *testing.T, name, text string) []int {
	t.Helper()
	lines := strings.Split(text, "\n")
	var wide []int
	for n, line := range lines {
		if columns(line) > widest {
			wide = append(wide, n+1)
		}
	}
	if len(wide) == 0 || strings.HasSuffix(name, ".templ") {
		return wide
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(file) {
		return nil
	}
	excused := excuses(files, file, lines)
	return slices.DeleteFunc(wide, func(n int) bool { return excused[n] })
}

// columns are those that an editor shows of a line.
func columns(line string) int {
	return utf8.RuneCountInString(line) + strings.Count(line, "\t")*(tabWidth-1)
}

// excuses are the numbers of the lines that may be wide.
func excuses(files *token.FileSet, file *ast.File, lines []string) map[int]bool {
	excused := map[int]bool{}
	span := func(n ast.Node) (int, int) {
		return files.Position(n.Pos()).Line, files.Position(n.End()).Line
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for _, row := range rows(n.Elts, span) {
				excused[row] = true
			}
		case *ast.Field:
			if n.Tag != nil {
				line, _ := span(n.Tag)
				excused[line] = true
			}
		case *ast.BasicLit:
			first, last := span(n)
			for i, piece := range strings.Split(n.Value, "\n") {
				line, width := first+i, columns(piece)
				inside := line > first && line < last
				if inside || width >= longText && columns(lines[line-1])-width <= aroundIt {
					excused[line] = true
				}
			}
		}
		return true
	})
	return excused
}

// rows are the lines that are one row each of a table: elements of one kind, each alone on its line.
func rows(elements []ast.Expr, span func(ast.Node) (int, int)) []int {
	kinds := map[string]int{}
	on := map[int]int{}
	for _, e := range elements {
		first, last := span(e)
		kinds[kind(e)]++
		on[first]++
		if last != first {
			on[last]++
		}
	}
	var lines []int
	for _, e := range elements {
		first, last := span(e)
		if k := kind(e); k != "" && kinds[k] >= fewestRow && first == last && on[first] == 1 {
			lines = append(lines, first)
		}
	}
	return lines
}

// kind is what the elements of a table have in common. The fields of a struct have nothing.
func kind(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.KeyValueExpr:
		_, named := e.Key.(*ast.Ident)
		if c, ok := e.Value.(*ast.CompositeLit); named && (!ok || c.Type != nil) {
			return "" // a value without a type of its own is none of a field
		}
		return "entry of a map"
	case *ast.BasicLit, *ast.BinaryExpr:
		return "text"
	}
	return fmt.Sprintf("%T", e)
}
