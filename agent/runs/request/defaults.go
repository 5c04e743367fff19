package request

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"fawn/agent"
)

// Underlay adds the options of an assistant, in its config and its context, below the request's. Errors: ErrInput.
func (r *Request) Underlay(config, context json.RawMessage) (err error) {
	var said []string
	if r.HeaderModel != "" { // a request's header takes precedence over the assistant's preference
		said = append(said, "model_name")
	}
	r.Config, err = underlay(r.Config, r.Context, config, context, said...)
	return err
}

// underlay merges an assistant's config and context under a run's. Members of config are merged individually, options
// (configurable and both contexts) key by key: the run's value in any of the three places wins, and the assistant's
// context over its config. All of the assistant's options go to configurable, the place with the lowest precedence.
// Options that the run sets elsewhere are left alone.
func underlay(runConfig, runContext, base, baseContext json.RawMessage, elsewhere ...string) (json.RawMessage, error) {
	run, err := members("config", runConfig)
	if err != nil {
		return nil, err
	}
	below, err := members("the assistant's config", base)
	if err != nil {
		return nil, err
	}
	defaults, said := map[string]json.RawMessage{}, map[string]bool{}
	for _, raw := range []json.RawMessage{below["configurable"], below["context"], baseContext} {
		options, err := members("the assistant's options", raw)
		if err != nil {
			return nil, err
		}
		maps.Copy(defaults, options)
	}
	for _, key := range elsewhere {
		said[key] = true
	}
	configurable, err := members("config.configurable", run["configurable"])
	if err != nil {
		return nil, err
	}
	for _, raw := range []json.RawMessage{run["configurable"], run["context"], runContext} {
		options, err := members("context", raw)
		if err != nil {
			return nil, err
		}
		for key, v := range options {
			said[key] = said[key] || string(v) != "null"
		}
	}
	changed := false
	for key, v := range defaults {
		switch {
		case said[key], string(v) == "null", strings.HasPrefix(key, "__"):
		case key == "thread_id", strings.HasPrefix(key, "checkpoint"): // the place of a run is never a default
		default:
			configurable[key], changed = v, true
		}
	}
	for key, v := range below {
		if _, ok := run[key]; !ok && key != "configurable" && key != "context" {
			run[key], changed = v, true
		}
	}
	if !changed {
		return runConfig, nil
	}
	if len(configurable) > 0 {
		if run["configurable"], err = agent.Encode(configurable); err != nil {
			return nil, err
		}
	}
	return agent.Encode(run)
}

// members decodes an object; null and nothing count as empty.
func members(what string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	obj := map[string]json.RawMessage{}
	if len(raw) == 0 || string(raw) == "null" {
		return obj, nil
	}
	if err := json.Unmarshal(raw, &obj); err != nil || obj == nil {
		return nil, fmt.Errorf("%w: %s must be an object", ErrInput, what)
	}
	return obj, nil
}
