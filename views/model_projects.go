package views

import (
	"net/url"
	"time"
)

// ProjectLink is a project where it is only named.
type ProjectLink struct {
	ID    string
	Name  string
	Icon  string // an emoji or a few letters; empty is the usual icon
	Color string // green, blue, amber, red or none
}

// ProjectsPage is GET /workspace/projects.
type ProjectsPage struct {
	Shell    Shell
	Projects []ProjectRow
	New      bool   // the form to make one is open
	Name     string // in it
	Problem  string // why none was made
}

// ProjectRow is a project of the list.
type ProjectRow struct {
	ProjectLink
	Chats  int
	Shared bool // with the reader, by its owner
}

// ProjectPage is GET /workspace/projects/{id}.
type ProjectPage struct {
	Shell        Shell
	Project      ProjectLink
	Notice       *Notice
	Owns, Writes bool // what the reader may do
	Chats        []ThreadRow
	Instructions string
	Files        []ProjectFile
	Settings     ProjectSettings
	Facts        []MemoryFact // that the reader's chats in it have taught
	Members      []ProjectMember
	Groups       []string // that it can be shared with
	Typed        Refused
	Accounts     bool // there are others to share it with
	Asks         bool // the reader decides whether chats here read the reader's own memory
	Personal     bool // they may
}

// ProjectFile is a file of a project.
type ProjectFile struct {
	Name     string
	URL      string
	Bytes    int64
	Modified time.Time
}

// KeptChoice stands in a form for a choice that the reader isn't told, as they may not use it.
const KeptChoice = "~kept"

// ProjectSettings are the choices that a project makes for its chats.
type ProjectSettings struct {
	Agent, Model          string
	Agents, Models        []string // that can be chosen
	Memory                string   // project, isolated or personal
	Writable              bool
	AllSkills, AllServers bool
	Skills, Servers       []ProjectChoice
	Knowledge             []ProjectChoice
}

// ProjectChoice is one of the skills, servers or collections.
type ProjectChoice struct {
	Name  string
	Label string // of a collection; "" for one that the reader may not read
	On    bool
}

// Refused is a form that couldn't be carried out, with what was typed into it.
type Refused struct {
	Form   string // its action, "" for none
	Values url.Values
}

// Is tells whether it is the form of an action.
func (r Refused) Is(form string) bool { return r.Form == form }

// Get is what was typed into a field of a form, or else what stands there otherwise.
func (r Refused) Get(form, field, otherwise string) string {
	if r.Form == form && r.Values.Has(field) {
		return r.Values.Get(field)
	}
	return otherwise
}

// ProjectMember is somebody who can use a project.
type ProjectMember struct {
	ID   string
	Name string // or the address
	Role string // owner, editor or viewer
	Self bool
}

// MovePage is GET /ui/threads/{id}/project: the project that a chat is in.
type MovePage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Project  string // id of the one it is in
}
