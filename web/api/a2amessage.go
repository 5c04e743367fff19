package api

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/google/uuid"

	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// maxA2AHistory limits the messages of a context that a client may request.
const maxA2AHistory = 10

// a2aMessage is a client's message to an agent.
type a2aMessage struct {
	Role    string    `json:"role"`
	ID      string    `json:"messageId"`
	Context string    `json:"contextId"`
	Task    string    `json:"taskId"`
	Parts   []a2aPart `json:"parts"`
}

// a2aPart is a piece of a message. It has one of its members.
type a2aPart struct {
	Text *string         `json:"text"`
	Data json.RawMessage `json:"data"`
	File json.RawMessage `json:"file"`
}

// a2aSend are the parameters of both methods that send a message.
type a2aSend struct {
	Message       json.RawMessage `json:"message"`
	Context       json.RawMessage `json:"context"` // context of the run
	Configuration struct {
		History *int `json:"historyLength"`
	} `json:"configuration"`

	message a2aMessage
	text    string
	data    map[string]json.RawMessage
}

// decodeA2A reads an object among the parameters.
func decodeA2A(name string, raw json.RawMessage, into any) error {
	if route.Given(raw) == nil {
		return rpcErrorf(rpcParams, "%s is required", name)
	}
	err := httpx.Decode(raw, into)
	if r := asRefusal(err); r != nil {
		return rpcErrorf(rpcParams, "%s: %s", name, strings.Trim(r.message, ": "))
	}
	return err
}

func checkHistory(n *int) error {
	if n != nil && (*n < 0 || *n > maxA2AHistory) {
		return rpcErrorf(rpcParams, "historyLength: want 0 to %d", maxA2AHistory)
	}
	return nil
}

// parseSend parses and validates a message with its configuration.
func parseSend(raw json.RawMessage) (p a2aSend, err error) {
	if err := decodeA2A("params", raw, &p); err != nil {
		return p, err
	}
	if err := decodeA2A("message", p.Message, &p.message); err != nil {
		return p, err
	}
	role := strings.TrimPrefix(strings.ToLower(p.message.Role), "role_")
	switch {
	case p.message.ID == "":
		return p, rpcErrorf(rpcParams, "message.messageId is required")
	case role != "user" && role != "agent":
		return p, rpcErrorf(rpcParams, "message.role: want user or agent")
	case len(p.message.Parts) == 0:
		return p, rpcErrorf(rpcParams, "message.parts: want at least one part")
	}
	p.message.Role = map[string]string{"user": "human", "agent": "ai"}[role]
	if err := checkHistory(p.Configuration.History); err != nil {
		return p, err
	}
	return p, p.join()
}

// join puts the parts together: texts are one text, data are fields of the input.
func (p *a2aSend) join() error {
	var texts []string
	p.data = map[string]json.RawMessage{}
	for _, part := range p.message.Parts {
		switch {
		case route.Given(part.File) != nil:
			return rpcErrorf(a2aContentType,
				"Files are not taken here: upload them to the thread, which has the id of the context")
		case part.Text != nil:
			texts = append(texts, *part.Text)
		case route.Given(part.Data) != nil:
			var fields map[string]json.RawMessage
			if json.Unmarshal(part.Data, &fields) != nil {
				return rpcErrorf(a2aContentType, "The data of a part must be a JSON object")
			}
			maps.Copy(p.data, fields)
		default:
			return rpcErrorf(a2aContentType, "A part has text or data")
		}
	}
	p.text = strings.Join(texts, "\n")
	return nil
}

// launchTask starts the run for a message. The task is new or continued.
func (k *a2aCall) launchTask(p a2aSend) (r store.Run, task string, err error) {
	thread, waits := p.message.Context, false
	metadata := map[string]string{}
	if p.message.Task != "" {
		t, err := k.find(p.message.Task, p.message.Context)
		if err != nil {
			return r, "", err
		}
		if t.ended() {
			return r, "", rpcErrorf(a2aUnsupported, "The task is %s and takes no further message", t.state)
		}
		thread, waits, metadata["task_id"] = t.run.ThreadID, t.state == a2aWaits, t.id
	} else if thread == "" {
		thread = uuid.Must(uuid.NewV7()).String()
	}
	if !k.ValidID(thread) {
		return r, "", asRPC(k.BadID("message", thread))
	}
	if err := k.Free(k.c, thread); err != nil {
		return r, "", asRPC(err)
	}
	body := map[string]any{"assistant_id": k.assistant.ID, "context": p.Context,
		"metadata": map[string]any{"a2a": metadata}}
	switch answer := p.data["resume"]; {
	case answer != nil && !waits:
		return r, "", rpcErrorf(rpcParams, "The task does not wait for an answer")
	case answer != nil:
		body["command"] = map[string]any{"resume": answers(answer)}
	case waits && p.text != "":
		body["command"] = map[string]any{"resume": p.text}
	default:
		body["input"] = p.input()
	}
	if r, err = k.launch(k.c, thread, body); err != nil {
		return r, "", asRPC(err)
	}
	if task = metadata["task_id"]; task == "" {
		task = taskID(r)
	}
	return r, task, nil
}

// input returns the run's input for a message.
func (p *a2aSend) input() map[string]any {
	in := map[string]any{}
	for name, v := range p.data {
		in[name] = v
	}
	if p.text != "" || len(p.data) == 0 {
		in["messages"] = []any{map[string]string{"type": p.message.Role, "content": p.text, "id": p.message.ID}}
	}
	return in
}

// answers returns the value of a resume: a list of answers with the ids of their questions is a map of them.
func answers(raw json.RawMessage) any {
	var list []struct {
		ID    string          `json:"id"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return raw
	}
	out := make(map[string]json.RawMessage, len(list))
	for _, a := range list {
		if a.ID == "" || a.Value == nil {
			return raw
		}
		out[a.ID] = a.Value
	}
	return out
}
