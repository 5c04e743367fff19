package servers

import (
	"strings"

	"fawn/agent/config/syntax"
)

// SecretField reports whether all texts below a key are secrets.
func SecretField(key string) bool {
	return key == "headers" || key == "env" || key == "extra_token_params" || syntax.SecretKey(key)
}

// Secret reports whether an entry has a secret in clear.
func Secret(v any) bool {
	var secret func(v any, under bool) bool
	secret = func(v any, under bool) bool {
		switch v := v.(type) {
		case map[string]any:
			for key, x := range v {
				args, _ := x.([]any)
				masked, _ := maskArgs(x).([]any)
				for i := range args {
					if key == "args" && args[i] != masked[i] {
						return true
					}
				}
				if secret(x, under || SecretField(key)) {
					return true
				}
			}
		case []any:
			for _, x := range v {
				if secret(x, under) {
					return true
				}
			}
		case string:
			return SecretText(v, under)
		}
		return false
	}
	return secret(v, false)
}

// SecretText reports whether a text is a secret: the value of a secret key, or a part of an address.
func SecretText(text string, under bool) bool {
	if _, ref := syntax.Reference(text); ref || text == "" {
		return false
	}
	_, rest, address := strings.Cut(text, "://")
	return under || address && (strings.Contains(rest, "@") || strings.Contains(rest, "?"))
}
