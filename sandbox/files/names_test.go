package files_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
)

func TestDecomposedNamesAreTheSame(t *testing.T) {
	ctx := context.Background()
	f, host := open(t)
	composed, decomposed := "Übersicht テータ é.csv", "U\u0308bersicht テータ e\u0301.csv"
	for _, c := range []struct{ written, read string }{{composed, decomposed}, {decomposed, composed}} {
		must.Do(t, f.WriteFile(ctx, files.Workspace+"/"+c.written, []byte("x"), false))
		if b, err := f.ReadFile(ctx, c.read, 10); err != nil || string(b) != "x" {
			t.Errorf("%q is read as %q, %v", c.read, b, err)
		}
	}
	// A Mac's archive, unpacked by a command.
	dir := filepath.Join(host, "workspace", "Mu\u0308nchen")
	must.Do(t, os.Mkdir(dir, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "Pla\u0308ne.txt"), []byte("Stadt"), 0o644))
	const name = files.Workspace + "/München/Pläne.txt"
	if b, err := f.ReadFile(ctx, name, 10); err != nil || string(b) != "Stadt" {
		t.Errorf("%q, %v", b, err)
	}
	must.Report(t, f.WriteFile(ctx, name, []byte("Land"), false))
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("writing made a second file: %v, %v", all, err)
	}
	for _, pattern := range []string{"Plä*.txt", "Pla\u0308*.txt", "München/*"} {
		r, err := f.Glob(ctx, files.GlobQuery{Pattern: pattern, Path: files.Workspace, Max: 9})
		if err != nil || len(r.Paths) != 1 || r.Paths[0] != name {
			t.Errorf("%q finds %q, %v", pattern, r.Paths, err)
		}
	}
	if r, err := f.Grep(ctx, files.GrepQuery{Pattern: "Land", Path: files.Workspace + "/Mu\u0308nchen", Max: 9}); err != nil ||
		len(r.Matches) != 1 || r.Matches[0].Path != name {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTheMarkdownOfAnUploadIsFoundByDeerFlowsName(t *testing.T) {
	ctx := context.Background()
	f, _ := open(t)
	for _, name := range []string{"w.docx", "w.docx.md", "two.docx", "two.docx.md", "two.pdf", "two.pdf.md", "own.docx", "own.docx.md",
		"own.md", "notes.old.md"} {
		must.Do(t, f.WriteFile(ctx, files.Uploads+"/"+name, []byte(name), false))
	}
	for name, want := range map[string]string{"w.md": "w.docx.md", "own.md": "own.md", "two.md": "", "notes.md": "", "x.md": ""} {
		b, err := f.ReadFile(ctx, files.Uploads+"/"+name, 100)
		if string(b) != want || (want == "") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is %q, %v, want %q", name, b, err, want)
		}
	}
	if _, err := f.Lstat(files.Uploads + "/w.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the name is taken: %v", err)
	}
	must.Do(t, f.WriteFile(ctx, files.Uploads+"/w.md", []byte("mine"), false))
	if b, err := f.ReadFile(ctx, files.Uploads+"/w.docx.md", 100); err != nil || string(b) != "w.docx.md" {
		t.Errorf("writing w.md made w.docx.md %q, %v", b, err)
	}
}
