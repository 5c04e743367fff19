package ui

import (
	"context"
	"errors"
	"fmt"

	"fawn/agent/profile"
	"fawn/agent/runs"
	"fawn/store"
)

// removeUser deletes an account with its chats and their files, tasks, agents and memory. It is
// kept out first, so that nothing new begins. What fails can be tried again: the account goes last.
func (u *UI) removeUser(ctx context.Context, id string) error {
	if err := u.Accounts.SetDisabled(ctx, id, true); err != nil {
		return err
	}
	var tasks []string
	if err := u.DB.EachCron(ctx, id, func(c store.Cron) bool {
		tasks = append(tasks, c.ID)
		return true
	}); err != nil {
		return err
	}
	for _, task := range tasks {
		if err := u.DB.DeleteCron(ctx, id, task); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	threads, _, err := u.DB.Threads(ctx, store.ThreadQuery{Owner: id})
	if err != nil {
		return err
	}
	for _, t := range threads {
		err := u.Runs.DeleteThread(ctx, t.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, runs.ErrNotFound) {
			return fmt.Errorf("delete chat %s: %w", t.ID, err)
		}
	}
	if u.Memory != nil {
		for range 2 { // what is cleared can be had back, until something else is
			if _, err := u.Memory.Clear(ctx, id, 0); err != nil {
				return err
			}
		}
	}
	if u.Agents != nil {
		list, err := u.Agents.List(id)
		if err != nil {
			return err
		}
		for _, a := range list {
			if err := u.Agents.Delete(id, a.Name); err != nil && !errors.Is(err, profile.ErrNotFound) {
				return err
			}
		}
		if err := u.Agents.SetUser(id, ""); err != nil {
			return err
		}
	}
	return u.Accounts.Delete(ctx, id)
}
