package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limit limits a request body.
type Limit struct {
	Bytes int64
	Key   string // the configuration key that sets it
}

// Body reads the whole body of r. More bytes than the limit are a 413 before more than the
// limit was read.
func Body(r *http.Request, limit Limit) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	if r.ContentLength > limit.Bytes {
		return nil, TooLarge("the request body", limit.Bytes, limit.Key)
	}
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := b.ReadFrom(io.LimitReader(r.Body, limit.Bytes+1))
	if d := (*Detail)(nil); errors.As(err, &d) {
		return nil, d
	}
	if err != nil {
		return nil, Errorf(http.StatusBadRequest, "the request body could not be read completely")
	}
	if int64(b.Len()) > limit.Bytes {
		return nil, TooLarge("the request body", limit.Bytes, limit.Key)
	}
	return b.Bytes(), nil
}

// Bind decodes a JSON body into the struct at into, regardless of its content type. An absent body
// counts as {}. Unknown fields are ignored, null leaves a field unchanged. A body that isn't a JSON
// object or has a field of the wrong type is a 422 that names the field.
func Bind(r *http.Request, limit Limit, into any) error {
	body, err := Body(r, limit)
	if err != nil {
		return err
	}
	return Decode(body, into)
}

// Decode is [Bind] for a body in memory.
func Decode(body []byte, into any) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || string(body) == "null" {
		return nil
	}
	if err := whole(body); err != nil {
		return err
	}
	err := json.Unmarshal(body, into)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if !json.Valid(body) {
			return &Detail{Status: http.StatusUnprocessableEntity,
				Detail: []Problem{{Loc: []string{"body"}, Msg: "the body is not valid JSON: " + syntax.Error(),
					Type: "json_invalid"}}}
		}
	}
	return &Detail{Status: http.StatusUnprocessableEntity,
		Detail: []Problem{{Loc: append([]string{"body"}, fieldOf(body, into, err)...), Msg: message(err),
			Type: "type_error"}}}
}

// whole rejects text that a decoder would change silently: invalid UTF-8, and halves of surrogate pairs.
func whole(body []byte) error {
	bad := func(format string, args ...any) error {
		return &Detail{Status: http.StatusUnprocessableEntity,
			Detail: []Problem{{Loc: []string{"body"}, Msg: fmt.Sprintf(format, args...), Type: "json_invalid"}}}
	}
	if !utf8.Valid(body) {
		at := 0
		for at < len(body) {
			r, n := utf8.DecodeRune(body[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return bad("the body is not valid UTF-8 at byte %d", at)
	}
	if !bytes.Contains(body, []byte(`\ud`)) && !bytes.Contains(body, []byte(`\uD`)) {
		return nil
	}
	for at := 0; at+1 < len(body); at++ {
		if body[at] != '\\' {
			continue
		}
		if body[at+1] != 'u' {
			at++ // another escape
			continue
		}
		first := escaped(body[at:])
		switch {
		case 0xd800 <= first && first < 0xdc00 && at+6 <= len(body):
			if second := escaped(body[at+6:]); second < 0xdc00 || second > 0xdfff {
				return bad("the escape at byte %d is half of a surrogate pair", at)
			}
			at += 11
		case 0xdc00 <= first && first <= 0xdfff:
			return bad("the escape at byte %d is half of a surrogate pair", at)
		}
	}
	return nil
}

// escaped returns the code of an escape \uXXXX that b begins with, or -1.
func escaped(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// fieldOf finds the field of body that caused err. Names of embedded structs in the path are removed, since clients
// don't know them; a custom decoder's error may lack the position, so the fields are tried one by one.
func fieldOf(body []byte, into any, err error) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		path := strings.Split(wrong.Field, ".")
		for ; len(path) > 0; path = path[1:] {
			if _, ok := fields[path[0]]; ok {
				return path
			}
		}
	}
	for name, raw := range fields {
		one, err := json.Marshal(map[string]json.RawMessage{name: raw})
		if err == nil && json.Unmarshal(one, reflect.New(reflect.TypeOf(into).Elem()).Interface()) != nil {
			return []string{name}
		}
	}
	return nil
}

func message(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	want := "another type"
	switch k := wrong.Type.Kind(); {
	case k == reflect.String:
		want = "a string"
	case k == reflect.Bool:
		want = "true or false"
	case k >= reflect.Int && k <= reflect.Uint64:
		want = "an integer"
	case k == reflect.Float32 || k == reflect.Float64:
		want = "a number"
	case k == reflect.Slice || k == reflect.Array:
		want = "a list"
	case k == reflect.Map || k == reflect.Struct:
		want = "an object"
	}
	return "want " + want + ", got " + wrong.Value
}

// DecodeStrict is [Decode], but refuses fields that into doesn't have, naming them.
func DecodeStrict(body []byte, into any) error {
	if err := Decode(body, into); err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 || string(body) == "null" {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	known := map[string]bool{}
	t := reflect.TypeOf(into).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !known[name] {
			problems = append(problems, Problem{Loc: []string{"body", name}, Msg: "this field is not known",
				Type: "extra_forbidden"})
		}
	}
	if problems != nil {
		return &Detail{Status: http.StatusUnprocessableEntity, Detail: problems}
	}
	return nil
}
