package syntax

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
)

// Mask replaces secrets in all output.
const Mask = "***"

// Secret is text that must not be shown: printing, logging and JSON output ***, or nothing if it is empty.
type Secret string

// Value returns the text itself, for sending it.
func (s Secret) Value() string { return string(s) }

// String returns *** for a secret that is set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// Format prints the mask for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns the mask, which covers JSON values and map keys.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Headers are names with secret values, such as HTTP headers or environment variables.
type Headers map[string]Secret

// Plain returns a copy with the values in clear.
func (h Headers) Plain() map[string]string {
	out := make(map[string]string, len(h))
	for k, v := range h {
		out[k] = string(v)
	}
	return out
}

// Extra holds keys which Fawn does not interpret. Values are string, bool, int, float64, []any or
// map[string]any. It prints, logs and marshals with the values of secret-sounding keys masked.
type Extra map[string]any

// String returns the masked JSON form.
func (e Extra) String() string {
	b, err := json.Marshal(e)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// Format prints the masked form for every verb.
func (e Extra) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// MarshalJSON returns the masked form.
func (e Extra) MarshalJSON() ([]byte, error) {
	if e == nil {
		return []byte("null"), nil
	}
	return json.Marshal(Masked(map[string]any(e), false))
}

// LogValue returns the masked form.
func (e Extra) LogValue() slog.Value { return slog.StringValue(e.String()) }

// Masked copies a value with every text below a secret-sounding key hidden, and passwords inside URLs.
func Masked(v any, secret bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = Masked(x, secret || SecretKey(k))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = Masked(x, secret)
		}
		return out
	case string:
		if secret && v != "" {
			return Mask
		}
		if strings.Contains(v, "://") && strings.Contains(v, "@") {
			u, err := url.Parse(v)
			if err != nil {
				return Mask
			}
			return u.Redacted()
		}
	}
	return v
}

// SecretKey reports whether a key's name denotes a secret: api_key, accessToken, X-Auth-Token, client_secret. Counts
// and settings about tokens, such as max_tokens, are excluded.
func SecretKey(name string) bool {
	name = strings.ToLower(name)
	words := strings.FieldsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	for _, word := range words {
		for _, end := range [...]string{"key", "keys", "token", "secret", "secrets", "password", "passwd",
			"authorization", "cookie", "credential", "credentials", "dsn"} {
			if strings.HasSuffix(word, end) {
				return true
			}
		}
	}
	return strings.Contains(name, "connection_string")
}
