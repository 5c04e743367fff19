package request

import (
	"encoding/json"
	"errors"
	"fmt"

	"fawn/agent"
)

// ParseValues reads the values of an update: an object of fields, or a list of such objects and of pairs of
// a name and a value, which count as one write in their order.
func ParseValues(raw json.RawMessage) (p agent.State, unknown []string, err error) {
	if raw = Present(raw); raw == nil || raw[0] != '[' {
		return agent.ParsePatch(raw)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return p, nil, err
	}
	if len(list) == 0 {
		return p, nil, errors.New("an empty list updates nothing")
	}
	for i, one := range list {
		if one = Present(one); one != nil && one[0] == '[' {
			name, value, ok := pairOf(one)
			if !ok {
				return p, nil, fmt.Errorf("[%d]: want a pair of a name and a value", i)
			}
			if one, err = agent.Encode(map[string]json.RawMessage{name: value}); err != nil {
				return p, nil, err
			}
		}
		next, more, err := agent.ParsePatch(one)
		if err == nil {
			p, err = agent.Join(p, next)
		}
		if err != nil {
			return p, nil, fmt.Errorf("[%d]: %w", i, err)
		}
		unknown = append(unknown, more...)
	}
	return p, unknown, nil
}

// pairOf reads a list of a name and a value.
func pairOf(raw json.RawMessage) (name string, value json.RawMessage, ok bool) {
	var pair []json.RawMessage
	if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &name) != nil {
		return "", nil, false
	}
	return name, pair[1], true
}
