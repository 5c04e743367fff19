package skills

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// supporting are the folders of a skill in which agents may write.
var supporting = []string{"references", "templates", "scripts", "assets"}

// Check applies the content rules to one text and records whether it is executable.
func Check(file, text string) (found []Finding, runs bool) {
	found = append(scanName(file), scanText(file, text)...)
	slices.SortStableFunc(found, func(a, b Finding) int { return weight(a) - weight(b) })
	ext := strings.ToLower(path.Ext(file))
	runs = strings.HasPrefix(file, "scripts/") || strings.HasPrefix(text, "#!") ||
		ext != "" && strings.Contains(scripts, " "+ext+" ")
	return found, runs
}

// Create creates a custom skill from one text. It returns ErrExists or a *Refused.
func (l *Library) Create(text string, by Edit) (Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return Skill{}, err
	}
	s := Parse([]byte(text), "")
	if has(s.Findings, Bad) || has(s.Findings, Warn) {
		return s, &Refused{Why: "the skill's " + worst(s.Findings).String(), Findings: s.Findings}
	}
	if _, err := pick(l.all, s.Name); err == nil {
		return s, ErrExists
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
	if _, err := root.Lstat(s.Name); err == nil {
		return s, ErrExists // the folder belongs to another skill
	}
	temp := staging + "/" + rand.Text()
	err = root.MkdirAll(temp, 0o700)
	if err == nil {
		err = writeFile(root, path.Join(temp, File), []byte(text))
	}
	if err == nil {
		change := by.change("create", "")
		change.Before, change.After, change.Scan = nil, &text, scan
		err = record(root, s.Name, change)
	}
	if err == nil {
		err = root.Rename(temp, s.Name)
	}
	if err != nil {
		return s, errors.Join(fmt.Errorf("create a skill: %s", reason(err)), root.RemoveAll(temp))
	}
	if err := l.changed(s.Name, s.Name); err != nil {
		return s, err
	}
	return l.own(s.Name)
}

// WriteFile writes a file that supports a custom skill, below one of the folders references,
// templates, scripts and assets. It returns ErrNotFound, ErrReadOnly or a *Refused.
func (l *Library) WriteFile(name, file, text string, by Edit) (Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writeFile("write_file", name, file, &text, by)
}

// RemoveFile removes one of these files. A missing one is a *Refused.
func (l *Library) RemoveFile(name, file string, by Edit) (Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writeFile("remove_file", name, file, nil, by)
}

// writeFile writes a text, or removes the file if there is none.
func (l *Library) writeFile(action, name, file string, text *string, by Edit) (Skill, error) {
	s, err := l.own(name)
	if err != nil {
		return s, err
	}
	clean := path.Clean(file)
	top, _, below := strings.Cut(clean, "/")
	switch {
	case !below || !fs.ValidPath(clean) || !slices.Contains(supporting, top) || strings.ContainsAny(clean, "\\:\x00") ||
		!utf8.ValidString(clean):
		return s, refuse("files of a skill go into %s; %s does not", strings.Join(supporting, ", "), clip(file))
	case strings.EqualFold(path.Base(clean), File):
		return s, refuse("a skill has one %s, at its top", File)
	case strings.Count(clean, "/") > maxNesting:
		return s, refuse("%s lies too deep", clip(file))
	}
	scan := Scan{Decision: "allow"}
	if text != nil {
		if len(*text) > MaxText || !utf8.ValidString(*text) {
			return s, refuse("a file may have %d KiB of text", MaxText>>10)
		}
		if scan, err = by.judge(clean, *text); err != nil {
			return s, err
		}
	}
	root, err := l.custom()
	if err != nil {
		return s, err
	}
	defer root.Close()
	at := path.Join(s.Folder, clean)
	change := by.change(action, "")
	change.File, change.Before, change.After, change.Scan = clean, nil, text, scan
	info, err := root.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist) && text == nil:
		return s, refuse("the skill has no file %s", clip(clean))
	case errors.Is(err, fs.ErrNotExist):
		err = root.MkdirAll(path.Dir(at), 0o700)
	case err == nil && !info.Mode().IsRegular():
		return s, refuse("%s is not a plain file", clip(clean))
	case err == nil && info.Size() <= MaxText:
		var f fs.File
		if f, err = root.Open(at); err == nil {
			var b []byte
			b, err = io.ReadAll(io.LimitReader(f, MaxText))
			err = errors.Join(err, f.Close())
			if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
				old := string(b)
				change.Before = &old
			}
		}
	}
	switch {
	case err != nil:
	case text == nil:
		err = root.Remove(at)
	default:
		err = writeFile(root, at, []byte(*text))
	}
	if err == nil {
		err = record(root, name, change)
	}
	if err != nil {
		return s, fmt.Errorf("write a file of a skill: %s", reason(err))
	}
	if err := l.changed(s.Folder, name); err != nil {
		return s, err
	}
	return l.own(name)
}

// judge returns the scanner's verdict on a text: the rules' findings, then the writer's warnings. An unsafe text is a
// *Refused.
func (e Edit) judge(file, text string) (Scan, error) {
	scan := Scan{Decision: "allow"}
	if e.Scan {
		found, _ := Check(file, text)
		if has(found, Bad) {
			return scan, &Refused{Why: "the text is not safe: " + worst(found).String(), Findings: found}
		}
		if len(found) > 0 {
			scan = Scan{"warn", found[0].String()}
		}
	}
	if e.Verdict != nil {
		scan = *e.Verdict
	}
	return scan, nil
}

// ReadFile returns the text of a file of a custom skill. It returns ErrNotFound or a *Refused.
func (l *Library) ReadFile(name, file string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.own(name)
	if err != nil {
		return "", err
	}
	root, err := l.custom()
	if err != nil {
		return "", err
	}
	defer root.Close()
	at := path.Join(s.Folder, path.Clean("/"+file))
	info, err := root.Lstat(at)
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxText {
		return "", refuse("the skill has no text file %s", clip(file))
	}
	f, err := root.Open(at)
	if err != nil {
		return "", fmt.Errorf("read a file of a skill: %s", reason(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxText))
	if err == nil && !utf8.Valid(b) {
		return "", refuse("%s is not a text", clip(file))
	}
	return string(b), err
}
