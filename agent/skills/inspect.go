package skills

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Proposal is an installable skill with its findings.
type Proposal struct {
	Skill    Skill
	Files    []FileInfo
	Findings []Finding
	Runs     []string // names of files that commands can run
}

// Risky reports whether a person should review the proposal first.
func (p Proposal) Risky() bool { return len(p.Runs) > 0 || has(p.Findings, Warn) }

// Inspect checks an archive like Install, without installing it. Archives that Install would refuse return a *Refused
// or ErrExists here too.
func (l *Library) Inspect(archive io.ReaderAt, size int64, scan bool) (p Proposal, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return p, err
	}
	root, err := l.custom()
	if err != nil {
		return p, err
	}
	defer root.Close()
	temp := staging + "/" + rand.Text()
	defer func() { _ = root.RemoveAll(temp) }() // leftovers are removed at the next start
	if err := root.MkdirAll(temp, 0o700); err != nil {
		return p, fmt.Errorf("unpack a skill: %w", err)
	}
	notes, err := unpack(root, temp, archive, size)
	if err != nil {
		return p, err
	}
	at, s, err := l.check(root, temp, scan)
	if err != nil {
		return p, err
	}
	if _, err := root.Lstat(s.Name); err == nil {
		return p, ErrExists
	}
	p = Proposal{Skill: s, Findings: append(slices.Clone(s.Findings), notes...)}
	files, err := list(root.FS(), at)
	if err != nil {
		return p, fmt.Errorf("look at a skill: %w", err)
	}
	for _, f := range files {
		if !f.info.Mode().IsRegular() {
			continue
		}
		p.Files = append(p.Files, FileInfo{f.name, f.info.Size()})
		runs, err := runnable(root.FS(), at, f)
		if err != nil {
			return p, err
		}
		if runs {
			p.Runs = append(p.Runs, f.name)
		}
	}
	slices.Sort(p.Runs)
	slices.SortFunc(p.Files, func(a, b FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return p, nil
}

// scripts are endings of files that programs run.
const scripts = " .sh .bash .zsh .fish .py .pyw .js .mjs .cjs .ts .rb .pl .php .lua .awk .r .jl .go .ps1 .bat .cmd .jar .wasm .so "

// runnable reports whether a file is executable: by its mode, name or first line.
func runnable(fsys fs.FS, dir string, f entry) (bool, error) {
	if f.info.Mode()&0o111 != 0 ||
		strings.Contains(scripts, " "+strings.ToLower(path.Ext(f.name))+" ") && path.Ext(f.name) != "" {
		return true, nil
	}
	head, err := readHead(fsys, path.Join(dir, f.name), 2)
	if err != nil {
		return false, fmt.Errorf("read a skill: %s", reason(err))
	}
	return bytes.Equal(head, []byte("#!")), nil
}
