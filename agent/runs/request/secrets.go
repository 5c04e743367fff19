package request

import (
	"encoding/json"
	"fmt"
	"strings"

	"fawn/agent"
)

// Limits of the secrets of one run.
const (
	maxSecrets     = 64
	maxSecretBytes = 64 << 10 // limit of one value
)

// TakeSecrets moves context.secrets (also of config.context and config.configurable, the first one found) out of the
// stored request. Only the names remain. Errors are ErrInput and never contain a value.
func (r *Request) TakeSecrets() error {
	var found json.RawMessage
	take := func(raw json.RawMessage) (rest json.RawMessage, taken bool, err error) {
		var obj map[string]json.RawMessage
		if json.Unmarshal(raw, &obj) != nil {
			return raw, false, nil // its parser reports the error
		}
		secrets, ok := obj["secrets"]
		if !ok {
			return raw, false, nil
		}
		if found == nil && string(secrets) != "null" {
			found = secrets
		}
		delete(obj, "secrets")
		rest, err = agent.Encode(obj)
		return rest, true, err
	}
	var err error
	if r.Context, _, err = take(r.Context); err != nil {
		return err
	}
	var cfg map[string]json.RawMessage
	if json.Unmarshal(r.Config, &cfg) == nil {
		changed := false
		for _, key := range []string{"context", "configurable"} {
			rest, taken, err := take(cfg[key])
			if err != nil {
				return err
			}
			if taken {
				cfg[key], changed = rest, true
			}
		}
		if changed {
			if r.Config, err = agent.Encode(cfg); err != nil {
				return err
			}
		}
	}
	if found == nil || len(r.Secrets) > 0 { // the run's take precedence over lower ones
		return nil
	}
	if r.Secrets, err = parseSecrets(found); err != nil {
		return err
	}
	r.SecretNames = r.Secrets.Names()
	return nil
}

func parseSecrets(raw json.RawMessage) (agent.Secrets, error) {
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return nil, fmt.Errorf("%w: context.secrets: want an object of names and strings", ErrInput)
	}
	if len(values) > maxSecrets {
		return nil, fmt.Errorf("%w: context.secrets: got %d, want at most %d", ErrInput, len(values), maxSecrets)
	}
	out := agent.Secrets{}
	for name, raw := range values {
		var v string
		switch {
		case len(name) > 128 || !variable(name):
			return nil, fmt.Errorf("%w: context.secrets: %.40q is not the name of a variable", ErrInput, name)
		case json.Unmarshal(raw, &v) != nil || strings.IndexByte(v, 0) >= 0:
			return nil, fmt.Errorf("%w: context.secrets.%s: want a string without NUL", ErrInput, name)
		case len(v) > maxSecretBytes:
			return nil, fmt.Errorf("%w: context.secrets.%s: longer than %d bytes", ErrInput, name, maxSecretBytes)
		}
		out[name] = v
	}
	return out, nil
}

// variable reports whether name can be the name of a variable.
func variable(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
