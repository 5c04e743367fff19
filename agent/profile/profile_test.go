package profile_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/profile"
)

func open(t *testing.T) (*profile.Library, string) {
	t.Helper()
	dir := t.TempDir()
	l := must.Get(profile.Open(dir, "default"))(t)
	t.Cleanup(func() { l.Close() })
	return l, dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

func ptr[T any](v T) *T { return &v }

func whole() profile.Agent {
	return profile.Agent{Name: "code-reviewer", Description: "Reads: \"diffs\"\nand more", Model: "gpt",
		ToolGroups: []string{"web", "file:read"}, Skills: []string{}, Temperature: ptr(0.2), MaxTokens: ptr(4000),
		Thinking: ptr(false), Effort: "low", Soul: "# Soul\n\nYou are strict: yes.\n"}
}

func TestAgentComesBackAsItWasWritten(t *testing.T) {
	l, dir := open(t)
	for _, a := range []profile.Agent{whole(), {Name: "plain"}} {
		must.Do(t, l.Create("default", a))
		got, err := l.Get("default", a.Name)
		if got.Changed.IsZero() {
			t.Error("no time of the last change")
		}
		got.Changed = a.Changed
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, a)
		}
		if err := l.Create("default", a); !errors.Is(err, profile.ErrExists) {
			t.Error("made twice:", err)
		}
	}
	for _, name := range []string{"config.yaml", "SOUL.md"} {
		must.Try(os.Stat(filepath.Join(dir, "users", "default", "agents", "code-reviewer", name)))(t)
	}
	must.Do(t, l.Delete("default", "plain"))
	if err := l.Delete("default", "plain"); !errors.Is(err, profile.ErrNotFound) {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "users", "default", "agents"))
	if err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

func TestHandEditsCountAndStay(t *testing.T) {
	l, dir := open(t)
	folder := filepath.Join(dir, "users", "default", "agents", "mine")
	put(t, filepath.Join(folder, "config.yaml"),
		"# about it\nname: other\nmodel: a # the cheap one\ngithub:\n  repo: x/y\nskills: null\n")
	put(t, filepath.Join(folder, "SOUL.md"), "one")
	a, err := l.Get("default", "mine")
	if err != nil || a.Name != "mine" || a.Model != "a" || a.Soul != "one" || a.Skills != nil {
		t.Fatalf("%+v %v", a, err)
	}
	must.Get(l.Change("default", "mine", func(a *profile.Agent) error {
		a.Model, a.Soul, a.ToolGroups = "b", "two", []string{"bash"}
		return nil
	}))(t)
	text, err := l.Config("default", "mine")
	for _, want := range []string{"# about it", "the cheap one", "model: b", "repo: x/y", "tool_groups: [bash]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s (%v)", want, text, err)
		}
	}
	put(t, filepath.Join(folder, "SOUL.md"), "three")
	if a, err := l.Get("default", "mine"); err != nil || a.Soul != "three" || a.Model != "b" {
		t.Errorf("%+v %v", a, err)
	}
}

func TestBrokenFilesAreErrorsOfTheirAgent(t *testing.T) {
	l, dir := open(t)
	shelf := filepath.Join(dir, "users", "default", "agents")
	for name, text := range map[string]string{
		"tabs": "model:\n\t- x", "list": "- a\n- b", "groups": "name: groups\ntool_groups: web",
		"warm": "model_settings: {temperature: 3}", "words": "model_settings: {max_tokens: many}",
		"think": "thinking_enabled: perhaps", "hard": "reasoning_effort: extreme",
		"alias": "a: &a [x]\ntool_groups: *a", "long": strings.Repeat("# x\n", 20000), "twice": "model: a\nmodel: b",
		"settings": "model_settings: 3",
	} {
		put(t, filepath.Join(shelf, name, "config.yaml"), text)
	}
	put(t, filepath.Join(shelf, "binary", "SOUL.md"), "\x00\x01")
	put(t, filepath.Join(shelf, "huge", "SOUL.md"), strings.Repeat("x", profile.MaxSoul+1))
	put(t, filepath.Join(shelf, "dir", "config.yaml", "x"), "")
	put(t, filepath.Join(shelf, "fine", "SOUL.md"), "I am fine")
	must.Do(t, os.MkdirAll(filepath.Join(shelf, "empty"), 0o700))
	put(t, filepath.Join(shelf, "Upper", "SOUL.md"), "")
	put(t, filepath.Join(shelf, "a_b", "SOUL.md"), "")
	must.Do(t, os.Symlink("/etc", filepath.Join(shelf, "link")))
	list, err := l.List("default")
	if err != nil || len(list) != 16 {
		t.Fatal(len(list), err)
	}
	for _, e := range list {
		var bad *profile.Invalid
		if fine := e.Name == "fine"; fine != (e.Err == nil) || !fine && !errors.As(e.Err, &bad) {
			t.Errorf("%s: %v", e.Name, e.Err)
		} else if !fine && strings.Contains(e.Err.Error(), dir) {
			t.Errorf("%s tells a path: %v", e.Name, e.Err)
		}
	}
	must.Do(t, l.Rewrite("default", "tabs", "model: x\n", "soul"))
	if a, err := l.Get("default", "tabs"); err != nil || a.Model != "x" || a.Soul != "soul" {
		t.Errorf("%+v %v", a, err)
	}
}

func TestNames(t *testing.T) {
	for s, want := range map[string]string{"Reviewer": "reviewer", "a": "a", "": "", "..": "", "a/b": "", "a b": "",
		"ä": "", "new": "", "default": "", "Lead-Agent": "", strings.Repeat("a", 64): strings.Repeat("a", 64),
		strings.Repeat("a", 65): ""} {
		if got, err := profile.Name(s); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v", s, got, err)
		}
	}
	for s, want := range map[string]string{"Code_Reviewer": "code-reviewer", "lead_agent": "", "": "", "default": ""} {
		if got, err := profile.Spelled(s); got != want || err != nil {
			t.Errorf("%q: %q %v", s, got, err)
		}
	}
	l, _ := open(t)
	for _, name := range []string{"..", "../x", "a/b", "", "."} {
		if _, err := l.Get("default", name); !errors.Is(err, profile.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOwnersDoNotMeet(t *testing.T) {
	l, dir := open(t)
	owners := []string{"default", "eve", "Eve", "../default", "", "eve ", strings.Repeat("e", 100)}
	for i, owner := range owners {
		a := profile.Agent{Name: "mine", Soul: strings.Repeat("x", i)}
		if err := l.Create(owner, a); err != nil {
			t.Fatalf("%q: %v", owner, err)
		}
		must.Do(t, l.SetUser(owner, a.Soul))
	}
	for i, owner := range owners {
		a, err := l.Get(owner, "mine")
		user, err2 := l.User(owner)
		if err != nil || err2 != nil || len(a.Soul) != i || len(user) != i {
			t.Errorf("%q: %d %d, %v %v", owner, len(a.Soul), len(user), err, err2)
		}
	}
	put(t, filepath.Join(dir, "agents", "old", "SOUL.md"), "from before")
	if !l.Has("default", "old") || l.Has("eve", "old") {
		t.Error("the agents at the top of the folder belong to who runs the installation")
	}
	must.Try(os.Stat(filepath.Join(dir, "USER.md")))(t)
}

func TestTexts(t *testing.T) {
	l, dir := open(t)
	if s, err := l.Soul(); s != "" || err != nil {
		t.Error(s, err)
	}
	put(t, filepath.Join(dir, "SOUL.md"), "by hand")
	if s, err := l.Soul(); s != "by hand" || err != nil {
		t.Error(s, err)
	}
	must.Report(t, l.SetSoul("default", "by call"))
	if s, err := l.Soul(); s != "by call" || err != nil {
		t.Error(s, err)
	}
	if l.SetSoul("eve", "x") == nil {
		t.Error("another owner changed the lead agent")
	}
	for _, bad := range []string{"\xff", "a\x00b", strings.Repeat("x", profile.MaxSoul+1)} {
		if l.SetUser("default", bad) == nil || l.SetSoul("default", bad) == nil {
			t.Errorf("%.10q was taken", bad)
		}
	}
}

func TestChangesAtOnce(t *testing.T) {
	l, _ := open(t)
	must.Do(t, l.Create("default", profile.Agent{Name: "mine", MaxTokens: ptr(1)}))
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			_, err := l.Change("default", "mine", func(a *profile.Agent) error {
				a.MaxTokens = ptr(*a.MaxTokens + 1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		work.Go(func() {
			if a, err := l.Get("default", "mine"); err != nil || a.MaxTokens == nil {
				t.Errorf("%+v %v", a, err)
			}
		})
	}
	work.Wait()
	if a, err := l.Get("default", "mine"); err != nil || *a.MaxTokens != 9 {
		t.Errorf("%+v %v", a, err)
	}
}

func TestExportComesBack(t *testing.T) {
	l, dir := open(t)
	a := whole()
	a.Soul = "\n---\nA soul that looks like a fence.\n---\n"
	must.Do(t, l.Create("default", a))
	put(t, filepath.Join(dir, "users", "default", "agents", "odd", "config.yaml"), "---\n# mine\nother: kept\n")
	for _, name := range []string{a.Name, "odd"} {
		data, err := l.Export("default", name)
		if err != nil || len(data) > profile.MaxExport {
			t.Fatal(err)
		}
		if _, err := l.Import("default", data, ""); !errors.Is(err, profile.ErrExists) {
			t.Error("it is there:", err)
		}
		want, _ := l.Get("default", name)
		for owner, as := range map[string]string{"eve": "", "default": "Copy-of-" + name} {
			got, err := l.Import(owner, data, as)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, data)
			}
			got, err = l.Get(owner, got.Name)
			want.Name, want.Changed = got.Name, got.Changed
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v\nwant %+v", got, err, want)
			}
		}
	}
	text, err := l.Config("eve", "odd")
	if err != nil || !strings.Contains(text, "# mine") || !strings.Contains(text, "other: kept") {
		t.Error(text, err)
	}
}

func TestHostileImports(t *testing.T) {
	l, _ := open(t)
	for name, data := range map[string]string{
		"nothing": "", "no fence": "name: x\n", "open": "---\nname: x\n", "no name": "---\nmodel: x\n---\nsoul",
		"path": "---\nname: ../x\n---\n", "reserved": "---\nname: new\n---\n", "zip": "PK\x03\x04",
		"binary": "---\nname: x\n---\n\x00", "not utf-8": "---\nname: x\n---\n\xff",
		"large": "---\nname: x\n---\n" + strings.Repeat("x", profile.MaxSoul+1),
		"huge":  strings.Repeat("x", profile.MaxExport+1),
		"front": "---\nname: x\n# " + strings.Repeat("x", profile.MaxConfig) + "\n---\n",
		"bad":   "---\nname: x\nskills: 3\n---\n", "torn": "---\n\tname: x\n---\n",
		"bomb": "---\nname: x\na: &a [x,x]\nb: &b [*a,*a]\nskills: *b\n---\n",
	} {
		var bad *profile.Invalid
		if _, err := l.Import("default", []byte(data), ""); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := l.List("default"); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
}

// TestWhatAKillLeftIsRemovedAtTheNextStart, and nothing else.
func TestWhatAKillLeftIsRemovedAtTheNextStart(t *testing.T) {
	l, dir := open(t)
	must.Do(t, l.Create("default", whole()))
	const mark = ".ABCDEFGHIJKLMNOPQRSTUVWX27"
	shelf := filepath.Join(dir, "users", "default", "agents")
	left := []string{filepath.Join(shelf, ".half"+mark, "config.yaml"),
		filepath.Join(dir, "agents", ".gone"+mark, "SOUL.md"), filepath.Join(shelf, "code-reviewer", ".SOUL.md"+mark),
		filepath.Join(dir, ".USER.md"+mark)}
	kept := []string{filepath.Join(shelf, "code-reviewer", "SOUL.md"), filepath.Join(shelf, ".half", "config.yaml"),
		filepath.Join(dir, ".other"+mark), filepath.Join(shelf, "code-reviewer", ".notes"+mark)}
	for _, at := range append(left, kept[1:]...) {
		put(t, at, "x")
	}
	again := must.Get(profile.Open(dir, "default"))(t)
	defer again.Close()
	for _, at := range left {
		if _, err := os.Lstat(at); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", at, err)
		}
	}
	for _, at := range kept {
		must.Try(os.Lstat(at))(t)
	}
	if _, err := os.Lstat(filepath.Join(shelf, ".half"+mark)); !errors.Is(err, os.ErrNotExist) {
		t.Error("a folder that was not whole is still there")
	}
}
