package request

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"fawn/agent"
)

// Command is a parsed [Request.Command], LangGraph's Command. It is carried out when the run starts, on the state of
// that time.
type Command struct {
	Given  bool
	Resume json.RawMessage // the answer to the open question; nil without one
	Patch  agent.State     // patch of update
	Node   string          // node of goto: where to continue, "" for the thread's position
}

// CheckCommand returns the problem with the request's command, as ErrInput.
func (r *Request) CheckCommand() error {
	_, err := parseCommand(r.Command)
	return err
}

// parseCommand reads a command. An empty one counts as none.
func parseCommand(raw json.RawMessage) (Command, error) {
	var c Command
	var body struct {
		Resume json.RawMessage `json:"resume"`
		Update json.RawMessage `json:"update"`
		Goto   json.RawMessage `json:"goto"`
	}
	if Present(raw) == nil {
		return c, nil
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return c, fmt.Errorf("%w: command must be an object: %v", ErrInput, err)
	}
	var err error
	if c.Node, err = parseGoto(Present(body.Goto)); err != nil {
		return c, err
	}
	if c.Patch, err = parseUpdate(Present(body.Update)); err != nil {
		return c, err
	}
	c.Resume = Present(body.Resume)
	c.Given = c.Resume != nil || Present(body.Update) != nil || c.Node != ""
	return c, nil
}

// Present returns raw, or nil if it is absent or null.
func Present(raw json.RawMessage) json.RawMessage {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// parseUpdate reads the two forms of an update: an object, or pairs of a name and a value.
func parseUpdate(raw json.RawMessage) (agent.State, error) {
	if raw == nil {
		return agent.State{}, nil
	}
	if raw[0] == '[' {
		var pairs []json.RawMessage
		if err := json.Unmarshal(raw, &pairs); err != nil {
			return agent.State{}, fmt.Errorf("%w: command.update: %v", ErrInput, err)
		}
		patch := make(map[string]json.RawMessage, len(pairs))
		for _, p := range pairs {
			name, value, ok := pairOf(p)
			if !ok {
				return agent.State{}, fmt.Errorf("%w: command.update: want an object, or pairs of a name and a value",
					ErrInput)
			}
			patch[name] = value
		}
		var err error
		if raw, err = agent.Encode(patch); err != nil {
			return agent.State{}, err
		}
	}
	if raw[0] != '{' {
		return agent.State{}, fmt.Errorf("%w: command.update: want an object or a list of pairs", ErrInput)
	}
	p, _, err := agent.ParsePatch(raw)
	if err != nil {
		return agent.State{}, fmt.Errorf("%w: command.update: %v", ErrInput, err)
	}
	p.Sandbox, p.ThreadData = nil, nil // only the server sets them
	for _, m := range p.Messages {
		agent.StripServerKwargs(m)
	}
	return p, nil
}

// parseGoto returns the node where a command continues: a single one, or a list that names one. The end in a list next
// to another node has no effect.
func parseGoto(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &list); err != nil {
			return "", fmt.Errorf("%w: command.goto: %v", ErrInput, err)
		}
	}
	to := ""
	for _, one := range list {
		var name string
		if json.Unmarshal(one, &name) != nil {
			return "", fmt.Errorf("%w: command.goto: want the name of a node; sending a node an input of its own is not supported",
				ErrInput)
		}
		node := agent.CanonicalNode(name)
		switch {
		case node == agent.NodeModel || node == agent.NodeTools:
			if to != "" && to != agent.NodeEnd && to != node {
				return "", fmt.Errorf("%w: command.goto: %s and %s cannot run at the same time", ErrInput, to, node)
			}
			to = node
		case node == agent.NodeEnd:
			if to == "" {
				to = node
			}
		default:
			return "", fmt.Errorf("%w: command.goto: there is no node %.80q (want %s, %s or %s)", ErrInput, name,
				agent.NodeModel, agent.NodeTools, agent.NodeEnd)
		}
	}
	return to, nil
}

// AnswerTo creates the message that answers the open question of s; nil without one.
func AnswerTo(s *agent.State, resume json.RawMessage) *agent.Message {
	question := agent.Question(s)
	if question == nil {
		return nil
	}
	if one, ok := answersByID(resume)[InterruptID(question)]; ok {
		resume = one
	}
	a := answer{Version: 1, Kind: "human_input_response", Source: question.Name, ResponseKind: "text"}
	var given struct {
		Value    *string `json:"value"`
		OptionID string  `json:"option_id"`
	}
	var text string
	decided, isDecision := decision(resume)
	switch {
	case json.Unmarshal(resume, &text) == nil:
		a.Value = text
	case json.Unmarshal(resume, &given) == nil && given.Value != nil:
		a.Value, a.OptionID = *given.Value, given.OptionID
	case isDecision:
		a.Value = decided
	default:
		a.Value = string(resume)
	}
	var asked struct {
		HumanInput struct {
			ID      string `json:"request_id"`
			Options []struct {
				ID    string `json:"id"`
				Label string `json:"label"`
				Value string `json:"value"`
			} `json:"options"`
		} `json:"human_input"`
	}
	if json.Unmarshal(question.Artifact, &asked) == nil {
		a.RequestID = asked.HumanInput.ID
		for _, o := range asked.HumanInput.Options {
			if o.ID != "" && (a.OptionID == o.ID ||
				a.OptionID == "" && (a.Value == o.ID || a.Value == o.Value || a.Value == o.Label)) {
				a.ResponseKind, a.OptionID = "option", o.ID
				if a.Value == o.ID {
					a.Value = o.Value
				}
				break
			}
		}
	}
	if a.ResponseKind != "option" {
		a.OptionID = ""
	}
	return &agent.Message{Type: agent.TypeHuman, Content: agent.Text(a.Value),
		Kwargs: map[string]any{"human_input_response": a.kwargs()}}
}

// decision reads the answer of inboxes for LangChain's human-in-the-loop requests: {"decisions": [{"type":
// "respond", "message": "…"}]}, or the older [{"type": "response", "args": "…"}].
func decision(resume json.RawMessage) (text string, ok bool) {
	type one struct {
		Type    string          `json:"type"`
		Message string          `json:"message"`
		Args    json.RawMessage `json:"args"`
		Edited  struct {
			Args json.RawMessage `json:"args"`
		} `json:"edited_action"`
	}
	var body struct {
		Decisions []one `json:"decisions"`
	}
	if json.Unmarshal(resume, &body.Decisions) != nil && json.Unmarshal(resume, &body) != nil ||
		len(body.Decisions) != 1 {
		return "", false
	}
	d := body.Decisions[0]
	switch d.Type {
	case "respond", "reject", "response":
		if d.Message == "" && json.Unmarshal(d.Args, &d.Message) != nil {
			d.Message = string(d.Args)
		}
		return cmp.Or(d.Message, "I don't want to answer that."), true
	case "approve", "accept":
		return "Yes.", true
	case "ignore":
		return "I don't want to answer that.", true
	case "edit":
		args := cmp.Or(string(Present(d.Edited.Args)), string(Present(d.Args)))
		return args, args != ""
	}
	return "", false
}

// answer is a person's answer to a question, as written by clients.
type answer struct {
	Version                                                int
	Kind, Source, RequestID, ResponseKind, Value, OptionID string
}

func (a answer) kwargs() map[string]any {
	out := map[string]any{"version": a.Version, "kind": a.Kind, "source": a.Source, "request_id": a.RequestID,
		"response_kind": a.ResponseKind, "value": a.Value}
	if a.OptionID != "" {
		out["option_id"] = a.OptionID
	}
	return out
}
