package chattest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

// telegramBody is why the Bot API's server refuses a request before it looks at the method, empty if it does not. A
// body of JSON is nothing or one object; `null` is none.
func telegramBody(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && r.ContentLength != 0 {
		return "unsupported Content-Type"
	}
	switch kind {
	case "multipart/form-data", "application/x-www-form-urlencoded":
		return ""
	case "", "application/json":
	default:
		return "unsupported Content-Type " + kind
	}
	if err := peekObject(r); err != nil {
		return err.Error()
	}
	return ""
}

// peekObject reads a body and puts it back. It is an error unless the body is empty or one JSON object.
func peekObject(r *http.Request) error {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	var v any
	if err := d.Decode(&v); err != nil {
		return errors.New("can't parse the body: " + err.Error())
	}
	if _, object := v.(map[string]any); !object {
		return errors.New("JSON object expected")
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("data after the JSON object")
	}
	return nil
}
