// Package access decides what people may use: models, agents, skills and MCP servers, and how many runs and tokens a
// day, by the rules of their groups. Owners, accounts in no group and servers without accounts are not limited. Package
// web/account authenticates people.
package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fawn/store"
)

// Kind is a kind of thing that may be limited to some people.
type Kind string

// The kinds.
const (
	Model  Kind = "model"
	Agent  Kind = "agent" // custom agents, agents that run as programs of their own, and kinds of helpers
	Skill  Kind = "skill"
	Server Kind = "MCP server"
)

// Rules are the permissions of a group. A nil list allows everything of its kind, an empty one nothing.
type Rules struct {
	Models  []string `json:"models"`
	Agents  []string `json:"agents"`
	Skills  []string `json:"skills"`
	Servers []string `json:"mcp_servers"`
	Tokens  int64    `json:"tokens_per_day"` // 0 for no limit
	Runs    int64    `json:"runs_per_day"`   // 0 for no limit
}

// list returns the rules' list of a kind.
func (r *Rules) list(k Kind) []string {
	switch k {
	case Model:
		return r.Models
	case Agent:
		return r.Agents
	case Skill:
		return r.Skills
	}
	return r.Servers
}

// Limits of a group's fields.
const (
	maxNames  = 500
	maxLength = 200 // bytes of a name
	maxGroups = 200
	maxPeople = 5000
)

// ErrRules means that a group's rules can't be stored; the text has the reason.
var ErrRules = errors.New("the group can't be saved")

// Check returns ErrRules with the reason, or nil.
func (r *Rules) Check() error {
	if r.Tokens < 0 || r.Runs < 0 {
		return fmt.Errorf("%w: a limit is 0 (none) or more", ErrRules)
	}
	for _, list := range [][]string{r.Models, r.Agents, r.Skills, r.Servers} {
		if len(list) > maxNames {
			return fmt.Errorf("%w: a list has at most %d names", ErrRules, maxNames)
		}
		for _, name := range list {
			if name == "" || len(name) > maxLength {
				return fmt.Errorf("%w: a name has 1 to %d bytes", ErrRules, maxLength)
			}
		}
	}
	return nil
}

// Rights are the permissions of one person: the union of their groups'. The zero value allows everything.
type Rights struct {
	groups []Rules
	names  []string // names of the groups
	ask    string   // address of an owner who can change them
}

// Limited reports whether anything is limited.
func (r Rights) Limited() bool { return len(r.groups) > 0 }

// May reports whether the person may use something.
func (r Rights) May(k Kind, name string) bool {
	names, all := r.List(k)
	return all || slices.Contains(names, name)
}

// List returns the allowed names of a kind; all means everything.
func (r Rights) List(k Kind) (names []string, all bool) {
	names = []string{}
	for i := range r.groups {
		list := r.groups[i].list(k)
		if list == nil {
			return nil, true
		}
		names = append(names, list...)
	}
	slices.Sort(names)
	return slices.Compact(names), len(r.groups) == 0
}

// Narrow returns the names of a list that the person may use. A nil list means everything, and stays nil if the kind
// isn't limited.
func (r Rights) Narrow(k Kind, list []string) []string {
	allowed, all := r.List(k)
	switch {
	case all:
		return list
	case list == nil:
		return allowed
	}
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !slices.Contains(allowed, name) })
}

// PerDay returns how many runs and tokens the person may have each day, 0 for no limit. The most generous group counts.
func (r Rights) PerDay() (runs, tokens int64) {
	for i, g := range r.groups {
		if i == 0 {
			runs, tokens = g.Runs, g.Tokens
			continue
		}
		runs, tokens = generous(runs, g.Runs), generous(tokens, g.Tokens)
	}
	return runs, tokens
}

func generous(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// Deny returns the error for something that the person may not use. The name is "" where nothing of the kind is
// allowed.
func (r Rights) Deny(k Kind, name string) error {
	return &Denied{Kind: k, Name: name, Groups: r.names, Ask: r.ask}
}

// ErrDenied matches all refusals of this package.
var ErrDenied = errors.New("not permitted")

// Denied means that the groups of a person don't allow something.
type Denied struct {
	Kind   Kind
	Name   string   // "" if nothing of the kind is allowed
	Groups []string // names of the person's groups
	Ask    string   // address of an administrator, or ""
}

// Error names the refused thing, the reason and the person to ask.
func (e *Denied) Error() string {
	what := fmt.Sprintf("the %s %q", e.Kind, clip(e.Name))
	if e.Name == "" {
		what = fmt.Sprintf("any %s", e.Kind)
	}
	return fmt.Sprintf("you may not use %s: no group of yours (%s) allows it; %s", what, strings.Join(e.Groups, ", "),
		contact(e.Ask))
}

// Unwrap returns ErrDenied.
func (e *Denied) Unwrap() error { return ErrDenied }

// ErrorName names the kind of failure for clients.
func (e *Denied) ErrorName() string { return "AccessDenied" }

// Spent means that a limit for a day is reached.
type Spent struct {
	What  string // runs or tokens
	Limit int64
	Until time.Time // when the next day begins
	Ask   string
}

// Error reports which limit, when it ends, and whom to ask.
func (e *Spent) Error() string {
	return fmt.Sprintf("your daily limit of %s (%d) is reached; it begins again at %s; for more, %s", e.What, e.Limit,
		e.Until.Format("2006-01-02 15:04 MST"), contact(e.Ask))
}

// Unwrap returns ErrDenied.
func (e *Spent) Unwrap() error { return ErrDenied }

// ErrorName names the kind of failure for clients.
func (e *Spent) ErrorName() string { return "DailyLimit" }

func contact(address string) string {
	if address == "" {
		return "ask an administrator of this server"
	}
	return "ask an administrator of this server (" + address + ")"
}

func clip(name string) string {
	if len(name) > maxLength {
		name = name[:maxLength]
	}
	return strings.ToValidUTF8(name, "")
}

// Service manages groups. A nil Service enforces no limits.
type Service struct {
	DB       *store.DB
	Required func() bool   // reports whether accounts are enabled; if not, no limits apply
	Zone     func() string // the time zone whose days count; "" is UTC
	// Regroup calls change, which changes or deletes a group, and updates everything that depends on its members; nil only
	// calls change.
	Regroup func(ctx context.Context, group string, change func() error) error
}

// Of returns the rights of an owner of runs.
func (s *Service) Of(ctx context.Context, owner string) (Rights, error) {
	if s == nil || !s.Required() {
		return Rights{}, nil
	}
	if owner == "" {
		owner = store.DefaultOwner
	}
	role, teams, err := s.DB.TeamsOf(ctx, owner)
	if err != nil || role == "owner" || len(teams) == 0 {
		return Rights{}, err
	}
	var r Rights
	for _, t := range teams {
		var rules Rules
		if err := json.Unmarshal(t.Rules, &rules); err != nil {
			return Rights{}, fmt.Errorf("rules of the group %s: %w", t.Name, err)
		}
		r.groups, r.names = append(r.groups, rules), append(r.names, t.Name)
	}
	r.ask, err = s.contact(ctx)
	return r, err
}

// contact returns the address of the first server owner who can sign in.
func (s *Service) contact(ctx context.Context) (string, error) {
	users, err := s.DB.Users(ctx)
	i := slices.IndexFunc(users, func(u store.User) bool { return u.Role == "owner" && !u.Disabled })
	if err != nil || i < 0 {
		return "", err
	}
	return users[i].Email, nil
}

// Day returns when the current day began and when the next one does.
func (s *Service) Day() (from, to time.Time) {
	zone := time.UTC
	if name := s.Zone(); name != "" {
		if l, err := time.LoadLocation(name); err == nil {
			zone = l
		}
	}
	y, m, d := s.DB.Now().In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone), time.Date(y, m, d+1, 0, 0, 0, 0, zone)
}

// Left returns an owner's remaining tokens for today, 0 for no limit. At a limit it returns a *Spent: for a new run or,
// with its id, for a stored one.
func (s *Service) Left(ctx context.Context, owner string, r Rights, run string) (tokens int64, err error) {
	mostRuns, mostTokens := r.PerDay()
	if mostRuns == 0 && mostTokens == 0 {
		return 0, nil
	}
	from, to := s.Day()
	runs, used, err := s.DB.Used(ctx, owner, from, run)
	if err != nil {
		return 0, err
	}
	if run != "" {
		runs-- // don't count the run itself
	}
	switch {
	case mostTokens > 0 && used >= mostTokens:
		return 0, &Spent{"tokens", mostTokens, to, r.ask}
	case mostRuns > 0 && runs >= mostRuns:
		return 0, &Spent{"runs", mostRuns, to, r.ask}
	case mostTokens == 0:
		return 0, nil
	}
	return mostTokens - used, nil
}

// Spend adds a run's tokens to its owner's day; all runs of the owner share its allowance.
func (s *Service) Spend(ctx context.Context, owner, run string, tokens int64) error {
	return s.DB.CountUsed(ctx, owner, run, tokens)
}

// Today is a person's usage today with their limits; a limit of 0 is none.
type Today struct {
	Runs, Tokens       int64
	MaxRuns, MaxTokens int64
	Until              time.Time
}

// Today returns an owner's usage today.
func (s *Service) Today(ctx context.Context, owner string, r Rights) (t Today, err error) {
	t.MaxRuns, t.MaxTokens = r.PerDay()
	var from time.Time
	from, t.Until = s.Day()
	t.Runs, t.Tokens, err = s.DB.Used(ctx, owner, from, "")
	return t, err
}

// Group is a group of people with its permissions.
type Group struct {
	ID      string
	Name    string
	Members []string // ids of accounts
	Roles   []string // roles whose accounts are all members: admin, user
	Rules   Rules
}

// rolePrefix is the prefix of members that represent a role.
const rolePrefix = "role:"

func groupOf(t store.Team) (Group, error) {
	g := Group{ID: t.ID, Name: t.Name}
	if err := json.Unmarshal(t.Rules, &g.Rules); err != nil {
		return g, fmt.Errorf("rules of the group %s: %w", t.Name, err)
	}
	for _, m := range t.Members {
		if role, ok := strings.CutPrefix(m, rolePrefix); ok {
			g.Roles = append(g.Roles, role)
		} else {
			g.Members = append(g.Members, m)
		}
	}
	return g, nil
}

// Groups returns all groups by name.
func (s *Service) Groups(ctx context.Context) ([]Group, error) {
	teams, err := s.DB.Teams(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Group, len(teams))
	for i, t := range teams {
		if list[i], err = groupOf(t); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Group returns one of them, or store.ErrNotFound.
func (s *Service) Group(ctx context.Context, id string) (Group, error) {
	t, err := s.DB.Team(ctx, id)
	if err != nil {
		return Group{}, err
	}
	return groupOf(t)
}

// Put creates or replaces a group. Errors: ErrRules, store.ErrExists for a name that is taken.
func (s *Service) Put(ctx context.Context, g Group) error {
	g.Name = strings.Join(strings.Fields(g.Name), " ")
	if g.Name == "" || len(g.Name) > maxLength {
		return fmt.Errorf("%w: a name has 1 to %d bytes", ErrRules, maxLength)
	}
	if err := g.Rules.Check(); err != nil {
		return err
	}
	if len(g.Members) > maxPeople {
		return fmt.Errorf("%w: a group has at most %d members", ErrRules, maxPeople)
	}
	t := store.Team{ID: g.ID, Name: g.Name}
	for _, role := range g.Roles {
		if role != "user" && role != "admin" {
			return fmt.Errorf("%w: roles of a group are user and admin; owners aren't limited", ErrRules)
		}
		t.Members = append(t.Members, rolePrefix+role)
	}
	for _, id := range g.Members {
		if _, err := s.DB.User(ctx, id); errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: there is no user %q", ErrRules, clip(id))
		} else if err != nil {
			return err
		}
		t.Members = append(t.Members, id)
	}
	all, err := s.DB.Teams(ctx)
	if err != nil {
		return err
	}
	if len(all) >= maxGroups && !slices.ContainsFunc(all, func(o store.Team) bool { return o.ID == g.ID }) {
		return fmt.Errorf("%w: there are at most %d groups", ErrRules, maxGroups)
	}
	var rules bytes.Buffer
	encoder := json.NewEncoder(&rules)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(g.Rules); err != nil {
		return err
	}
	t.Rules = bytes.TrimSpace(rules.Bytes())
	return s.regroup(ctx, g.ID, func() error { return s.DB.PutTeam(ctx, t) })
}

// regroup changes a group.
func (s *Service) regroup(ctx context.Context, id string, change func() error) error {
	if s.Regroup == nil {
		return change()
	}
	return s.Regroup(ctx, id, change)
}

// Delete removes a group. store.ErrNotFound if it doesn't exist.
func (s *Service) Delete(ctx context.Context, id string) error {
	return s.regroup(ctx, id, func() error { return s.DB.DeleteTeam(ctx, id) })
}
