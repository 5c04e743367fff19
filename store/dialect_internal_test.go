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
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store/pgtest"
)

// TestEveryConstantStatementIsPrepared: each kind of database takes each statement that is written as one
// constant in this package, so that none depends on a test that happens to run it.
func TestEveryConstantStatementIsPrepared(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		prepareAll(t, Config{}, "box", "cluster")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		prepareAll(t, Config{URL: pgtest.Storage(t)})
	})
}

// prepareAll leaves out files that are for the other kind of database, by their beginnings.
func prepareAll(t *testing.T, cfg Config, without ...string) {
	cfg.Dir, cfg.Log = t.TempDir(), slog.New(slog.DiscardHandler)
	db := must.Get(Open(t.Context(), cfg))(t)
	defer db.Close()
	list := constantStatements(t, without)
	if len(list) < 150 {
		t.Errorf("only %d statements were found", len(list))
	}
	for query, at := range list {
		s, err := db.engine.Reads().PrepareContext(t.Context(), db.engine.Bind(query))
		if err != nil {
			t.Errorf("%s: %s: %v", at, query, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %s: %v", at, query, err)
		}
		if word.MatchString(db.engine.Bind(query)) {
			t.Errorf("%s: %s: a word has no translation", at, query)
		}
	}
}

var word = regexp.MustCompile(`\{[a-z][a-z ]*\}`)

var statement = regexp.MustCompile(`^\s*((SELECT|INSERT|UPDATE|DELETE|WITH)\s|\{unindex\})`)

// constantStatements are the statements of this package's files that are constants as a whole,
// with their places. A constant that is only a part of one is not among them.
func constantStatements(t *testing.T, without []string) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	names := must.Get(filepath.Glob("*.go"))(t)
	var files []*ast.File
	for _, name := range names {
		if slices.ContainsFunc(without, func(kind string) bool { return strings.HasPrefix(name, kind) }) {
			continue
		}
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_windows.go") {
			continue
		}
		f := must.Get(parser.ParseFile(fset, name, nil, 0))(t)
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
