package ui

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/profile"
	"fawn/store"
	"fawn/views"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Where a thread's metadata keeps which agent it talks to, and that the agent is being made.
const (
	agentKey  = "agent_name"
	makingKey = "fawn_making"
)

// leadName, written after an @, returns a chat to the lead agent.
const leadName = "fawn"

// talk is the agent that a thread talks to; the lead agent has no name.
type talk struct {
	Name   string
	Making bool // it is being created in this thread
}

// talkOf reads the agent of a thread, nil for a new one. Threads of a deleted agent belong to the lead agent; an agent
// created meanwhile takes part.
func (u *UI) talkOf(ctx context.Context, t *store.Thread) talk {
	if t == nil || u.Agents == nil {
		return talk{}
	}
	var meta struct {
		Name      *string `json:"agent_name"`
		Making    bool    `json:"fawn_making"`
		Assistant string  `json:"assistant_id"`
	}
	if json.Unmarshal(t.Metadata, &meta) != nil {
		return talk{}
	}
	asked := meta.Assistant
	if meta.Name != nil {
		asked = *meta.Name
	}
	name, err := profile.Spelled(asked)
	switch {
	case err != nil || name == "":
		return talk{}
	case u.Agents.Has(principal.Owner(ctx), name):
		return talk{Name: name}
	case meta.Making && meta.Name != nil:
		return talk{name, true}
	}
	return talk{}
}

// mention returns the agent that a text begins with, as in "@name do this".
func (u *UI) mention(ctx context.Context, text string) (name string, ok bool) {
	word, found := strings.CutPrefix(strings.TrimSpace(text), "@")
	if !found || u.Agents == nil {
		return "", false
	}
	if i := strings.IndexAny(word, " \n\t"); i >= 0 {
		word = word[:i]
	}
	word = strings.ToLower(strings.TrimRight(word, ",:"))
	if word == leadName {
		return "", true
	}
	return word, u.Agents.Has(principal.Owner(ctx), word)
}

// talking selects the agent of the next run: the one named at the start of the message, for a new thread the form's,
// else the current one. model is the preference of an agent that takes over.
func (u *UI) talking(ctx context.Context, t *store.Thread, form url.Values) (now talk, model string) {
	now = u.talkOf(ctx, t)
	owner := principal.Owner(ctx)
	if t == nil && u.Agents != nil {
		if name, err := profile.Name(form.Get("agent")); err == nil {
			if has := u.Agents.Has(owner, name); has || form.Get("making") != "" {
				now = talk{name, !has}
			}
		}
	}
	name, ok := u.mention(ctx, form.Get("text"))
	if !ok || name == now.Name && !now.Making {
		return now, ""
	}
	if name != "" {
		if a, err := u.Agents.Get(owner, name); err == nil {
			model = a.Model
		}
	}
	return talk{Name: name}, model
}

// options adds the agent to the options of a run.
func (w talk) options(o map[string]any) {
	if w.Name != "" {
		o["agent_name"] = w.Name
	}
	if w.Making {
		o["is_bootstrap"] = true
	}
}

// keepTalk stores a thread's new agent.
func (u *UI) keepTalk(ctx context.Context, t store.Thread, now talk) error {
	if u.talkOf(ctx, &t) == now {
		return nil
	}
	meta := map[string]any{agentKey: now.Name}
	if now.Making {
		meta[makingKey] = true
	}
	merge, err := agent.Encode(meta)
	if err != nil {
		return err
	}
	return u.DB.Commit(ctx, store.Batch{ThreadID: t.ID, Patch: &store.ThreadPatch{Merge: merge}})
}

// partner returns the agent of a thread as pages show it.
func (u *UI) partner(ctx context.Context, w talk) views.Partner {
	p := views.Partner{Name: w.Name, Making: w.Making}
	if w.Name != "" && !w.Making {
		if a, err := u.Agents.Get(principal.Owner(ctx), w.Name); err == nil {
			p.Text = page.OneLine(a.Description)
		}
	}
	return p
}

// invited returns the agent named in the address of a new chat.
func (u *UI) invited(c echo.Context) talk {
	name, err := profile.Name(c.QueryParam("agent"))
	if err != nil || u.Agents == nil || !u.Agents.Has(principal.Owner(c.Request().Context()), name) {
		return talk{}
	}
	return talk{Name: name}
}

// otherTalk reports whether a thread's agent differs from its page's, whose form assumes that the agent is still being
// created.
func (u *UI) otherTalk(ctx context.Context, before, after store.Thread, form url.Values) bool {
	now := u.talkOf(ctx, &after)
	return now != u.talkOf(ctx, &before) || form.Get("making") != "" && !now.Making
}

// beginMaking begins a chat in which an agent is made.
func (u *UI) beginMaking(c echo.Context, thread, name, text string) (problem string, status int, err error) {
	_, err = u.start(c, thread, text, url.Values{"agent": {name}, "making": {"1"}})
	if err == nil {
		return "", 0, nil
	}
	if problem, status = u.refusal(c, err); problem == "" {
		return "", 0, err
	}
	return problem, status, nil
}
