package views

import "time"

// SkillsPage is GET /workspace/skills.
type SkillsPage struct {
	Shell    Shell
	Skills   []SkillInfo
	Operator bool // the reader may change them
	Problem  string
	Findings []SkillFinding // why an archive was refused, in English
	Address  string         // requested address
}

// SkillInfo is a skill in a list.
type SkillInfo struct {
	Name    string
	Text    string
	Custom  bool
	Bundled bool // comes with the program
	On      bool
	Problem string // why it can't be used, in English
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
	Undo   bool // an earlier text can be restored
}

// SkillPage is GET /workspace/skills/{name}.
type SkillPage struct {
	Shell    Shell
	Skill    SkillInfo
	Path     string // path in the sandbox
	Facts    []SkillFact
	Findings []SkillFinding
	Files    []SkillFile
	Source   string // source of SKILL.md
	Changes  []SkillChange
	Operator bool
	Problem  string // problem of the text in the form
}

// SkillFact is a value of the front matter under a name of the catalogue.
type SkillFact struct{ Key, Value string }

// SkillInstallPage asks whether to install a skill, or explains why it can't be.
type SkillInstallPage struct {
	Shell    Shell
	Name     string // name of the file, or its source address
	Action   string
	Back     string
	Chat     bool   // it is in a chat, to which the page returns
	Sum      string // hash of the file as inspected
	Skill    SkillInfo
	Facts    []SkillFact
	Runs     []string // files that can be run
	Findings []SkillFinding
	Files    []SkillFile
	Problem  string // if set, the other fields are unknown
}
