// Command slim copies a few modules with a line or two changed, so that the linker may leave out what Fawn
// never calls, and writes a go.mod that has the copies in their place. Every build works without it; the
// binary is then larger by 9 MB. `make build` and `make release` use it.
//
// The linker drops methods that nobody calls, unless somebody looks methods up by a name or number that
// only run time knows: then each exported method of each type stays. The patches end the two places where
// that happens in the program. To find new ones, link with -ldflags=-dumpdep and look for <ReflectMethod>.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// module is one that is changed.
type module struct {
	path    string
	patches []patch
}

// patch is an edit of a file: old, which the file has once, becomes new.
type patch struct{ file, old, new string }

var modules = []module{
	// These structs are keys of maps. As the type is embedded, they have the methods of reflect.Type.
	{"github.com/anthropics/anthropic-sdk-go", []patch{
		{"internal/apijson/decoder.go", "decoderEntry struct {\n\treflect.Type\n",
			"decoderEntry struct {\n\tType reflect.Type\n"},
		{"internal/apijson/encoder.go", "encoderEntry struct {\n\treflect.Type\n",
			"encoderEntry struct {\n\tType reflect.Type\n"},
		{"internal/apiquery/encoder.go", "encoderEntry struct {\n\treflect.Type\n",
			"encoderEntry struct {\n\tType reflect.Type\n"},
		{"internal/apiform/encoder.go", "encoderEntry struct {\n\treflect.Type\n",
			"encoderEntry struct {\n\tType reflect.Type\n"},
	}},
	{"github.com/dop251/goja", []patch{
		// Scripts see the methods of Go values. The one script there is, of views/mathml, is given strings and
		// booleans.
		{"object_goreflect.go", "method := t.Method(i)\n", "_, method := i, reflect.Method{} // no name: not exported\n"},
		{"object_goreflect.go",
			"if idx, exists := o.methodsInfo.Methods[jsName]; exists {\n\t\t\treturn o.methodsValue.Method(idx)\n",
			"if _, exists := o.methodsInfo.Methods[jsName]; exists {\n\t\t\treturn reflect.Value{}\n"},
		// localeCompare, which the script does not use, brings the order of all languages: 1.2 MB.
		{"builtin_string.go", "r.collator().CompareString(this, that)", "strings.Compare(this, that)"},
	}},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: slim DIR (below the folder of go.mod)")
		os.Exit(2)
	}
	if err := write(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "slim:", err)
		os.Exit(1)
	}
}

// write fills the folder dir of the main module, which is in root: go.mod, go.sum and the changed modules.
func write(root, dir string) error {
	if !filepath.IsLocal(dir) {
		return fmt.Errorf("%s is not below %s", dir, root)
	}
	if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, dir, name), text, 0o644); err != nil {
			return err
		}
	}
	edit := []string{"mod", "edit"}
	for _, m := range modules {
		from, err := m.folder(root)
		if err != nil {
			return err
		}
		to := path.Join(filepath.ToSlash(dir), path.Base(m.path))
		if err := m.copy(from, filepath.Join(root, filepath.FromSlash(to))); err != nil {
			return err
		}
		edit = append(edit, "-replace="+m.path+"=./"+to)
	}
	_, err := run(root, append(edit, filepath.Join(dir, "go.mod"))...)
	return err
}

// folder is where the module's sources are; they are fetched if they are missing.
func (m module) folder(root string) (string, error) {
	dir, err := run(root, "list", "-find", "-f", "{{.Module.Dir}}", m.path)
	if err == nil && dir == "" {
		err = errors.New("it has no folder")
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", m.path, err)
	}
	return dir, nil
}

// copy copies all but the tests, and changes what the patches say.
func (m module) copy(from, to string) error {
	files := os.DirFS(from)
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && name != "."):
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, filepath.FromSlash(name)), 0o755)
		case strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, filepath.FromSlash(name)), text, 0o644)
	})
	if err != nil {
		return err
	}
	for _, p := range m.patches {
		if err := p.apply(to); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

// apply changes the file in a copy of its module.
func (p patch) apply(dir string) error {
	file := filepath.Join(dir, filepath.FromSlash(p.file))
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte(p.old)); n != 1 {
		return fmt.Errorf("%s has %q %d times, not once: the patch belongs to another version", p.file, p.old, n)
	}
	return os.WriteFile(file, bytes.Replace(text, []byte(p.old), []byte(p.new), 1), 0o644)
}

// run gives what a go command prints.
func run(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}
