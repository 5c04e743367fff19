package projects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fawn/store"
)

// Groups returns the groups that a person may share with: their own, or all for operators of the
// server.
func Groups(ctx context.Context, db *store.DB, person string, operator bool) (list []store.Team, err error) {
	if operator {
		return db.Teams(ctx)
	}
	_, list, err = db.TeamsOf(ctx, person)
	return list, err
}

// Group returns the member id of a group by its name, among those that a person may share with; "" if there is none.
func Group(ctx context.Context, db *store.DB, person string, operator bool, name string) (member string, err error) {
	list, err := Groups(ctx, db, person, operator)
	for _, t := range list {
		if strings.EqualFold(t.Name, strings.TrimSpace(name)) {
			member = store.GroupMember(t.ID)
		}
	}
	return member, err
}

// Share gives the person with an account of this address, or the group of this name, a role in a project of p's owner.
// operator reports whether the owner runs the server. Errors: *Invalid, *TooMany.
func (s *Service) Share(ctx context.Context, p store.Project, operator bool, email, group string, role store.Role) error {
	if role != store.Viewer && role != store.Editor {
		return &Invalid{"role", "want viewer or editor"}
	}
	member, err := "", error(nil)
	if group != "" && strings.TrimSpace(email) != "" {
		return &Invalid{"email", "give an address or a group"}
	}
	if group != "" {
		if member, err = Group(ctx, s.DB, p.Owner, operator, group); err != nil {
			return err
		}
		if member == "" {
			return &Invalid{"group", "you have no group of this name"}
		}
	} else if member, err = s.account(ctx, p.Owner, email); err != nil {
		return err
	}
	return s.changing(ctx, func() (map[string]store.Role, error) { return s.DB.ThreadRoles(ctx, p.ID, "") },
		func() error { return s.DB.ShareProject(ctx, p.Owner, p.ID, member, role) })
}

// account returns the account with an address for sharing. Errors: *Invalid, *TooMany.
func (s *Service) account(ctx context.Context, owner, email string) (id string, err error) {
	if err := s.misses.Check(owner, s.DB.Now()); err != nil {
		return "", err
	}
	u, err := s.DB.UserByEmail(ctx, strings.TrimSpace(email))
	if errors.Is(err, store.ErrNotFound) {
		s.misses.Count(owner, s.DB.Now())
		return "", &Invalid{"email", "there is no account with this address"}
	}
	if err == nil && u.ID == owner {
		return "", &Invalid{"email", "this is the project's owner"}
	}
	return u.ID, err
}

// Unshare ends the role that a person, or a group, has in a project; a group is also known by its plain id. The chats of
// those who have none then leave it. Errors: store.ErrNotFound.
func (s *Service) Unshare(ctx context.Context, p store.Project, member string) error {
	if member == p.Owner {
		return fmt.Errorf("the owner of project %s: %w", p.ID, store.ErrNotFound)
	}
	leave := func(member string) error {
		return s.changing(ctx, func() (map[string]store.Role, error) { return s.DB.ThreadRoles(ctx, p.ID, "") },
			func() error { return s.DB.LeaveProject(context.WithoutCancel(ctx), member, p.ID) })
	}
	err := leave(member)
	if errors.Is(err, store.ErrNotFound) {
		err = leave(store.GroupMember(member))
	}
	return err
}

// Regroup changes who belongs to a group.
func (s *Service) Regroup(ctx context.Context, group string, change func() error) error {
	return s.changing(ctx, func() (map[string]store.Role, error) { return s.DB.ThreadRoles(ctx, "", group) }, change)
}

// Rerole changes the role that an account has on the server, by which groups have members.
func (s *Service) Rerole(ctx context.Context, person string, change func() error) error {
	return s.changing(ctx, func() (map[string]store.Role, error) { return s.DB.ThreadRolesOf(ctx, person) }, change)
}

// changing changes roles in projects, and ends what runs in the sandboxes of those chats whose owners have another role
// then: these show the project's files. roles are the chats that it may concern, with their owners' roles.
func (s *Service) changing(ctx context.Context, roles func() (map[string]store.Role, error), change func() error) error {
	before, err := roles()
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	var other []string
	for thread, role := range before {
		p, failed := s.DB.ProjectOf(ctx, thread)
		if failed != nil || p.Role != role { // without knowing, they are ended
			other, err = append(other, thread), errors.Join(err, failed)
		}
	}
	if len(other) == 0 {
		return nil
	}
	slices.Sort(other)
	return errors.Join(err, s.Ended(ctx, other))
}

// Limits of sharing with unknown addresses, so that accounts can't be discovered by trying addresses.
const (
	maxMisses  = 20
	missTime   = time.Hour
	maxMissers = 10_000 // counted people; beyond it all counters restart
)

// TooMany means that a person has tried too many addresses.
type TooMany struct{ Wait time.Duration }

// Error reports how long to wait.
func (e *TooMany) Error() string {
	return fmt.Sprintf("too many addresses without an account; try again in %d minutes", int(e.Wait.Minutes())+1)
}

// Misses counts by person addresses that have no account.
type Misses struct {
	mu sync.Mutex
	by map[string]*missed
}

type missed struct {
	n     int
	until time.Time
}

// Check returns *TooMany until the person may try again.
func (m *Misses) Check(person string, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.by[person]; one != nil && one.n >= maxMisses && now.Before(one.until) {
		return &TooMany{one.until.Sub(now)}
	}
	return nil
}

// Count adds one.
func (m *Misses) Count(person string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil || len(m.by) >= maxMissers {
		m.by = map[string]*missed{}
	}
	one := m.by[person]
	if one == nil || !now.Before(one.until) {
		one = &missed{until: now.Add(missTime)}
		m.by[person] = one
	}
	one.n++
}
