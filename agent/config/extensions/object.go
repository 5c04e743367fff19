package extensions

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// Object is a JSON object that keeps the order of its members and the text of those that aren't changed.
type Object []Member

// Member is one key of an Object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Parse reads a JSON object. Nothing at all, and null, are an empty one.
func Parse(data []byte) (Object, error) {
	if len(bytes.TrimSpace(data)) == 0 || string(bytes.TrimSpace(data)) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	var out Object
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Key: t.(string)} // the decoder returns only strings here
		if err := d.Decode(&m.Value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the object")
	}
	return out, nil
}

// Get returns the value of a key; nil if there is none.
func (o Object) Get(key string) json.RawMessage {
	for _, m := range o {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// With returns a copy with a value set, in the key's old position if it existed.
func (o Object) With(key string, value json.RawMessage) Object {
	if i := slices.IndexFunc(o, func(m Member) bool { return m.Key == key }); i >= 0 {
		o = slices.Clone(o)
		o[i].Value = value
		return o
	}
	return append(slices.Clip(o), Member{key, value})
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.Key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
