package route

import (
	"context"
	"errors"

	"fawn/agent/channels"
	"fawn/agent/config"
	"fawn/agent/profile"
	"fawn/agent/runs/request"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/web/bots"
)

// TaskParts are the parts that scheduled tasks need. Only DB must be set.
type TaskParts struct {
	DB        *store.DB
	Scheduler *schedule.Scheduler
	Config    func() *config.Snapshot
	Agents    *profile.Library
	Bots      *bots.Service
}

// NewTasks returns the service of scheduled tasks for the API and the pages.
func NewTasks(p TaskParts) *schedule.Tasks {
	return schedule.NewTasks(schedule.TasksConfig{DB: p.DB, Scheduler: p.Scheduler, Rules: p.rules,
		Assistant: p.assistant, Chat: p.chat})
}

func (p TaskParts) rules() schedule.Rules {
	file := config.Default()
	if p.Config != nil {
		if s := p.Config(); s != nil {
			file = s.File
		}
	}
	return schedule.Rules{MinOnceDelay: file.Scheduler.MinOnceDelay, MaxPrompt: file.Server.MaxMessageBytes}
}

// assistant finds the built-in assistant, a stored one or a custom agent.
func (p TaskParts) assistant(ctx context.Context, owner, name string) (string, error) {
	if request.BuiltIn(name) {
		return request.LeadAssistant, nil
	}
	found, err := p.DB.Assistant(ctx, owner, name)
	if errors.Is(err, store.ErrNotFound) && p.Agents != nil {
		if spelled, bad := profile.Spelled(name); bad == nil && p.Agents.Has(owner, spelled) {
			return spelled, nil
		}
	}
	return found.ID, err
}

// chat returns a chat of an account of owner, or a group that owner let the bot into.
func (p TaskParts) chat(ctx context.Context, owner, chat string) (string, error) {
	d, ok := channels.ParseDestination(chat)
	if !ok || !p.Bots.Available() {
		return "", store.ErrNotFound
	}
	_, ok, err := p.Bots.Hub.Find(ctx, owner, d)
	if err == nil && !ok {
		err = store.ErrNotFound
	}
	return d.String(), err
}
