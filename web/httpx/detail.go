package httpx

import (
	"fmt"
	"net/http"
)

// Detail is an error meant for the client. The body of the answer is {"detail": Detail}.
type Detail struct {
	Status int
	Detail any         // a sentence, or a list of [Problem]
	Header http.Header // added to the answer; may be nil
}

// Error implements error.
func (d *Detail) Error() string { return fmt.Sprintf("%d: %v", d.Status, d.Detail) }

// Problem describes an invalid field of a request.
type Problem struct {
	Loc  []string `json:"loc"` // "body" or "query" or "path", then the names that lead to the field
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

// Errorf returns a Detail with a sentence.
func Errorf(status int, format string, args ...any) *Detail {
	return &Detail{Status: status, Detail: fmt.Sprintf(format, args...)}
}

// Invalid returns a 422 about one field. where is "body", "query" or "path".
func Invalid(where, field, format string, args ...any) *Detail {
	return &Detail{Status: http.StatusUnprocessableEntity,
		Detail: []Problem{{Loc: []string{where, field}, Msg: fmt.Sprintf(format, args...), Type: "value_error"}}}
}

// TooLarge returns a 413 that names the limit in bytes and the key that sets it.
func TooLarge(what string, limit int64, key string) *Detail {
	return Errorf(http.StatusRequestEntityTooLarge,
		"%s is larger than %d bytes (%s in the config sets this limit)", what, limit, key)
}
