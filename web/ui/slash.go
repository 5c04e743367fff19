package ui

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/profile"
	"fawn/agent/skills"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Commands of the message box that the pages carry out; the others are the agent's.
const (
	slashCompact = "/compact"
	slashNew     = "/new"
)

// commands handles GET /ui/commands: the list that opens with a slash in the message box.
func (u *UI) commands(c echo.Context) error {
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.NewChatURL)
	}
	ctx := c.Request().Context()
	list := views.Commands{Fresh: c.QueryParam("new") != "", Skills: u.slashSkills(ctx), Agents: u.mentions(ctx)}
	if id := c.QueryParam("thread"); u.FreeID(ctx, id) == nil {
		list.ThreadID = id
		var err error
		if list.Saved, err = u.savedPrompts(ctx); err != nil {
			return err
		}
		list.Saved = slices.DeleteFunc(list.Saved, func(p views.SavedPrompt) bool { // a skill has that word
			return slices.ContainsFunc(list.Skills, func(s views.Partner) bool { return s.Name == p.Name })
		})
		if list.Prompts, err = u.promptsOf(ctx, id); err != nil {
			return err
		}
		if list.Resources, err = u.resourcesOf(ctx, id); err != nil {
			return err
		}
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.Commands(list)))
}

// maxSlashSkills limits the skills of the list; more can still be written out.
const maxSlashSkills = 100

// slashSkills returns the skills that a message can begin with.
func (u *UI) slashSkills(ctx context.Context) (list []views.Partner) {
	if u.Skills == nil {
		return nil
	}
	all, err := u.Skills.Enabled(nil)
	if err != nil {
		u.Log.Warn("couldn't load skills for the slash menu", "err", err)
		return nil
	}
	may := u.Rights(ctx)
	for _, s := range all {
		if _, _, ok := skills.Asked("/" + s.Name); ok && may.May(access.Skill, s.Name) && len(list) < maxSlashSkills {
			list = append(list, views.Partner{Name: s.Name, Text: page.OneLine(s.Description)})
		}
	}
	return list
}

// mentions returns the agents that a message can be addressed to.
func (u *UI) mentions(ctx context.Context) (list []views.Partner) {
	may := u.Rights(ctx)
	for _, e := range u.ownAgents(ctx) {
		if e.Err == nil && may.May(access.Agent, e.Name) {
			list = append(list, views.Partner{Name: e.Name, Text: page.OneLine(e.Description)})
		}
	}
	if len(list) > 0 {
		list = append(list, views.Partner{Name: leadName})
	}
	return list
}

// slash splits a command of the pages into name and rest; name is "" for other text.
func slash(text string) (name, rest string) {
	name, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	if name == slashNew || name == slashCompact && rest == "" {
		return name, rest
	}
	return "", ""
}

// errShort means that there is nothing to shorten yet.
var errShort = errors.New("the chat is empty")

// newChat leads to a new chat with a text in its message box.
func newChat(c echo.Context, text string) error {
	where := views.NewChatURL
	if text != "" {
		where += "?q=" + queryEscape(page.Head(text, page.MaxDraft))
	}
	return page.Frame(c, views.Frame{Location: where}, where)
}

// ownAgents returns the reader's agents, broken ones too.
func (u *UI) ownAgents(ctx context.Context) []profile.Entry {
	if u.Agents == nil {
		return nil
	}
	list, err := u.Agents.List(principal.Owner(ctx))
	if err != nil {
		u.Log.Warn("couldn't list custom agents", "err", err)
	}
	return list
}
