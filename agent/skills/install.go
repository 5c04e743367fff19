package skills

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of an archive.
const (
	MaxArchive  = 128 << 20 // bytes of the archive itself
	maxMembers  = 4096
	maxMember   = 64 << 20 // bytes of one file
	maxListing  = 4 << 20  // bytes of the archive's own list of files
	maxNesting  = 16       // folders
	maxNameSize = 255      // bytes of a name between two slashes
)

// staging is the folder for skills being assembled; names with a dot aren't skills.
const staging = ".staging"

// Refused is an archive or a text that is not taken, and why.
type Refused struct {
	Why      string
	Findings []Finding
}

// Error explains why.
func (r *Refused) Error() string { return r.Why }

func refuse(format string, args ...any) error { return &Refused{Why: fmt.Sprintf(format, args...)} }

// Install installs a skill from an archive completely, or returns a *Refused or ErrExists without any change. scan also
// applies the content rules; archive rules always apply.
func (l *Library) Install(archive io.ReaderAt, size int64, scan bool) (Skill, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return Skill{}, err
	}
	root, err := l.custom()
	if err != nil {
		return Skill{}, err
	}
	defer root.Close()
	temp := staging + "/" + rand.Text()
	defer func() { _ = root.RemoveAll(temp) }() // leftovers are removed at the next start
	if err := root.MkdirAll(temp, 0o700); err != nil {
		return Skill{}, fmt.Errorf("unpack a skill: %w", err)
	}
	notes, err := unpack(root, temp, archive, size)
	if err != nil {
		return Skill{}, err
	}
	at, s, err := l.check(root, temp, scan)
	if err != nil {
		return Skill{}, err
	}
	if _, err := root.Lstat(s.Name); err == nil {
		return Skill{}, ErrExists // the folder belongs to another skill
	}
	if on, said := l.state[s.Name]; said && !on { // left over from a deleted skill
		if err := writeState(l.o.place(), map[string]bool{s.Name: true}); err != nil {
			return Skill{}, err
		}
	}
	if err := root.Rename(at, s.Name); err != nil {
		return Skill{}, fmt.Errorf("install a skill: %w", err)
	}
	if err := l.changed(s.Name, ""); err != nil {
		return Skill{}, err
	}
	if err := l.refresh(); err != nil {
		return Skill{}, err
	}
	done, err := pick(l.all, s.Name)
	done.Findings = append(slices.Clone(s.Findings), notes...)
	return done, err
}

// check inspects an unpacked skill: its folder, and its description.
func (l *Library) check(root *os.Root, temp string, scan bool) (at string, s Skill, err error) {
	at = temp
	entries, err := fs.ReadDir(root.FS(), temp)
	if err != nil {
		return "", s, fmt.Errorf("look at a skill: %w", err)
	}
	if len(entries) == 1 && entries[0].IsDir() {
		at = path.Join(temp, entries[0].Name())
	}
	files, err := list(root.FS(), at)
	if err != nil {
		return "", s, fmt.Errorf("look at a skill: %w", err)
	}
	top := false
	var below []string // folders with one, which are skills of their own or fixtures of tests
	for _, f := range files {
		switch {
		case f.name == File && f.info.Mode().IsRegular():
			top = true
		case path.Base(f.name) == File && f.info.Mode().IsRegular():
			below = append(below, path.Dir(f.name))
		}
	}
	switch {
	case top:
	case len(below) == 1: // somewhere in a repository
		at = path.Join(at, below[0])
		if files, err = list(root.FS(), at); err != nil {
			return "", s, fmt.Errorf("look at a skill: %w", err)
		}
	case len(below) > 1:
		slices.Sort(below)
		return "", s, refuse("the archive has another %s at %s; pack one skill at a time", File, clip(path.Join(below[0], File)))
	default:
		return "", s, refuse("the archive has no %s at its top", File)
	}
	text, err := readText(root.FS(), path.Join(at, File))
	if err != nil {
		return "", s, fmt.Errorf("look at a skill: %w", err)
	}
	s = Parse(text, "")
	if has(s.Findings, Bad) && at != temp { // the folder may supply the missing name
		s = Parse(text, path.Base(at))
	}
	if has(s.Findings, Bad) || strings.ContainsAny(s.asked, `/\`) { // a name is never a path
		return "", s, &Refused{Why: "the skill's " + worst(s.Findings).String(), Findings: s.Findings}
	}
	if _, err := pick(l.all, s.Name); err == nil {
		return "", s, ErrExists
	}
	if scan {
		found, err := scanFiles(root.FS(), at, files)
		if err != nil {
			return "", s, err
		}
		s.Findings = append(s.Findings, found...)
		if has(found, Bad) {
			return "", s, &Refused{Why: "the skill is not safe: " + worst(found).String(), Findings: found}
		}
	}
	return at, s, nil
}

func worst(list []Finding) Finding {
	for _, sev := range []Severity{Bad, Warn} {
		if i := slices.IndexFunc(list, func(f Finding) bool { return f.Severity == sev }); i >= 0 {
			return list[i]
		}
	}
	return list[0]
}

// custom opens the folder of custom skills, creating it if necessary.
func (l *Library) custom() (*os.Root, error) {
	if err := os.MkdirAll(l.o.Path(), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of skills: %s", reason(err))
	}
	top, err := os.OpenRoot(l.o.Path())
	if err != nil {
		return nil, fmt.Errorf("open the folder of skills: %s", reason(err))
	}
	defer top.Close()
	if err := top.Mkdir(string(Custom), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder of custom skills: %s", reason(err))
	}
	root, err := top.OpenRoot(string(Custom))
	if err != nil {
		return nil, fmt.Errorf("open the folder of custom skills: %s", reason(err))
	}
	return root, nil
}

// unpack writes the plain files of an archive below dir. It counts written bytes, since an archive's declared sizes may
// be wrong.
func unpack(root *os.Root, dir string, archive io.ReaderAt, size int64) (notes []Finding, err error) {
	if size > MaxArchive {
		return nil, refuse("the archive is larger than %d MiB", MaxArchive>>20)
	}
	// Reading the list takes memory per file, however many an archive declares.
	source := &bounded{ReaderAt: archive, left: maxListing}
	z, err := zip.NewReader(source, size)
	if errors.Is(err, errListing) {
		return nil, refuse("the archive has more than %d files", maxMembers)
	}
	if err != nil {
		return nil, refuse("the file is not a valid zip archive")
	}
	if len(z.File) > maxMembers {
		return nil, refuse("the archive has more than %d files", maxMembers)
	}
	source.left = math.MaxInt64 // each file has its own limit
	left := int64(maxBytes)
	seen := map[string]bool{}
	for _, f := range z.File {
		name, err := memberName(f)
		if err != nil {
			return nil, err
		}
		mode := f.Mode()
		switch top, _, _ := strings.Cut(name, "/"); {
		case top == "__MACOSX", strings.HasPrefix(top, "."), name == "":
			continue
		case mode&fs.ModeSymlink != 0:
			notes = append(notes, Finding{File: clip(name), Severity: Hint, Text: "symbolic links are left out",
				Rule: "package-symlink"})
			continue
		case mode.IsDir():
			if err := root.MkdirAll(path.Join(dir, name), 0o700); err != nil {
				return nil, refuse("the archive has a file and a folder called %s", clip(name))
			}
			continue
		case !mode.IsRegular():
			return nil, refuse("%s in the archive is not a plain file", clip(name))
		}
		if key := strings.ToLower(name); seen[key] {
			return nil, refuse("the archive has two files called %s", clip(name))
		} else {
			seen[key] = true
		}
		n, err := unpackFile(root, path.Join(dir, name), f, min(left, maxMember))
		if err != nil {
			return nil, err
		}
		left -= n
	}
	return notes[:min(len(notes), maxFindings)], nil
}

var errListing = errors.New("the list of files is too long")

// bounded limits reading.
type bounded struct {
	io.ReaderAt
	left int64
}

func (b *bounded) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errListing
	}
	return b.ReaderAt.ReadAt(p, off)
}

// memberName returns the name of an archive's file, or refuses one that could lead elsewhere.
func memberName(f *zip.File) (string, error) {
	name := strings.TrimSuffix(f.Name, "/")
	bad := func(why string) (string, error) {
		return "", refuse("the archive has a file with a name that %s: %s", why, clip(strings.ToValidUTF8(f.Name, "?")))
	}
	switch {
	case f.Flags&1 != 0:
		return "", refuse("the archive is encrypted")
	case !utf8.ValidString(f.Name):
		return bad("is not valid UTF-8")
	case strings.HasPrefix(f.Name, "/"):
		return bad("is absolute")
	case strings.ContainsAny(f.Name, `\:`):
		return bad("has a backslash or a colon")
	case strings.ContainsFunc(f.Name,
		func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }):
		return bad("has control characters")
	case strings.Count(name, "/") > maxNesting:
		return bad("lies too deep")
	}
	if name == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return bad("leads out of its folder")
		case part == "" || part == "." || strings.TrimRight(part, " .") != part:
			return bad("not all systems can have")
		case len(part) > maxNameSize:
			return bad("is too long")
		}
	}
	return name, nil
}

// unpackFile writes one file of an archive.
func unpackFile(root *os.Root, at string, f *zip.File, limit int64) (n int64, err error) {
	name := clip(f.Name)
	in, err := f.Open()
	if err != nil {
		return 0, refuse("%s cannot be read from the archive", name)
	}
	defer in.Close()
	if err := root.MkdirAll(path.Dir(at), 0o700); err != nil {
		return 0, refuse("the archive has a file and a folder called %s", clip(path.Dir(f.Name)))
	}
	mode := fs.FileMode(0o600)
	if f.Mode()&0o100 != 0 {
		mode = 0o700
	}
	out, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return 0, refuse("the archive has a file and a folder called %s", name)
	}
	if err != nil {
		return 0, fmt.Errorf("unpack a skill: %s", reason(err))
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	head := make([]byte, 4)
	got, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, refuse("%s cannot be read from the archive", name)
	}
	if program(head[:got]) {
		return 0, &Refused{Why: "the archive has a program: " + name,
			Findings: []Finding{{File: name, Severity: Bad, Text: "programs in machine code are not taken",
				Rule: "package-executable-binary"}}}
	}
	src := &failing{r: io.MultiReader(bytes.NewReader(head[:got]), in)}
	n, err = io.Copy(out, io.LimitReader(src, limit+1))
	switch {
	case src.err != nil:
		return n, refuse("%s cannot be read from the archive", name)
	case err != nil:
		return n, fmt.Errorf("unpack a skill: %s", reason(err))
	case n > limit:
		return n, refuse("the files hold more than %d MiB, or one of them more than %d MiB", maxBytes>>20,
			maxMember>>20)
	}
	return n, nil
}

// failing records read errors, to distinguish them from write errors.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// program reports whether the first bytes are machine code of a common system.
func program(head []byte) bool {
	for _, magic := range []string{"\x7fELF", "MZ", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe",
		"\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe",
		"\xbe\xba\xfe\xca", "\x00asm"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}
