package skills

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Limits of a history.
const (
	maxChanges = 100      // the oldest go first
	maxHistory = 64 << 20 // bytes of the file
)

// history is the folder of the custom skills' histories; names with a dot aren't skills.
const history = ".history"

// Change is one line of a custom skill's history, as DeerFlow writes it.
type Change struct {
	Action string    `json:"action"` // create, edit, patch, write_file, remove_file, delete or rollback
	Author string    `json:"author"`
	Thread string    `json:"thread_id"`
	File   string    `json:"file_path"`
	Before *string   `json:"prev_content"`
	After  *string   `json:"new_content"`
	Scan   Scan      `json:"scanner"`
	At     time.Time `json:"ts"`
}

// Scan is the scanner's verdict on a change.
type Scan struct {
	Decision string `json:"decision"` // allow or warn
	Reason   string `json:"reason"`
}

// Edit holds the author of a change and the strictness of checks.
type Edit struct {
	Author, Thread string
	Action         string // in the history; "" is edit
	Scan           bool
	Verdict        *Scan // a model's verdict on the text; nil without one
}

// change returns the history entry for an operation on a text.
func (e Edit) change(action, before string) Change {
	return Change{Action: action, Author: e.Author, Thread: e.Thread, File: File, Before: &before,
		Scan: Scan{Decision: "allow"}, At: time.Now().UTC()}
}

// Write replaces the text of a custom skill, and keeps the previous one in its history. It returns ErrNotFound,
// ErrReadOnly or a *Refused.
func (l *Library) Write(name, text string, by Edit) (Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(cmp.Or(by.Action, "edit"), name, text, by)
}

func (l *Library) write(action, name, text string, by Edit) (Skill, error) {
	s, err := l.own(name)
	if err != nil {
		return s, err
	}
	fresh := Parse([]byte(text), path.Base(s.Folder))
	if has(fresh.Findings, Bad) || has(fresh.Findings, Warn) {
		return s, &Refused{Why: "the skill's " + worst(fresh.Findings).String(), Findings: fresh.Findings}
	}
	if fresh.Name != name {
		return s, refuse("a skill keeps its name: it must be %s, not %s", name, fresh.Name)
	}
	scan, err := by.judge(File, text)
	if err != nil {
		return s, err
	}
	root, err := l.custom()
	if err != nil {
		return s, err
	}
	defer root.Close()
	before := s.Text()
	if err := writeFile(root, path.Join(s.Folder, File), []byte(text)); err != nil {
		return s, fmt.Errorf("write a skill: %w", err)
	}
	change := by.change(action, before)
	change.After, change.Scan = &text, scan
	err = record(root, name, change)
	if err == nil {
		err = l.changed(s.Folder, name)
	}
	if err != nil {
		return s, err
	}
	return l.own(name)
}

// own returns the current state of a custom skill.
func (l *Library) own(name string) (Skill, error) {
	if err := l.refresh(); err != nil {
		return Skill{}, err
	}
	s, err := pick(l.all, name)
	if err == nil && s.Category != Custom {
		err = ErrReadOnly
	}
	return s, err
}

// Delete removes a custom skill with all its files. Its text stays in the history.
func (l *Library) Delete(name string, by Edit) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.own(name)
	if err != nil {
		return err
	}
	root, err := l.custom()
	if err != nil {
		return err
	}
	defer root.Close()
	before := s.Text()
	if err := record(root, name, by.change("delete", before)); err != nil {
		return err
	}
	gone := staging + "/" + rand.Text()
	if err := root.MkdirAll(staging, 0o700); err != nil {
		return fmt.Errorf("delete a skill: %w", err)
	}
	if err := root.Rename(s.Folder, gone); err != nil {
		return fmt.Errorf("delete a skill: %w", err)
	}
	if err := root.RemoveAll(gone); err != nil {
		return fmt.Errorf("delete a skill: %w", err)
	}
	if err := l.changed(s.Folder, name); err != nil {
		return err
	}
	return l.refresh()
}

// History returns the changes of a custom skill, oldest first. Without any it returns ErrNotFound, unless the skill
// exists.
func (l *Library) History(name string) ([]Change, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history(name)
}

func (l *Library) history(name string) ([]Change, error) {
	if !validName(name) {
		return nil, ErrNotFound
	}
	root, err := l.custom()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	list, err := changes(root, name)
	if err == nil && len(list) == 0 {
		_, err = l.own(name)
	}
	return list, err
}

// Rollback reverts one change of a custom skill to the text before it. Negative numbers count from the newest change,
// -1. An unknown number, or a change without an earlier text, is a *Refused.
func (l *Library) Rollback(name string, index int, by Edit) (Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, err := l.history(name)
	if err != nil {
		return Skill{}, err
	}
	if index < 0 {
		index += len(list)
	}
	if index < 0 || index >= len(list) || list[index].Before == nil {
		return Skill{}, refuse("the history of %s has no such change", name)
	}
	if file := list[index].File; file != File {
		return l.writeFile("rollback", name, file, list[index].Before, by)
	}
	return l.write("rollback", name, *list[index].Before, by)
}

// changes reads a history. Lines that a crash has torn are left out.
func changes(root *os.Root, name string) (list []Change, err error) {
	f, err := root.Open(history + "/" + name + ".jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the history of a skill: %s", reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHistory))
	if err != nil {
		return nil, fmt.Errorf("read the history of a skill: %s", reason(err))
	}
	for line := range strings.Lines(string(data)) {
		var c Change
		if json.Unmarshal([]byte(line), &c) == nil {
			list = append(list, c)
		}
	}
	return list, nil
}

// record adds a change to a history.
func record(root *os.Root, name string, c Change) error {
	list, err := changes(root, name)
	if err != nil {
		return err
	}
	list = append(list, c)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, one := range list[max(0, len(list)-maxChanges):] {
		if err := enc.Encode(one); err != nil {
			return fmt.Errorf("write the history of a skill: %w", err)
		}
	}
	err = root.MkdirAll(history, 0o700)
	if err == nil {
		err = writeFile(root, history+"/"+name+".jsonl", b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the history of a skill: %w", err)
	}
	return nil
}

// writeFile replaces a file atomically.
func writeFile(root *os.Root, at string, data []byte) error {
	temp := path.Join(path.Dir(at), "."+path.Base(at)+"."+rand.Text())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = cmp.Or(err, f.Sync())
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = root.Rename(temp, at)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// sweep removes leftovers of interrupted installations.
func (l *Library) sweep() error {
	root, err := os.OpenRoot(l.o.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(path.Join(string(Custom), staging))
}

// Contents returns the files of a skill by name, with the archive rules' findings.
func (l *Library) Contents(name string) (files []FileInfo, found []Finding, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return nil, nil, err
	}
	s, err := pick(l.all, name)
	if err != nil {
		return nil, nil, err
	}
	fsys, dir := l.o.Bundled, s.Folder
	if !s.Bundled {
		root, err := os.OpenRoot(l.o.Path())
		if err != nil {
			return nil, nil, fmt.Errorf("open the folder of skills: %s", reason(err))
		}
		defer root.Close()
		fsys, dir = root.FS(), path.Join(string(s.Category), s.Folder)
	}
	all, err := list(fsys, dir)
	if err != nil {
		return nil, nil, fmt.Errorf("stat a skill: %s", reason(err))
	}
	for _, f := range all {
		if f.info.Mode().IsRegular() {
			files = append(files, FileInfo{f.name, f.info.Size()})
		}
	}
	slices.SortFunc(files, func(a, b FileInfo) int { return strings.Compare(a.Name, b.Name) })
	found, err = scanFiles(fsys, dir, all)
	return files, found, err
}

// FileInfo is one file of a skill.
type FileInfo struct {
	Name string
	Size int64
}
