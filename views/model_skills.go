package views

import "time"

// SkillsPage is GET /workspace/skills.
type SkillsPage struct {
	Shell    Shell
	Skills   []SkillInfo
	Operator bool // the reader may change them
	Problem  string
	Findings []SkillFinding // why an archive was refused, in English
	Address  string         // that was asked for
}

// SkillInfo is a skill in a list.
type SkillInfo struct {
	Name    string
	Text    string
	Custom  bool
	Bundled bool // comes with the program
	On      bool
	Problem string // why it cannot be used, in English
}

// SkillFinding is something about a file of a skill, in English.
type SkillFinding struct {
	Severity string // error, warning or note
	Text     string
}

// SkillFile is a file of a skill.
type SkillFile struct {
	Name string
	Size int64
}

// SkillChange is a line of a skill's history.
type SkillChange struct {
	Index  int
	Action string // create, edit, delete or rollback
	File   string // "" is SKILL.md
	At     time.Time
	Undo   bool // there is a text to go back to
}

// SkillPage is GET /workspace/skills/{name}.
type SkillPage struct {
	Shell    Shell
	Skill    SkillInfo
	Path     string // in the sandbox
	Facts    []SkillFact
	Findings []SkillFinding
	Files    []SkillFile
	Source   string // of SKILL.md
	Changes  []SkillChange
	Operator bool
	Problem  string // of the text in the form
}

// SkillFact is a value of the front matter under a name of the catalogue.
type SkillFact struct{ Key, Value string }

// SkillInstallPage asks whether to install a skill, or explains why it can't be.
type SkillInstallPage struct {
	Shell    Shell
	Name     string // name of the file, or its source address
	Action   string
	Back     string
	Chat     bool   // it is in a chat, which the page returns to
	Sum      string // of the file as it was looked at
	Skill    SkillInfo
	Facts    []SkillFact
	Runs     []string // files that can be run
	Findings []SkillFinding
	Files    []SkillFile
	Problem  string // nothing else is known then
}
