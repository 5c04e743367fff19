package views

import "time"

// The addresses of groups and announcements.
const (
	GroupsURL        = "/ui/groups"
	AnnouncementsURL = "/ui/announcements"
)

// Announcement is an administrator's text for everyone.
type Announcement struct {
	ID      string
	Text    string
	Warning bool
	Over    bool      // it has ended
	Ends    time.Time // zero: never
	Made    time.Time
}

// Announcements is the section of announcements, with the form's values.
type Announcements struct {
	List    []Announcement
	Text    string
	Warning bool
	Days    []int // choices of days to show it; 0 is without an end
	Problem string
}

// Groups is the section of groups.
type Groups struct {
	List    []Group
	New     Group  // form for another one
	Adding  bool   // that form is open
	Open    string // id of the group with an open form
	Confirm string // id of the group about to be deleted
}

// Group is a group of people with its permissions, as in its form.
type Group struct {
	ID      string
	Name    string
	People  []Tick
	Roles   []Tick
	Lists   []GroupList
	Runs    string // a day; "" for no limit
	Tokens  string
	Problem string
}

// GroupList is a group's permissions of one kind.
type GroupList struct {
	Kind  string // models, agents, skills, mcp_servers
	All   bool
	Ticks []Tick
	More  string // other names, separated by commas
}

// Tick is a choice that can be on or off.
type Tick struct {
	Value string
	Label string
	On    bool
}

// Members returns the number of individually chosen people.
func (g Group) Members() (n int) {
	for _, p := range g.People {
		if p.On {
			n++
		}
	}
	return n
}
