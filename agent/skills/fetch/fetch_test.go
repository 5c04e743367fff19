package fetch_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"fawn/agent/agenttest/must"
	"fawn/agent/skills"
	"fawn/agent/skills/fetch"
)

func TestParse(t *testing.T) {
	for address, want := range map[string]fetch.Source{
		"https://x.org/a/b":               {Repo: "https://x.org/a/b"},
		" https://x.org/a/b.git/ ":        {Repo: "https://x.org/a/b.git"},
		"https://x.org/a/b#main:s/pdf/":   {Repo: "https://x.org/a/b", Ref: "main", Folder: "s/pdf"},
		"https://x.org/a/b#v1":            {Repo: "https://x.org/a/b", Ref: "v1"},
		"https://x.org/a/b?tab=readme":    {Repo: "https://x.org/a/b"},
		"https://x.org/a/pdf.skill?raw=1": {Archive: "https://x.org/a/pdf.skill?raw=1"},
		"http://x.org/a.zip":              {Archive: "http://x.org/a.zip"},
	} {
		if got, err := fetch.Parse(address); err != nil || got != want {
			t.Errorf("%s: %+v %v", address, got, err)
		}
	}
	for _, address := range []string{"", "x", "/etc/passwd", "file:///etc/passwd", "git@x.org:a/b", "ssh://x.org/a",
		"https://user:secret@x.org/a/b", "https://x.org/a/b#main:../x", "https://x.org/a/b/tree/main/../../x",
		"https://"} {
		var refused *skills.Refused
		if got, err := fetch.Parse(address); !errors.As(err, &refused) {
			t.Errorf("%s: %+v %v", address, got, err)
		}
	}
}

// forge serves a real repository with git's own server.
func forge(t *testing.T) (base string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("FAWN_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	work := filepath.Join(root, "work")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git,
			append([]string{"-C", work, "-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false"},
				args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		at := filepath.Join(work, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil {
			err = os.WriteFile(at, []byte(text), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, os.Mkdir(work, 0o755))
	run("init", "-q", "-b", "main")
	write("README.md", "skills", 0o644)
	write("skills/pdf/SKILL.md", skill("pdf", "old"), 0o644)
	run("add", ".")
	run("commit", "-qm", "first")
	run("tag", "-a", "v1", "-m", "one")
	write("skills/pdf/SKILL.md", skill("pdf", "new"), 0o644)
	write("skills/pdf/scripts/go.sh", "#!/bin/sh\necho\n", 0o755)
	if err := os.Symlink("/etc/passwd", filepath.Join(work, "skills/pdf/link")); err != nil {
		t.Skip(err)
	}
	run("add", ".")
	run("commit", "-qm", "second")
	run("checkout", "-q", "-b", "feature/many")
	write("skills/docx/SKILL.md", skill("docx", "other"), 0o644)
	run("add", ".")
	run("commit", "-qm", "third")
	run("checkout", "-q", "-b", "huge")
	write("skills/huge/SKILL.md", skill("huge", "x"), 0o644)
	write("skills/huge/zeros", strings.Repeat("\x00", 65<<20), 0o644)
	run("add", ".")
	run("commit", "-qm", "huge")
	run("checkout", "-q", "main")
	run("clone", "-q", "--bare", ".", filepath.Join(root, "own", "skills.git"))
	handler := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv.URL
}

func skill(name, text string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: d\n---\n%s\n", name, text)
}

// bring is the archive of an address, with what is left of the work.
func bring(t *testing.T, address string) (files map[string]string, archive []byte, err error) {
	t.Helper()
	temp := t.TempDir()
	s, err := fetch.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	err = s.Write(t.Context(), http.DefaultClient, temp, &b)
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%s leaves %v", address, left)
	}
	if err != nil {
		return nil, nil, err
	}
	z := must.Get(zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	files = map[string]string{}
	for _, f := range z.File {
		in := must.Get(f.Open())(t)
		text := must.Get(io.ReadAll(in))(t)
		files[f.Name] = f.Mode().String()[:1] + string(text)
	}
	return files, b.Bytes(), nil
}

func TestRepositories(t *testing.T) {
	base := forge(t)
	repo := base + "/own/skills.git"
	newest := map[string]string{"SKILL.md": "-" + skill("pdf", "new"), "scripts/go.sh": "-#!/bin/sh\necho\n",
		"link": "L/etc/passwd"}
	for address, want := range map[string]map[string]string{
		repo:                                          newest,
		base + "/own/skills.git#main":                 newest,
		repo + "#main:skills/pdf":                     newest,
		repo + "#:skills":                             newest,
		repo + "/tree/main/skills/pdf":                newest,
		repo + "/blob/main/skills/pdf/SKILL.md":       newest,
		repo + "/-/tree/feature/many/skills/pdf":      newest,
		repo + "/src/branch/feature/many/skills/docx": {"SKILL.md": "-" + skill("docx", "other")},
		repo + "#v1":                                  {"SKILL.md": "-" + skill("pdf", "old")},
		repo + "/tree/v1":                             {"SKILL.md": "-" + skill("pdf", "old")},
	} {
		got, _, err := bring(t, address)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v %v", address, got, err)
		}
	}
	for address, want := range map[string]string{
		repo + "#feature/many":            "several skills",
		repo + "#gone":                    "no branch or tag called gone",
		repo + "/tree/gone/skills":        "no branch or tag called gone",
		repo + "#main:nowhere":            "no folder nowhere",
		repo + "#main:skills/pdf/scripts": "no SKILL.md there",
		repo + "#huge:skills/docx":        "too large",
		base + "/own/none.git":            "no public git repository",
		base + "/own/a.skill":             "404",
		"http://127.0.0.1:1/a/b":          "cannot be read",
	} {
		_, _, err := bring(t, address)
		var refused *skills.Refused
		if !errors.As(err, &refused) || !strings.Contains(refused.Why, want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if _, err := fetch.Client().Get(repo); err == nil {
		t.Error("the client for addresses that people give reaches this machine")
	}
}

// TestWhatComesIsInstalled takes the archive of a repository through the gate of the library.
func TestWhatComesIsInstalled(t *testing.T) {
	_, archive := must.Get2(bring(t, forge(t)+"/own/skills.git"))(t)
	dir := t.TempDir()
	lib := must.Get(skills.Open(skills.Options{Path: func() string { return dir + "/skills" },
		State: func() string { return dir + "/state.json" }, Shown: dir + "/shown"}))(t)
	p, err := lib.Inspect(bytes.NewReader(archive), int64(len(archive)), true)
	if err != nil || !slices.Equal(p.Runs, []string{"scripts/go.sh"}) || len(p.Findings) != 1 ||
		!strings.Contains(p.Findings[0].Text, "links are left out") {
		t.Fatalf("%+v %v", p, err)
	}
	s, err := lib.Install(bytes.NewReader(archive), int64(len(archive)), true)
	if err != nil || s.Name != "pdf" {
		t.Fatalf("%+v %v", s, err)
	}
	if _, err := os.Lstat(dir + "/skills/custom/pdf/link"); err == nil {
		t.Error("the link came along")
	}
}

func TestFolder(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, fetch.Folder(fstest.MapFS{"SKILL.md": {Data: []byte("x")}, "a/b.sh": {Data: []byte("y"), Mode: 0o755},
		".git/config": {Data: []byte("secret")}, "l": {Data: []byte("/etc"), Mode: os.ModeSymlink}}, &b))
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(z.File) != 2 || z.File[0].Name != "SKILL.md" || z.File[1].Name != "a/b.sh" ||
		z.File[1].Mode() != 0o755 {
		t.Errorf("%+v %v", z, err)
	}
}

// TestTreesThatStandInManyPlaces: 10 objects that make a billion folders.
func TestTreesThatStandInManyPlaces(t *testing.T) {
	s := memory.NewStorage()
	put := func(tree *object.Tree) plumbing.Hash {
		t.Helper()
		o := s.NewEncodedObject()
		must.Do(t, tree.Encode(o))
		hash := must.Get(s.SetEncodedObject(o))(t)
		return hash
	}
	hash := put(&object.Tree{})
	for range 9 {
		level := &object.Tree{}
		for i := range 10 {
			level.Entries = append(level.Entries, object.TreeEntry{Name: fmt.Sprint(i), Mode: filemode.Dir, Hash: hash})
		}
		hash = put(level)
	}
	tree, err := object.GetTree(s, hash)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = fetch.Walk(t.Context(), tree, func(string, object.TreeEntry) error {
		n++
		return nil
	})
	if refused := new(skills.Refused); !errors.As(err, &refused) || n > 100_000 {
		t.Errorf("%d entries, %v", n, err)
	}
}

// TestDeltasThatMakeTooMuch gives packs that are small and say that they make a lot.
func TestDeltasThatMakeTooMuch(t *testing.T) {
	squeeze := func(b []byte) []byte {
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		_, _ = w.Write(b)
		_ = w.Close()
		return out.Bytes()
	}
	pack := func(target uint64, n int) []byte {
		b := append([]byte("PACK"), 0, 0, 0, 2)
		b = binary.BigEndian.AppendUint32(b, uint32(n+1))
		b = append(append(b, 3<<4|1), squeeze([]byte("x"))...)
		delta := append([]byte{1}, binary.AppendUvarint(nil, target)...)
		for range n {
			b = append(append(b, byte(7<<4|len(delta))), make([]byte, 20)...)
			b = append(b, squeeze(delta)...)
		}
		return b
	}
	if err := fetch.Weigh(bytes.NewReader(pack(1<<10, 3))); err != nil {
		t.Errorf("a small pack: %v", err)
	}
	for name, data := range map[string][]byte{"one": pack(1<<40, 1), "many": pack(60<<20, 9),
		"no size": pack(1<<62, 1)} {
		if err := fetch.Weigh(bytes.NewReader(data)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
