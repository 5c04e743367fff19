package channels

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// answer is a chat's view of a run: the lead agent's text, questions, and the current activity. It is built from the
// run's log alone.
type answer struct {
	lang   string // language tag of texts besides the answer
	parts  []*part
	files  []string // paths that were presented, in order
	doing  string   // the running tool
	status string   // status of the ended run
	failed string   // reason of the failure
	cursor int64
	cut    int // counts changes other than appended text
}

// part is one message. Messages of questions have no id.
type part struct {
	id   string
	text strings.Builder
}

// take applies an event.
func (a *answer) take(ev runevent.Event) {
	a.cursor = ev.To
	if ev.NS != "" { // another agent's
		return
	}
	switch ev.Kind {
	case runevent.KindText:
		if ev.Msg != nil {
			a.doing = ""
			a.part(ev.Msg.ID).text.WriteString(ev.Text)
		}
	case runevent.KindWithdraw:
		var w runevent.Withdrawal
		if json.Unmarshal(ev.Data, &w) == nil && w.NS == "" {
			a.drop(w.ID)
		}
	case runevent.KindToolStart:
		var c agent.ToolCall
		if json.Unmarshal(ev.Data, &c) == nil {
			a.doing = a.words().tool(c.Name)
		}
	case runevent.KindToolResult:
		a.doing = ""
		a.result(ev.Data)
	case runevent.KindStep:
		a.step(ev.Step)
	case runevent.KindError:
		var f runevent.Failure
		if json.Unmarshal(ev.Data, &f) == nil {
			a.failed = f.Message
		}
	case runevent.KindEnd:
		var e runevent.End
		if json.Unmarshal(ev.Data, &e) == nil {
			a.status, a.doing = e.Status, ""
		}
	}
}

// part returns the message of an id, new at the end.
func (a *answer) part(id string) *part {
	if n := len(a.parts); n > 0 && a.parts[n-1].id == id {
		return a.parts[n-1]
	}
	if i := slices.IndexFunc(a.parts, func(p *part) bool { return p.id == id }); i >= 0 {
		a.cut++ // in the middle
		return a.parts[i]
	}
	p := &part{id: id}
	a.parts = append(a.parts, p)
	return p
}

func (a *answer) drop(id string) {
	n := len(a.parts)
	a.parts = slices.DeleteFunc(a.parts, func(p *part) bool { return p.id == id })
	if len(a.parts) != n {
		a.cut++
	}
}

// step adds messages that were not streamed, or are stored in another form than they were streamed.
func (a *answer) step(s *runevent.StepData) {
	if s == nil {
		return
	}
	for i, raw := range s.Messages {
		var m agent.Message
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		switch {
		case m.Type == agent.TypeRemove:
			a.drop(m.ID)
		case m.Type == agent.TypeAI && m.Flag("hide_from_ui"):
			a.drop(m.ID)
		case m.Type == agent.TypeAI && (i < len(s.Whole) && s.Whole[i] || a.has(m.ID)):
			a.set(m.ID, m.Content.String())
		}
	}
}

func (a *answer) has(id string) bool {
	return slices.ContainsFunc(a.parts, func(p *part) bool { return p.id == id })
}

func (a *answer) set(id, text string) {
	p := a.part(id)
	if old := p.text.String(); old != text {
		p.text.Reset()
		p.text.WriteString(text)
		if !strings.HasPrefix(text, old) {
			a.cut++
		}
	}
}

// result adds the outcome of a tool: shared files, or a question.
func (a *answer) result(raw json.RawMessage) {
	var end runevent.ToolEnd
	if json.Unmarshal(raw, &end) != nil {
		return
	}
	var patch struct {
		Artifacts []string `json:"artifacts"`
	}
	if len(end.Patch) > 0 && json.Unmarshal(end.Patch, &patch) == nil {
		for _, p := range patch.Artifacts {
			if strings.HasPrefix(p, outputs) && !slices.Contains(a.files, p) {
				a.files = append(a.files, p)
			}
		}
	}
	var m agent.Message
	var asks struct {
		Question json.RawMessage `json:"human_input"`
	}
	if json.Unmarshal(end.Message, &m) == nil && len(m.Artifact) > 0 && json.Unmarshal(m.Artifact, &asks) == nil &&
		len(asks.Question) > 0 {
		a.set(m.ID, m.Content.String())
	}
}

// solid returns the text so far, without the part that may still be replaced.
func (a *answer) solid() string {
	var b strings.Builder
	for _, p := range a.parts {
		text := p.text.String()
		if strings.TrimSpace(text) == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	return agent.Visible(b.String())
}

// ending returns the text added at the end of a run.
func (a *answer) ending() string {
	switch a.status {
	case runs.Success:
		return ""
	case runs.Interrupted:
		return a.words().stopped
	}
	why := strings.TrimSpace(agent.Head(a.failed, 300))
	if why == "" {
		return a.words().failedAlone
	}
	return fmt.Sprintf(a.words().failed, a.words().ended(why))
}

// words selects texts by the language of the chat.
func (a *answer) words() words { return wordsOf(a.lang) }
