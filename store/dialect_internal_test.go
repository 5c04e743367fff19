package store

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryConstantStatementIsPrepared: the database takes each statement that is written as one
// constant in this package, so that none depends on a test that happens to run it.
func TestEveryConstantStatementIsPrepared(t *testing.T) {
	db, err := Open(t.Context(), Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list := constantStatements(t)
	if len(list) < 150 {
		t.Errorf("only %d statements were found", len(list))
	}
	for query, at := range list {
		// Compiled but not carried out, as its program is all that is asked for.
		rows, err := db.engine.reads().QueryContext(t.Context(), "EXPLAIN "+db.engine.bind(query), make([]any, parameters(query))...)
		if err != nil {
			t.Errorf("%s: %s: %v", at, query, err)
			continue
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Errorf("%s: %s: %v", at, query, err)
		}
		if word.MatchString(db.engine.bind(query)) {
			t.Errorf("%s: %s: a word has no translation", at, query)
		}
	}
}

var word = regexp.MustCompile(`\{[a-z][a-z ]*\}`)

var parameter = regexp.MustCompile(`\?(\d*)`)

// parameters is how many arguments a statement takes.
func parameters(query string) (n int) {
	for _, m := range parameter.FindAllStringSubmatch(sqliteWords.Replace(query), -1) {
		if i, err := strconv.Atoi(m[1]); err == nil {
			n = max(n, i)
		} else {
			n++
		}
	}
	return n
}

var statement = regexp.MustCompile(`^\s*((SELECT|INSERT|UPDATE|DELETE|WITH)\s|\{unindex\})`)

// constantStatements are the statements of this package's files that are constants as a whole,
// with their places. A constant that is only a part of one is not among them.
func constantStatements(t *testing.T) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_windows.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	// Other packages are not needed to add up texts.
	conf := types.Config{Importer: noPackages{}, Error: func(error) {}}
	conf.Check("store", fset, files, info)
	list := map[string]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				_, declares := n.(*ast.GenDecl)
				return !declares || n.(*ast.GenDecl).Tok != token.CONST
			}
			if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.ADD && info.Types[e].Value == nil {
				return false // composed
			}
			if v := info.Types[e].Value; v != nil && v.Kind() == constant.String {
				if s := constant.StringVal(v); statement.MatchString(s) {
					list[s] = fset.Position(e.Pos()).String()
				}
				return false
			}
			return true
		})
	}
	return list
}

type noPackages struct{}

func (noPackages) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }
