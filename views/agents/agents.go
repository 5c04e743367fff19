package agents

import (
	"context"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// Gallery lists the agents one can talk to, and the assistants that programs made.
func Gallery(p views.AgentsPage) templ.Component { return i18n.In(p.Shell.Lang, gallery(p)) }

// New renders the page to create an agent.
func New(p views.NewAgentPage) templ.Component { return i18n.In(p.Shell.Lang, newAgent(p)) }

// Edit renders the page to edit an agent.
func Edit(p views.AgentPage) templ.Component { return i18n.In(p.Shell.Lang, edit(p)) }

// Skills lists the agents' skills.
func Skills(p views.SkillsPage) templ.Component { return i18n.In(p.Shell.Lang, skills(p)) }

// Skill renders a skill in full.
func Skill(p views.SkillPage) templ.Component { return i18n.In(p.Shell.Lang, skill(p)) }

// InstallSkill asks whether to install a skill from a chat.
func InstallSkill(p views.SkillInstallPage) templ.Component {
	return i18n.In(p.Shell.Lang, installSkill(p))
}

// Missing renders the page of a missing agent or skill.
func Missing(p views.MissingPage) templ.Component { return i18n.In(p.Shell.Lang, missing(p)) }

func missingKey(p views.MissingPage) string {
	if p.Skill {
		return "skills.missing"
	}
	return "agents.missing"
}

func missingIcon(p views.MissingPage) string {
	if p.Skill {
		return "graduation-cap"
	}
	return "bot"
}

// groupText returns the title of a tool group; only built-in groups have more than a name.
func groupText(ctx context.Context, name string) string {
	switch name {
	case "file:read":
		return i18n.C(ctx, "agents.group.read")
	case "file:write":
		return i18n.C(ctx, "agents.group.write")
	case "bash":
		return i18n.C(ctx, "agents.group.bash")
	case "web":
		return i18n.C(ctx, "agents.group.web")
	case "browser":
		return i18n.C(ctx, "agents.group.browser")
	}
	return name
}

// action returns where the form of an agent goes.
func action(f views.AgentForm) string {
	if f.New {
		return views.AgentActionsURL
	}
	return views.AgentActionURL(f.Name, "")
}

// orAny names the choice that leaves something to the chat.
func orAny(v string) string {
	if v == "" {
		return "any"
	}
	return v
}

// modelText returns the display name of a model.
func modelText(m views.ModelChoice) string {
	if m.Label != "" {
		return m.Label
	}
	return m.Name
}

func skillKind(s views.SkillInfo) string {
	switch {
	case s.Custom:
		return "skills.custom"
	case s.Bundled:
		return "skills.bundled"
	}
	return "skills.public"
}

func installTitle(ctx context.Context, p views.SkillInstallPage) string {
	if p.Problem != "" {
		return i18n.C(ctx, "skills.install.failed")
	}
	return i18n.C(ctx, "skills.install.ask", p.Skill.Name)
}

func skillVerb(s views.SkillInfo) string {
	if s.On {
		return "skills.off"
	}
	return "skills.on"
}
