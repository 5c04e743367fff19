package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTheGoInTheDocsCompiles: every block of Go in README and docs is built as part of this module, with the
// packages that it names imported.
func TestTheGoInTheDocsCompiles(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, shown := t.TempDir(), map[string]string{}
	write := func(name string, content []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for file, text := range manuals(t) {
		for i, m := range block().FindAllStringSubmatch(text, -1) {
			if m[1] == "go" {
				name := strings.NewReplacer("/", "_", ".", "_").Replace(file) + strconv.Itoa(i)
				shown[filepath.Join(root, "examples", name, "example.go")] = write(name, []byte(packageOf(m[2])))
			}
		}
	}
	if len(shown) == 0 {
		t.Fatal("there are none")
	}
	overlay, err := json.Marshal(map[string]any{"Replace": shown})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", write("overlay.json", overlay), "./examples/...")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// packageOf is a package around a block that declares one variable.
func packageOf(block string) string {
	var imports string
	for name, path := range map[string]string{"agent.": "fawn/agent", "context.": "context", "time.": "time"} {
		if strings.Contains(block, name) {
			imports += "import " + strconv.Quote(path) + "\n"
		}
	}
	name, _, _ := strings.Cut(block, " := ")
	return "package example\n" + imports + "func _() {\n" + block + "\n_ = " + name + "\n}\n"
}
