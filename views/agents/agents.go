package agents

import (
	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// Gallery lists the agents one can talk to, and the assistants that programs made.
func Gallery(p views.AgentsPage) templ.Component { return i18n.In(p.Shell.Lang, gallery(p)) }

// New is where agents of one's own will be made.
func New(s views.Shell) templ.Component { return i18n.In(s.Lang, newAgent(s)) }

// Skills lists what is installed.
func Skills(s views.Shell) templ.Component { return i18n.In(s.Lang, skills(s)) }

// Missing is the page of an agent or a skill that is not there.
func Missing(p views.MissingPage) templ.Component { return i18n.In(p.Shell.Lang, missing(p)) }

// example makes an assistant and runs it, in the words of the API.
const example = `POST /assistants
{"graph_id": "lead_agent", "name": "Careful", "context": {"mode": "pro"}}

POST /threads/{thread_id}/runs/stream
{"assistant_id": "<assistant_id>", "input": {"messages": [{"role": "user", "content": "Hello"}]}}`

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
