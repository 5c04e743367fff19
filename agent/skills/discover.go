package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// source is a folder with skills at any depth.
type source struct {
	fsys     fs.FS
	category Category
	bundled  bool
}

// walk is one scan of a source.
type walk struct {
	source
	old    map[string]Skill // skills of the previous scan, by place
	looked int
	found  []Skill
}

// place identifies a skill across sources.
func (s Skill) place() string {
	return fmt.Sprint(s.Bundled, "/", s.Category, "/", s.Folder)
}

// discover finds the skills of a source. Unchanged ones are taken from old. Links are not followed, since their targets
// may not be meant for agents.
func (s source) discover(old map[string]Skill) ([]Skill, error) {
	w := &walk{source: s, old: old}
	err := w.folder(".", 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return w.found, err
}

func (w *walk) folder(dir string, depth int) error {
	entries, err := fs.ReadDir(w.fsys, dir)
	if err != nil {
		return err
	}
	if dir != "." && slices.ContainsFunc(entries,
		func(e fs.DirEntry) bool { return e.Name() == File && e.Type().IsRegular() }) {
		w.skill(dir)
		return nil
	}
	for _, e := range entries {
		w.looked++
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || depth >= maxDepth || w.looked > maxLooked ||
			len(w.found) >= maxSkills {
			continue
		}
		if err := w.folder(path.Join(dir, e.Name()), depth+1); err != nil && !errors.Is(err, fs.ErrNotExist) &&
			!errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// skill scans one folder.
func (w *walk) skill(dir string) {
	s := Skill{Category: w.category, Folder: dir, Bundled: w.bundled}
	files, err := list(w.fsys, dir)
	w.looked += len(files)
	if err != nil {
		s.Name = slug(path.Base(dir))
		s.Findings = []Finding{{File: ".", Severity: Bad, Text: "the folder cannot be read: " + reason(err)}}
		w.found = append(w.found, s)
		return
	}
	s.mark = marked(files)
	if before, ok := w.old[s.place()]; ok && before.mark == s.mark {
		w.found = append(w.found, before)
		return
	}
	text, err := readText(w.fsys, path.Join(dir, File))
	read := Parse(text, path.Base(dir))
	read.Category, read.Folder, read.Bundled, read.mark = s.Category, s.Folder, s.Bundled, s.mark
	if err != nil {
		read.Findings = []Finding{{File: File, Severity: Bad, Text: "the file cannot be read: " + reason(err)}}
	}
	if read.Name == "" {
		read.Name = slug(path.Base(dir))
	}
	read.Findings = append(read.Findings, odd(files)...)
	w.found = append(w.found, read)
}

// entry is a file of a skill.
type entry struct {
	name string // below the folder of the skill
	info fs.FileInfo
}

// list returns the files and folders in a skill's folder, up to the limits.
func list(fsys fs.FS, dir string) (out []entry, err error) {
	err = fs.WalkDir(fsys, dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == dir {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		out = append(out, entry{strings.TrimPrefix(p, dir+"/"), info})
		if len(out) > maxFiles {
			return fs.SkipAll
		}
		return nil
	})
	return out, err
}

// odd lists findings about files that don't require reading them.
func odd(files []entry) (out []Finding) {
	total := int64(0)
	for _, f := range files {
		switch {
		case f.info.IsDir():
		case f.info.Mode()&fs.ModeSymlink != 0:
			out = append(out, Finding{File: f.name, Severity: Hint, Text: "symbolic links are left out"})
		case !f.info.Mode().IsRegular():
			out = append(out, Finding{File: f.name, Severity: Hint, Text: "only plain files are shown to agents"})
		case path.Base(f.name) == File && f.name != File:
			out = append(out, Finding{File: f.name, Severity: Hint, Text: "a skill inside a skill is not found"})
		}
		total += f.info.Size()
	}
	if len(files) > maxFiles {
		out = append(out, Finding{File: ".", Severity: Bad,
			Text: fmt.Sprintf("the folder holds more than %d files", maxFiles)})
	}
	if total > maxBytes {
		out = append(out, Finding{File: ".", Severity: Bad,
			Text: fmt.Sprintf("the files hold more than %d MiB", maxBytes>>20)})
	}
	return out[:min(len(out), maxFindings)]
}

// marked returns a digest of the attributes that change with a file.
func marked(files []entry) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %d %d %o\n", f.name, f.info.Size(), f.info.ModTime().UnixNano(), f.info.Mode())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// readText returns the text of a SKILL.md; a little more than one may have when it is too long.
func readText(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxText+1))
}

// reason returns an error of the file system without the paths of this machine.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
