package skills

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"fawn/agent/config/extensions"
)

// readState returns the switches of skills by name from the extensions.
func readState(at extensions.Place) (map[string]bool, error) {
	top, err := at.Read()
	if err != nil {
		return nil, fmt.Errorf("read the skill switches: %w", err)
	}
	list, err := extensions.Parse(top.Get("skills"))
	if err != nil {
		return nil, fmt.Errorf("read the skill switches: skills in extensions_config.json is not valid: %w", err)
	}
	state := map[string]bool{}
	for _, m := range list {
		var one struct {
			Enabled *bool `json:"enabled"`
		}
		if json.Unmarshal(m.Value, &one) != nil {
			state[m.Key] = false // the entry's meaning is unclear: keep it off
			continue
		}
		state[m.Key] = one.Enabled == nil || *one.Enabled
	}
	return state, nil
}

// writeState switches skills. Other content is unchanged.
func writeState(at extensions.Place, on map[string]bool) error {
	err := at.Edit(func(top extensions.Object) (extensions.Object, error) {
		list, err := extensions.Parse(top.Get("skills"))
		if err != nil {
			return nil, fmt.Errorf("skills in extensions_config.json is not valid: %w", err)
		}
		for _, name := range slices.Sorted(maps.Keys(on)) {
			old, err := extensions.Parse(list.Get(name))
			if err != nil {
				old = nil
			}
			value, err := old.With("enabled", json.RawMessage(fmt.Sprint(on[name]))).MarshalJSON()
			if err != nil {
				return nil, err
			}
			list = list.With(name, value)
		}
		value, err := list.MarshalJSON()
		if err != nil {
			return nil, err
		}
		return top.With("skills", value), nil
	}, nil)
	if err != nil {
		return fmt.Errorf("switch a skill: %w", err)
	}
	return nil
}
