package api

import (
	"encoding/json"
	"errors"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/web/httpx"
	"fawn/web/route"
)

// superstep is the combined output of several nodes: one checkpoint.
type superstep struct {
	Updates []struct {
		Values  json.RawMessage `json:"values"`
		Command *struct {
			Update json.RawMessage `json:"update"`
		} `json:"command"`
		AsNode string `json:"as_node"`
	} `json:"updates"`
}

// superstep writes one checkpoint of a thread that has just been made.
func (m mount) superstep(c echo.Context, thread string, s superstep) error {
	patch, err := s.join()
	if err != nil {
		return err
	}
	if err := m.checkPatch(c, "values", patch); err != nil {
		return err
	}
	node := ""
	if len(s.Updates) > 0 {
		node = s.Updates[len(s.Updates)-1].AsNode
	}
	_, err = m.Runs.UpdateState(c.Request().Context(), thread,
		runs.Update{Values: patch, AsNode: node, Strict: m.native})
	if errors.Is(err, runs.ErrInput) {
		return inputError(err, "values", patch)
	}
	return err
}

// join returns all updates as one: messages one after the other, of other fields the last.
func (s superstep) join() (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	var messages []json.RawMessage
	for _, u := range s.Updates {
		raw := route.Given(u.Values)
		if raw == nil && u.Command != nil {
			raw = route.Given(u.Command.Update)
		}
		patch, ok := fieldsOf(raw)
		if !ok {
			return nil, httpx.Invalid("body", "supersteps", "want values that are an object or a list of pairs")
		}
		for name, v := range patch {
			if name != "messages" {
				all[name] = v
				continue
			}
			var list []json.RawMessage
			if json.Unmarshal(v, &list) != nil {
				list = []json.RawMessage{v}
			}
			messages = append(messages, list...)
		}
	}
	if len(messages) > 0 {
		list, err := agent.Encode(messages)
		if err != nil {
			return nil, err
		}
		all["messages"] = list
	}
	return agent.Encode(all)
}

// fieldsOf reads an object, or a list of pairs of a name and a value.
func fieldsOf(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	patch := map[string]json.RawMessage{}
	if raw == nil || json.Unmarshal(raw, &patch) == nil {
		return patch, true
	}
	var pairs [][2]json.RawMessage
	if json.Unmarshal(raw, &pairs) != nil {
		return nil, false
	}
	clear(patch)
	for _, p := range pairs {
		var name string
		if json.Unmarshal(p[0], &name) != nil {
			return nil, false
		}
		patch[name] = p[1]
	}
	return patch, true
}
