package config_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

// program is what the source of the whole program says about fields of structs. A field goes by
// the name of its package, type and its own, such as "fawn/agent/config.Title.MaxWords".
type program struct {
	fset   *token.FileSet
	read   map[string]bool            // fields whose value is used somewhere
	passed map[string]bool            // fields that are only the way to one inside them
	copied map[string]map[string]bool // fields whose value is put into another field
	tagged map[string]bool            // fields that encoders read
}

const (
	modulePath = "fawn"
	configPath = modulePath + "/agent/config"
)

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard                bool
}

// readProgram type-checks every package of the module, without its tests.
func readProgram(t *testing.T) *program {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard", "../..")
	cmd.Stderr = os.Stderr
	out := must.Get(cmd.Output())(t)
	p := &program{fset: token.NewFileSet(), read: map[string]bool{}, passed: map[string]bool{},
		copied: map[string]map[string]bool{}, tagged: map[string]bool{}}
	exports := map[string]string{}
	var ours []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[l.ImportPath] = l.Export
		if l.ImportPath == modulePath || strings.HasPrefix(l.ImportPath, modulePath+"/") {
			ours = append(ours, l)
		}
	}
	imports := importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for _, l := range ours {
		p.add(t, l, imports)
	}
	return p
}

func (p *program) add(t *testing.T, l listed, imports types.Importer) {
	t.Helper()
	var files []*ast.File
	for _, name := range l.GoFiles {
		f := must.Get(parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution))(t)
		files = append(files, f)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	must.Get((&types.Config{Importer: imports}).Check(l.ImportPath, p.fset, files, info))(t)
	for _, f := range files {
		if l.ImportPath == configPath && !consumes(filepath.Base(p.fset.Position(f.Pos()).Filename)) {
			continue
		}
		ast.Walk(&fieldReader{p: p, info: info}, f)
	}
}

// consumes tells which files of this package use values themselves; the others only read, check
// and hand them on.
func consumes(file string) bool { return file == "snapshot.go" || file == "window.go" }

// fieldReader notes the reads below one node. Its stack is the way down to there.
type fieldReader struct {
	p     *program
	info  *types.Info
	stack []ast.Node
}

// Visit implements ast.Visitor.
func (r *fieldReader) Visit(n ast.Node) ast.Visitor {
	if n == nil {
		return nil
	}
	next := &fieldReader{r.p, r.info, append(r.stack[:len(r.stack):len(r.stack)], n)}
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if s := r.info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
			next.note(fieldName(s), n)
		}
	case *ast.CallExpr:
		r.converted(n)
	case *ast.CompositeLit:
		r.encoded(n)
	}
	return next
}

// encoded notes fields of a struct that are there for encoders.
func (r *fieldReader) encoded(lit *ast.CompositeLit) {
	t := r.info.Types[lit].Type
	s := structOf(t)
	for i := 0; s != nil && i < s.NumFields(); i++ {
		if reflect.StructTag(s.Tag(i)).Get("json") != "" {
			r.p.tagged[nameOf(t, s.Field(i).Name())] = true
		}
	}
}

// converted notes that a struct becomes one of another type, field by field.
func (r *fieldReader) converted(call *ast.CallExpr) {
	if !r.info.Types[call.Fun].IsType() || len(call.Args) != 1 {
		return
	}
	to, ok := r.info.Types[call.Fun].Type.Underlying().(*types.Struct)
	if !ok {
		return
	}
	from := r.info.Types[call.Args[0]].Type
	for i := range to.NumFields() {
		r.p.copy(nameOf(from, to.Field(i).Name()), nameOf(r.info.Types[call.Fun].Type, to.Field(i).Name()))
	}
}

// note finds out what becomes of the value of a field.
func (r *fieldReader) note(name string, at ast.Expr) {
	var below ast.Node = at
	for i := len(r.stack) - 2; i >= 0; i-- {
		switch n := r.stack[i].(type) {
		case *ast.FuncLit, *ast.BlockStmt:
			r.p.read[name] = true
			return
		case *ast.SelectorExpr:
			if i == len(r.stack)-2 { // a way to a field or method of it
				if s := r.info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
					r.p.passed[name] = true
					return
				}
			}
		case *ast.KeyValueExpr:
			if lit, ok := r.stack[i-1].(*ast.CompositeLit); ok && below == n.Value {
				if key, ok := n.Key.(*ast.Ident); ok {
					if to := nameOf(r.info.Types[lit].Type, key.Name); strings.HasPrefix(to, modulePath) {
						r.p.copy(name, to)
						return
					}
				}
			}
		case *ast.AssignStmt:
			if r.assigned(name, n, below) {
				return
			}
		}
		below = r.stack[i]
	}
	r.p.read[name] = true
}

// assigned handles a field on one side of an assignment, unless it is read there.
func (r *fieldReader) assigned(name string, n *ast.AssignStmt, below ast.Node) bool {
	for i, left := range n.Lhs {
		if left == below {
			_, whole := left.(*ast.SelectorExpr)
			return whole && n.Tok == token.ASSIGN // written, not read
		}
		if i >= len(n.Rhs) || n.Rhs[i] != below || len(n.Rhs) != len(n.Lhs) {
			continue
		}
		switch left := left.(type) {
		case *ast.Ident:
			return left.Name == "_"
		case *ast.SelectorExpr:
			if s := r.info.Selections[left]; s != nil && strings.HasPrefix(fieldName(s), modulePath) {
				r.p.copy(name, fieldName(s))
				return true
			}
		}
	}
	return false
}

func (p *program) copy(from, to string) {
	if p.copied[from] == nil {
		p.copied[from] = map[string]bool{}
	}
	p.copied[from][to] = true
}

// used tells whether the value of a field has an effect: where it is read, or where a copy is.
func (p *program) used(name string, seen map[string]bool) bool {
	if p.read[name] || p.tagged[name] {
		return true
	}
	if seen[name] {
		return false
	}
	seen[name] = true
	for to := range p.copied[name] {
		if p.passed[to] || p.used(to, seen) {
			return true
		}
	}
	return false
}

// fieldName is the field that a selection ends at, by the struct it stands in.
func fieldName(s *types.Selection) string {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		t = structOf(t).Field(i).Type()
	}
	return nameOf(t, s.Obj().Name())
}

func structOf(t types.Type) *types.Struct {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, _ := t.Underlying().(*types.Struct)
	return s
}

func nameOf(t types.Type, field string) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	t = types.Unalias(t)
	if n, ok := t.(*types.Named); ok {
		t = n.Origin()
	}
	return types.TypeString(t, nil) + "." + field
}

// leaf is a key of config.yaml that holds a value: its path, with a * for the entries of lists and
// maps, and the fields on the way to it.
type leaf struct {
	key    string
	fields []string
	typ    reflect.Type
}

// leaves are all of a struct's.
func leaves(t reflect.Type, key string, way []string) []leaf {
	var out []leaf
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || option == "inline" {
			continue
		}
		at, inner := strings.TrimPrefix(key+"."+name, "."), f.Type
		fields := append(slices.Clone(way), t.PkgPath()+"."+t.Name()+"."+f.Name)
		entries := false
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer ||
			inner.Kind() == reflect.Map && inner.Name() == "" {
			entries = entries || inner.Kind() != reflect.Pointer
			inner = inner.Elem()
		}
		switch {
		case inner.Kind() == reflect.Struct && entries:
			out = append(out, leaves(inner, at+".*", fields)...)
		case inner.Kind() == reflect.Struct:
			out = append(out, leaves(inner, at, fields)...)
		default:
			out = append(out, leaf{at, fields, f.Type})
		}
	}
	return out
}

// TestEveryFieldIsRead goes through the source of the program: a key counts as read when the
// program selects it and does something with it other than to put it into a field nobody reads. The
// reading, checking and merging of this package counts for nothing.
func TestEveryFieldIsRead(t *testing.T) {
	t.Parallel()
	p := readProgram(t)
	used := map[string]bool{}
	for _, l := range leaves(reflect.TypeFor[config.File](), "", nil) {
		read := p.used(l.fields[len(l.fields)-1], map[string]bool{})
		for _, name := range l.fields[:len(l.fields)-1] {
			read = read && (p.passed[name] || p.used(name, map[string]bool{}))
		}
		used[l.key] = read
		if !read {
			t.Errorf("%s is read by nobody: make it work, or put its name into IgnoredKeys instead of a field", l.key)
		}
		if by := listedBy(l.key); len(by) > 0 {
			t.Errorf("%s is a field, and ignored before it is decoded (%v)", l.key, by)
		}
	}
	for _, proof := range []string{"title.max_words", "log_level", "sandbox.limits.memory"} { // the test itself works
		if !used[proof] {
			t.Errorf("%s counts as unread", proof)
		}
	}
}

// listedBy are the keys of IgnoredKeys that a key falls under.
func listedBy(key string) []string {
	var by []string
	for _, ig := range config.IgnoredKeys() {
		want, have := strings.Split(ig.Key, "."), strings.Split(key, ".")
		fits := len(have) >= len(want)
		for i := 0; fits && i < len(want); i++ {
			fits = want[i] == "*" || want[i] == have[i]
		}
		if fits {
			by = append(by, ig.Key)
		}
	}
	return by
}
