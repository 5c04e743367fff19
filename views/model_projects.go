package views

import (
	"net/url"
	"time"
)

// ProjectLink identifies a project without its details.
type ProjectLink struct {
	ID    string
	Name  string
	Icon  string // an emoji or a few letters; empty uses the default icon
	Color string // green, blue, amber, red or none
}

// ProjectsPage is GET /workspace/projects.
type ProjectsPage struct {
	Shell    Shell
	Projects []ProjectRow
	New      bool   // the form for a new one is open
	Name     string // entered name
	Problem  string // why none was created
}

// ProjectRow is a project of the list.
type ProjectRow struct {
	ProjectLink
	Chats  int
	Shared bool // shared with the reader by its owner
}

// ProjectPage is GET /workspace/projects/{id}.
type ProjectPage struct {
	Shell        Shell
	Project      ProjectLink
	Notice       *Notice
	Owns, Writes bool // permissions of the reader
	Chats        []ThreadRow
	Instructions string
	Files        []ProjectFile
	Settings     ProjectSettings
	Facts        []MemoryFact // facts from the reader's chats in it
	Members      []ProjectMember
	Groups       []string // groups it can be shared with
	Typed        Refused
	Accounts     bool // other accounts exist to share it with
	Asks         bool // the reader decides whether chats here read the reader's own memory
	Personal     bool // they may read it
}

// ProjectFile is a file of a project.
type ProjectFile struct {
	Name     string
	URL      string
	Bytes    int64
	Modified time.Time
}

// KeptChoice represents a choice hidden from the reader, who may not use it, in a form.
const KeptChoice = "~kept"

// ProjectSettings are the choices that a project makes for its chats.
type ProjectSettings struct {
	Agent, Model          string
	Agents, Models        []string // available choices
	Memory                string   // project, isolated or personal
	Writable              bool
	AllSkills, AllServers bool
	Skills, Servers       []ProjectChoice
	Knowledge             []ProjectChoice
}

// ProjectChoice is one of the skills, servers or collections.
type ProjectChoice struct {
	Name  string
	Label string // label of a collection; "" if the reader may not read it
	On    bool
}

// Refused is a refused form with its input.
type Refused struct {
	Form   string // action of the form, "" for none
	Values url.Values
}

// Is reports whether the refused form has this action.
func (r Refused) Is(form string) bool { return r.Form == form }

// Get returns the input of a field of the refused form, otherwise the given value.
func (r Refused) Get(form, field, otherwise string) string {
	if r.Form == form && r.Values.Has(field) {
		return r.Values.Get(field)
	}
	return otherwise
}

// ProjectMember is a member of a project.
type ProjectMember struct {
	ID   string
	Name string // name or address
	Role string // owner, editor or viewer
	Self bool
}

// MovePage is GET /ui/threads/{id}/project: the project that a chat is in.
type MovePage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Project  string // id of its current project
}
