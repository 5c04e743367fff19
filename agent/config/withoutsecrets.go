package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v4"

	"fawn/agent/config/syntax"
)

// NotInBackup is a placeholder for a secret left out of a backup.
const NotInBackup = "$SECRET_NOT_IN_BACKUP"

// WithoutSecrets returns a configuration file, named as JSON or YAML, with each literal secret replaced by
// NotInBackup. References to variables stay.
func WithoutSecrets(name string, data []byte) ([]byte, error) {
	if strings.HasSuffix(name, ".json") {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("remove secrets from %s: %w", name, err)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(hideSecrets(v, false))
		return b.Bytes(), err
	}
	if len(data) > syntax.MaxBytes {
		return nil, fmt.Errorf("remove secrets from %s: it is larger than 1 MiB", name)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("remove secrets from %s: %w", name, err)
	}
	if doc.Kind == 0 || !hideIn(&doc, false) {
		return data, nil
	}
	return yaml.Marshal(&doc)
}

// holdsSecrets reports whether every text below a key counts as a secret.
func holdsSecrets(key string) bool {
	return SecretKey(key) || key == "env" || key == "headers" || key == "environment"
}

// hidden returns the replacement for a text, and whether it differs.
func hidden(s string, secret bool) (string, bool) {
	if secret && s != "" && !strings.HasPrefix(s, "$") {
		return NotInBackup, true
	}
	if strings.Contains(s, "://") && strings.Contains(s, "@") {
		u, err := url.Parse(s)
		if err != nil {
			return NotInBackup, true
		}
		if _, has := u.User.Password(); has {
			u.User = url.User(u.User.Username())
			return u.String(), true
		}
	}
	return s, false
}

func hideSecrets(v any, secret bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = hideSecrets(x, secret || holdsSecrets(k))
		}
	case []any:
		for i, x := range v {
			v[i] = hideSecrets(x, secret)
		}
	case string:
		s, _ := hidden(v, secret)
		return s
	}
	return v
}

// hideIn hides secrets below a node and reports whether there were any.
func hideIn(n *yaml.Node, secret bool) (did bool) {
	switch n.Kind {
	case yaml.ScalarNode:
		if s, changed := hidden(n.Value, secret); changed {
			n.Value, n.Tag, n.Style = s, "!!str", yaml.DoubleQuotedStyle
			return true
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			did = hideIn(n.Content[i+1], secret || holdsSecrets(n.Content[i].Value)) || did
		}
	default: // an alias has no content
		for _, c := range n.Content {
			did = hideIn(c, secret) || did
		}
	}
	return did
}
