package skills

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of reading. Anything beyond is skipped with a finding.
const (
	MaxText        = 256 << 10 // bytes of a SKILL.md
	maxFront       = 64 << 10  // bytes of its front matter
	maxName        = 64
	maxDescription = 1024 // characters
	maxSkills      = 500
	maxDepth       = 8         // folders below public or custom
	maxLooked      = 20_000    // entries of folders
	maxFiles       = 4096      // limit per skill
	maxBytes       = 512 << 20 // limit per skill, in bytes
	maxFindings    = 50
)

// File is the name of the file that makes a folder a skill.
const File = "SKILL.md"

// Category is the origin of a skill.
type Category string

// Categories, which are names of folders too.
const (
	Public Category = "public" // bundled with Fawn, or added manually
	Custom Category = "custom" // installed or written here
)

// Sentinels of this package.
var (
	ErrNotFound = errors.New("skill not found")
	ErrExists   = errors.New("a skill of that name exists already")
	ErrReadOnly = errors.New("only custom skills can be changed")
)

// Skill is one skill. The slices inside belong to the Library.
type Skill struct {
	Name          string
	Description   string
	License       string
	Version       string
	Author        string
	Compatibility string
	AllowedTools  []string // as written; nil restricts nothing
	Secrets       []Secret // variables its commands need
	Category      Category
	Folder        string // below the category, with slashes
	Enabled       bool
	Bundled       bool // comes with the program
	Findings      []Finding

	asked string // the name as written
	mark  string // mark of the files; it changes with them
	text  []byte // text of the SKILL.md
}

// Secret is a variable that a skill needs.
type Secret struct {
	Name     string
	Optional bool
}

// Severity is the consequence of a finding.
type Severity string

// Severities, the worst first.
const (
	Bad  Severity = "error"   // the skill cannot be used
	Warn Severity = "warning" // it can be used, but not installed like this
	Hint Severity = "note"    // for information
)

// Finding is something about a file of a skill.
type Finding struct {
	File     string // below the folder of the skill
	Line     int    // 0 is the whole file
	Severity Severity
	Text     string
	Rule     string // rule of the scanner; "" for a finding of the parser
}

// String returns one line.
func (f Finding) String() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s, line %d: %s", f.File, f.Line, f.Text)
	}
	return f.File + ": " + f.Text
}

// Path returns the path of a skill's text inside the sandbox, where root holds the skills.
func (s Skill) Path(root string) string {
	return root + "/" + string(s.Category) + "/" + s.Folder + "/" + File
}

// Editable reports whether the skill can be changed here.
func (s Skill) Editable() bool { return s.Category == Custom }

// Usable reports whether no finding makes the skill unusable for agents.
func (s Skill) Usable() bool { return !has(s.Findings, Bad) }

// Text returns the whole SKILL.md.
func (s Skill) Text() string { return string(s.text) }

func has(list []Finding, sev Severity) bool {
	for _, f := range list {
		if f.Severity == sev {
			return true
		}
	}
	return false
}

// validName reports whether a name is 1 to 64 lower-case letters, digits and single hyphens.
func validName(name string) bool {
	return name != "" && len(name) <= maxName && slug(name) == name
}

// slug returns the valid name closest to a text.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxName {
			break
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}
