package skills_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/skills"
)

type world struct {
	*testing.T
	dir  string
	path string
	lib  *skills.Library
}

// open makes a library with files, given by their paths below the data folder.
func open(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir()}
	w.path = filepath.Join(w.dir, "skills")
	for name, text := range files {
		w.put(name, text)
	}
	w.again()
	return w
}

// again opens the library anew, as a start of the program does.
func (w *world) again() {
	w.Helper()
	lib := must.Get(skills.Open(skills.Options{Path: func() string { return w.path }, State: func() string {
		return filepath.Join(w.dir, "extensions_config.json")
	},
		Shown: filepath.Join(w.dir, "shown"), Log: slog.New(slog.DiscardHandler),
		Bundled: fstest.MapFS{"writing/letters/SKILL.md": {Data: []byte(skill("letters", "bundled"))},
			"own/SKILL.md": {Data: []byte(skill("own", "bundled"))}}}))(w)
	w.lib = lib
}

func skill(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\nDo it.\n"
}

func (w *world) put(name, text string) {
	w.Helper()
	at := filepath.Join(w.dir, filepath.FromSlash(name))
	must.Do(w, os.MkdirAll(filepath.Dir(at), 0o700))
	must.Do(w, os.WriteFile(at, []byte(text), 0o600))
}

// names are the skills as "category/folder name" with a minus in front of those that are off, and
// an exclamation mark in front of those that cannot be used.
func (w *world) names() string {
	w.Helper()
	all := must.Get(w.lib.List())(w)
	var out []string
	for _, s := range all {
		one := string(s.Category) + "/" + s.Folder + " " + s.Name
		if !s.Enabled {
			one = "-" + one
		}
		if !s.Usable() {
			one = "!" + one
		}
		out = append(out, one)
	}
	return strings.Join(out, ", ")
}

// shown are the files that sandboxes see.
func (w *world) shown() string {
	w.Helper()
	var out []string
	root := filepath.Join(w.dir, "shown")
	must.Do(w, filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(root, p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	}))
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (w *world) want(names, shown string) {
	w.Helper()
	if got := w.names(); got != names {
		w.Errorf("skills: %s\nwant    %s", got, names)
	}
	if got := w.shown(); got != shown {
		w.Errorf("shown: %s\nwant   %s", got, shown)
	}
}

// TestSkillsLieAtAnyDepth: nested folders are found and shown with their nesting; custom skills stand
// in front of public ones, files in front of what is bundled, and nothing below a skill is one.
func TestSkillsLieAtAnyDepth(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{
		"skills/public/data/csv/SKILL.md": skill("csv", "tables"), "skills/public/data/csv/scripts/run.py": "x",
		"skills/public/data/csv/deep/SKILL.md": skill("deep", "no"), "skills/public/notes.txt": "no skill",
		"skills/custom/tables/SKILL.md": skill("csv", "mine"), "skills/custom/.history/x/SKILL.md": skill("past", "no"),
		"skills/public/own/SKILL.md":  skill("own", "changed by hand"),
		"skills/public/torn/SKILL.md": "no front matter"})
	w.want("custom/tables csv, public/writing/letters letters, public/own own, !public/torn torn",
		"custom/tables/SKILL.md public/own/SKILL.md public/writing/letters/SKILL.md")
	if s, err := w.lib.Get("own"); err != nil || s.Description != "changed by hand" || s.Bundled ||
		s.Path("/mnt/skills") != "/mnt/skills/public/own/SKILL.md" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := w.lib.Get("deep"); !errors.Is(err, skills.ErrNotFound) {
		t.Error(err)
	}
	list, err := w.lib.Enabled([]string{"own", "torn", "none"})
	if err != nil || len(list) != 1 || list[0].Name != "own" {
		t.Errorf("%v, %v", list, err)
	}
}

// TestChangesByHandCount without a restart.
func TestChangesByHandCount(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	w.want("public/writing/letters letters, public/own own", "public/own/SKILL.md public/writing/letters/SKILL.md")
	w.put("skills/custom/a/SKILL.md", skill("a", "one"))
	w.put("skills/custom/a/more.md", "one")
	w.want("custom/a a, public/writing/letters letters, public/own own",
		"custom/a/SKILL.md custom/a/more.md public/own/SKILL.md public/writing/letters/SKILL.md")
	w.put("skills/custom/a/more.md", "another")
	must.Get(w.lib.List())(t)
	if b, err := os.ReadFile(filepath.Join(w.dir, "shown/custom/a/more.md")); string(b) != "another" {
		t.Errorf("%q, %v", b, err)
	}
	w.put("skills/custom/a/SKILL.md", skill("b", "two"))
	must.Do(t, os.Chtimes(filepath.Join(w.dir, "skills/custom/a/SKILL.md"), time.Time{}, time.Unix(1, 0)))
	w.want("custom/a b, public/writing/letters letters, public/own own",
		"custom/a/SKILL.md custom/a/more.md public/own/SKILL.md public/writing/letters/SKILL.md")
	must.Do(t, os.RemoveAll(filepath.Join(w.dir, "skills/custom/a")))
	w.put("skills/custom/a/b/SKILL.md", skill("c", "nested where a skill was"))
	w.want("custom/a/b c, public/writing/letters letters, public/own own",
		"custom/a/b/SKILL.md public/own/SKILL.md public/writing/letters/SKILL.md")
	w.path = filepath.Join(w.dir, "elsewhere")
	w.put("elsewhere/public/z/SKILL.md", skill("z", "other folder"))
	w.want("public/writing/letters letters, public/own own, public/z z",
		"public/own/SKILL.md public/writing/letters/SKILL.md public/z/SKILL.md")
}

// TestASwitchHidesASkill at once and after a restart, and keeps all else that is in the file.
func TestASwitchHidesASkill(t *testing.T) {
	t.Parallel()
	const before = `{"mcpServers": {"b": {"n": 1.10}, "a": {}}, "skills": {"own": {"enabled": true, "note": "kept"}, "gone": {"enabled": false}}, "more": null}`
	w := open(t, map[string]string{"real.json": before})
	must.Do(t, os.Symlink("real.json", filepath.Join(w.dir, "extensions_config.json")))
	must.Do(t, w.lib.SetEnabled(map[string]bool{"own": false, "letters": true}))
	w.want("public/writing/letters letters, -public/own own", "public/writing/letters/SKILL.md")
	b, err := os.ReadFile(filepath.Join(w.dir, "real.json"))
	want := `{"mcpServers":{"b":{"n":1.10},"a":{}},"skills":{"own":{"enabled":false,"note":"kept"},"gone":{"enabled":false},"letters":{"enabled":true}},"more":null}`
	got := strings.Join(strings.FieldsFunc(string(b), func(r rune) bool { return r == ' ' || r == '\n' }), "")
	if got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	info, err := os.Lstat(filepath.Join(w.dir, "extensions_config.json"))
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	w.again()
	w.want("public/writing/letters letters, -public/own own", "public/writing/letters/SKILL.md")
	if err := w.lib.SetEnabled(map[string]bool{"own": true, "none": true}); !errors.Is(err, skills.ErrNotFound) {
		t.Errorf("unknown name: %v", err)
	}
	w.want("public/writing/letters letters, -public/own own", "public/writing/letters/SKILL.md")
	// A file that is torn for a moment opens nothing, not even at a start.
	w.put("real.json", `{"skills": {"own": {`)
	w.want("public/writing/letters letters, -public/own own", "public/writing/letters/SKILL.md")
	if err := w.lib.SetEnabled(map[string]bool{"own": true}); err == nil {
		t.Error("a torn file was written over")
	}
	w.again()
	w.want("-public/writing/letters letters, -public/own own", "")
	w.put("real.json", `{"skills": {"own": {"enabled": "perhaps"}}}`)
	w.want("public/writing/letters letters, -public/own own", "public/writing/letters/SKILL.md")
}

// TestLinksAreNotShown, wherever they lead.
func TestLinksAreNotShown(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"secret": "s", "outside/SKILL.md": skill("outside", "no"),
		"skills/custom/a/SKILL.md": skill("a", "d"), "skills/custom/a/fine.txt": "f"})
	for from, to := range map[string]string{"skills/custom/a/secret": "../../../secret",
		"skills/custom/a/abs": filepath.Join(w.dir, "secret"), "skills/custom/a/near": "fine.txt",
		"skills/custom/outside": filepath.Join(w.dir, "outside"), "skills/custom/a/loop": "."} {
		must.Do(t, os.Symlink(to, filepath.Join(w.dir, from)))
	}
	must.Do(t, os.MkdirAll(filepath.Join(w.dir, "skills/custom/linked"), 0o700))
	must.Do(t, os.Symlink(filepath.Join(w.dir, "outside/SKILL.md"), filepath.Join(w.dir, "skills/custom/linked/SKILL.md")))
	w.want("custom/a a, public/writing/letters letters, public/own own",
		"custom/a/SKILL.md custom/a/fine.txt public/own/SKILL.md public/writing/letters/SKILL.md")
	if s, err := w.lib.Get("a"); err != nil || len(s.Findings) != 4 {
		t.Errorf("%v, %v", s.Findings, err)
	}
}
