package attack_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestTheTableNamesItsTests: each row of the table of docs/sandbox.md says what holds in each mode, and names tests
// that exist, unless something is open.
func TestTheTableNamesItsTests(t *testing.T) {
	root := filepath.Join("..", "..")
	doc, err := os.ReadFile(filepath.Join(root, "docs", "sandbox.md"))
	must.Do(t, err)
	tests := map[string]bool{}
	for _, dir := range []string{"web", "sandbox", "store"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "table_linux_test.go" {
				return err
			}
			b, err := os.ReadFile(name)
			for _, m := range namesOfTests.FindAllSubmatch(b, -1) {
				tests[string(bytes.Join(m[1:], nil))] = true
			}
			return err
		})
		must.Do(t, err)
	}
	_, table, _ := strings.Cut(string(doc), "\n## What holds where\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 5 || strings.Contains(line, "---") || strings.Contains(line, "attack or limit") {
			continue
		}
		rows++
		if len(cells) != 5 {
			t.Errorf("%d cells: %s", len(cells), line)
			continue
		}
		names := regexp.MustCompile("`[^`]+`").FindAllString(cells[4], -1)
		if len(names) == 0 && !strings.Contains(line, "open") {
			t.Errorf("no test: %s", line)
		}
		for _, name := range names {
			name = strings.Trim(name, "`")
			if _, err := os.Stat(filepath.Join(root, name)); err != nil && !tests[name] {
				t.Errorf("no test is called %q: %s", name, line)
			}
		}
		for _, cell := range cells[1:4] {
			if cell = strings.TrimSpace(cell); cell != "" && !regexp.MustCompile(
				`^(held|limited|open|the same|as with|counted|not shown|the filters)`).MatchString(cell) {
				t.Errorf("%q says neither held, limited nor open", cell)
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
	}
}

// namesOfTests finds functions of tests and attacks in lists of them.
var namesOfTests = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)\(|\{(?:name: )?"([^"\n]+)"|\bname: "([^"\n]+)"|t\.Run\("([^"\n]+)"|"([^"\n]+)": `)
