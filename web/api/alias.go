package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"fawn/agent"
	"fawn/store"
	"fawn/web/api/wire"
)

// addAliases rewrites the message bodies of a snapshot: it adds the role to the type, OpenAI's function to name and
// args, the call to an open question's pending answer, and the files attached to a message that names none.
func addAliases(snap store.Snapshot, done aliases) error {
	var question, asking string
	for _, node := range snap.Checkpoint.Next {
		if node != agent.NodeInterrupt {
			continue
		}
		if q := agent.Question(&agent.State{Messages: wire.Tail(snap)}); q != nil {
			question, asking = q.ID, q.ToolCallID
		}
	}
	files, err := broughtFiles(snap)
	if err != nil {
		return err
	}
	var asked json.RawMessage
	for i, row := range snap.Messages {
		body, calls, err := done.of(row.Body)
		if err != nil {
			return err
		}
		for _, one := range calls {
			if asking != "" && one.id == asking {
				asked = one.raw
			}
		}
		if row.ID == question && asked != nil {
			body = append(append(append([]byte(`{"tool_calls":[`), asked...), `],`...), body[1:]...)
		}
		if list := files[row.ID]; list != nil {
			if body, err = withFiles(body, list); err != nil {
				return err
			}
		}
		snap.Messages[i].Body = body
	}
	return nil
}

// call is a tool call with its alias.
type call struct {
	id  string
	raw json.RawMessage
}

// aliases are the results of aliased by where the body is in memory: states of one thread have most of their messages
// in common. nil remembers nothing.
type aliases map[*byte]struct {
	body  []byte
	calls []call
}

func (a aliases) of(body []byte) ([]byte, []call, error) {
	if len(body) == 0 {
		return aliased(body)
	}
	if done, ok := a[&body[0]]; ok {
		return done.body, done.calls, nil
	}
	out, calls, err := aliased(body)
	if err == nil && a != nil {
		a[&body[0]] = struct {
			body  []byte
			calls []call
		}{out, calls}
	}
	return out, calls, err
}

// aliased returns a message body with role and function added, and its calls in that form.
func aliased(body []byte) ([]byte, []call, error) {
	var head struct {
		Type  string            `json:"type"`
		Calls []json.RawMessage `json:"tool_calls"`
	}
	typ, ok := stored(body)
	// Within a text its quotes would be escaped, so that this can only be a field.
	if !ok || bytes.Contains(body, []byte(`"tool_calls":[{`)) {
		if err := json.Unmarshal(body, &head); err != nil {
			return nil, nil, err
		}
		typ = head.Type
	}
	role := ""
	switch typ {
	case agent.TypeHuman:
		role = "user"
	case agent.TypeAI:
		role = "assistant"
	case agent.TypeTool, agent.TypeSystem:
		role = typ
	default:
		return nil, nil, fmt.Errorf("a stored message has the type %q", typ)
	}
	var calls []call
	if len(head.Calls) > 0 {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(body, &all); err != nil {
			return nil, nil, err
		}
		for i, raw := range head.Calls {
			one, err := withFunction(raw)
			if err != nil {
				return nil, nil, err
			}
			calls, head.Calls[i] = append(calls, one), one.raw
		}
		var err error
		if all["tool_calls"], err = agent.Encode(head.Calls); err != nil {
			return nil, nil, err
		}
		if body, err = agent.Encode(all); err != nil {
			return nil, nil, err
		}
	}
	body = bytes.TrimSpace(body)[1:]
	out := make([]byte, 0, len(body)+len(role)+len(`{"role":"",`))
	return append(append(append(append(out, `{"role":"`...), role...), `",`...), body...), calls, nil
}

// stored reads the type of a body that begins with it, as all bodies written here do.
func stored(body []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(body, []byte(`{"type":"`))
	if !ok {
		return "", false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return "", false
	}
	return string(rest[:end]), true
}

func withFunction(raw json.RawMessage) (call, error) {
	var c struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return call{}, err
	}
	f, err := agent.Encode(map[string]string{"name": c.Name, "arguments": string(c.Args)})
	if err != nil {
		return call{}, err
	}
	raw = bytes.TrimSpace(raw)
	out := append(make([]byte, 0, len(raw)+len(f)+16), raw[:len(raw)-1]...)
	return call{c.ID, append(append(append(out, `,"function":`...), f...), '}')}, nil
}
