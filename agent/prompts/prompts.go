// Package prompts stores saved prompts: a person's own, and those shared with everyone or a group. A text may have
// named fields, which are filled in when it's used.
package prompts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"fawn/store"
)

// Limits of a prompt.
const (
	MaxPrompts = 500      // limit per person
	MaxName    = 50       // characters
	MaxAbout   = 200      // characters
	MaxText    = 32 << 10 // bytes
	MaxFields  = 20

	maxFieldName = 60 // characters
)

// Reserved returns the names that commands of the message box have.
func Reserved() []string { return []string{"compact", "goal", "new"} }

// Invalid is something that no prompt can have.
type Invalid struct{ Field, Why string }

// Error names the field and the reason.
func (e *Invalid) Error() string { return e.Field + ": " + e.Why }

// ErrForbidden means that a shared prompt may be used but not changed.
var ErrForbidden = errors.New("only its owner and administrators can change this prompt")

// Who identifies the user of a call and its rights to prompts.
type Who struct {
	Owner    string
	Operator bool // an administrator, who manages shared prompts
}

// Prompt is a prompt as seen by one person.
type Prompt struct {
	store.SavedPrompt
	Mine     bool
	Editable bool
}

// Audience is a group that a prompt can be shared with.
type Audience struct{ ID, Name string }

// Service keeps prompts.
type Service struct {
	DB *store.DB
	// Shares reports whether there are other accounts to share with; nil means no.
	Shares func() bool
}

func (s *Service) shares() bool { return s.Shares != nil && s.Shares() }

func seen(p store.SavedPrompt, by Who) Prompt {
	mine := p.Owner == by.owner()
	return Prompt{p, mine, mine || by.Operator}
}

func (w Who) owner() string {
	if w.Owner == "" {
		return store.DefaultOwner
	}
	return w.Owner
}

// List returns a person's usable prompts by name; with all, administrators also get prompts of groups they don't belong
// to.
func (s *Service) List(ctx context.Context, by Who, all bool) ([]Prompt, error) {
	rows, err := s.DB.SavedPrompts(ctx, by.Owner, all && by.Operator)
	if err != nil {
		return nil, err
	}
	list := make([]Prompt, len(rows))
	for i, p := range rows {
		list[i] = seen(p, by)
	}
	return list, nil
}

// Get returns a prompt, or store.ErrNotFound.
func (s *Service) Get(ctx context.Context, by Who, id string) (Prompt, error) {
	p, err := s.DB.SavedPrompt(ctx, by.Owner, id, by.Operator)
	if err != nil {
		return Prompt{}, err
	}
	return seen(p, by), nil
}

// Called returns the prompt with a name: the person's own, else the oldest one shared with them. Errors:
// store.ErrNotFound.
func (s *Service) Called(ctx context.Context, by Who, name string) (Prompt, error) {
	name = tidyName(name)
	list, err := s.List(ctx, by, false)
	if err != nil {
		return Prompt{}, err
	}
	found := slices.DeleteFunc(list, func(p Prompt) bool { return p.Name != name })
	if len(found) == 0 {
		return Prompt{}, fmt.Errorf("prompt %s: %w", name, store.ErrNotFound)
	}
	if i := slices.IndexFunc(found, func(p Prompt) bool { return p.Mine }); i >= 0 {
		return found[i], nil
	}
	return found[0], nil
}

// Audiences returns the groups a person may share prompts with: their own, or all for administrators. everybody reports
// whether the whole server is included.
func (s *Service) Audiences(ctx context.Context, by Who) (groups []Audience, everybody bool, err error) {
	if !s.shares() {
		return nil, false, nil
	}
	var teams []store.Team
	if by.Operator {
		teams, err = s.DB.Teams(ctx)
	} else {
		_, teams, err = s.DB.TeamsOf(ctx, by.owner())
	}
	for _, t := range teams {
		groups = append(groups, Audience{t.ID, t.Name})
	}
	return groups, by.Operator, err
}

// Draft holds the editable fields of a prompt.
type Draft struct {
	Name   string
	About  string
	Text   string
	Shared string // see [store.SavedPrompt]
}

func tidyName(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), "/"))
}

// check tidies a draft. The error is an *Invalid.
func (d *Draft) check() error {
	d.Name = tidyName(d.Name)
	d.About = strings.Join(strings.Fields(d.About), " ")
	d.Text = strings.TrimSpace(strings.ReplaceAll(d.Text, "\r\n", "\n"))
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	}
	switch {
	case d.Name == "" || utf8.RuneCountInString(d.Name) > MaxName || strings.ContainsFunc(d.Name, odd) || !utf8.ValidString(d.Name):
		return &Invalid{"name", fmt.Sprintf("want 1 to %d letters, digits, hyphens or underscores", MaxName)}
	case slices.Contains(Reserved(), d.Name):
		return &Invalid{"name", fmt.Sprintf("/%s is a command; choose another name", d.Name)}
	case utf8.RuneCountInString(d.About) > MaxAbout || !utf8.ValidString(d.About):
		return &Invalid{"description", fmt.Sprintf("want at most %d characters", MaxAbout)}
	case d.Text == "":
		return &Invalid{"text", "must not be empty"}
	case len(d.Text) > MaxText:
		return &Invalid{"text", fmt.Sprintf("want at most %d bytes", MaxText)}
	case !utf8.ValidString(d.Text):
		return &Invalid{"text", "is not valid UTF-8"}
	case len(Fields(d.Text)) > MaxFields:
		return &Invalid{"text", fmt.Sprintf("want at most %d fields", MaxFields)}
	}
	return nil
}

// mayShare checks a prompt's audience. The error is an *Invalid.
func (s *Service) mayShare(ctx context.Context, by Who, with string) error {
	if with == "" {
		return nil
	}
	groups, everybody, err := s.Audiences(ctx, by)
	switch {
	case err != nil:
		return err
	case with == store.SharedWithAll && everybody, slices.ContainsFunc(groups, func(g Audience) bool { return g.ID == with }):
		return nil
	case !s.shares():
		return &Invalid{"shared_with", "this server has no accounts to share with"}
	case with == store.SharedWithAll:
		return &Invalid{"shared_with", "only administrators can share with everybody"}
	}
	return &Invalid{"shared_with", "want a group that you belong to"}
}

// own counts a person's own prompts by name.
func (s *Service) own(ctx context.Context, by Who) (map[string]string, error) {
	list, err := s.List(ctx, by, false)
	texts := map[string]string{}
	for _, p := range list {
		if p.Mine {
			texts[p.Name] = p.Text
		}
	}
	return texts, err
}

// errFull returns the error for more prompts than a person can have.
func errFull() error { return &Invalid{"prompts", fmt.Sprintf("you can keep at most %d", MaxPrompts)} }

// Create stores a new prompt. Errors: *Invalid; store.ErrExists for a name that another prompt of theirs has.
func (s *Service) Create(ctx context.Context, by Who, d Draft) (Prompt, error) {
	err := d.check()
	if err == nil {
		err = s.mayShare(ctx, by, d.Shared)
	}
	if err != nil {
		return Prompt{}, err
	}
	have, err := s.own(ctx, by)
	if err != nil {
		return Prompt{}, err
	}
	if len(have) >= MaxPrompts {
		return Prompt{}, errFull()
	}
	p := store.SavedPrompt{ID: uuid.Must(uuid.NewV7()).String(), Owner: by.owner(), Name: d.Name, About: d.About, Text: d.Text,
		Shared: d.Shared}
	if err := s.DB.AddPrompts(ctx, p); err != nil {
		return Prompt{}, err
	}
	return s.Get(ctx, by, p.ID)
}

// Change applies change to a prompt. Errors: those of change, *Invalid, ErrForbidden, store.ErrNotFound,
// store.ErrExists.
func (s *Service) Change(ctx context.Context, by Who, id string, change func(*Draft) error) (Prompt, error) {
	p, err := s.Get(ctx, by, id)
	if err != nil {
		return Prompt{}, err
	}
	if !p.Editable {
		return Prompt{}, ErrForbidden
	}
	was := Draft{p.Name, p.About, p.Text, p.Shared}
	d := was
	err = change(&d)
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return Prompt{}, err
	}
	if d.Shared != was.Shared || d != was && d.Shared != store.SharedWithAll { // also for a group that its owner has left
		if err := s.mayShare(ctx, by, d.Shared); err != nil {
			return Prompt{}, err
		}
	}
	p.Name, p.About, p.Text, p.Shared = d.Name, d.About, d.Text, d.Shared
	if err := s.DB.ChangePrompt(ctx, p.SavedPrompt); err != nil {
		return Prompt{}, err
	}
	if !p.Mine && p.Shared == "" { // no longer visible to the user who stopped sharing it
		return p, nil
	}
	return s.Get(ctx, by, id)
}

// Delete removes a prompt. Errors: ErrForbidden, store.ErrNotFound.
func (s *Service) Delete(ctx context.Context, by Who, id string) error {
	p, err := s.Get(ctx, by, id)
	if err != nil {
		return err
	}
	if !p.Editable {
		return ErrForbidden
	}
	return s.DB.DeletePrompt(ctx, id)
}

// Duplicate copies a usable prompt to the person's own.
func (s *Service) Duplicate(ctx context.Context, by Who, id string) (Prompt, error) {
	p, err := s.Get(ctx, by, id)
	if err != nil {
		return Prompt{}, err
	}
	have, err := s.own(ctx, by)
	if err != nil {
		return Prompt{}, err
	}
	return s.Create(ctx, by, Draft{Name: freeName(p.Name, have), About: p.About, Text: p.Text})
}

// freeName returns a name that none of the others have: NAME, else NAME-2 and so on.
func freeName(name string, taken map[string]string) string {
	for n := 2; ; n++ {
		if _, there := taken[name]; !there {
			return name
		}
		base, end := name, "-"+strconv.Itoa(n)
		if i := strings.LastIndexByte(name, '-'); i > 0 && n > 2 {
			base = name[:i]
		}
		for utf8.RuneCountInString(base)+len(end) > MaxName {
			_, size := utf8.DecodeLastRuneInString(base)
			base = base[:len(base)-size]
		}
		name = base + end
	}
}
