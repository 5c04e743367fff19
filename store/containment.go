package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
)

// decodeJSON decodes one JSON value with its numbers as written.
func decodeJSON(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// containsAll reports whether JSON contains everything in want. Invalid JSON contains nothing.
func containsAll(raw []byte, want map[string]any) bool {
	if len(want) == 0 {
		return true
	}
	have, err := decodeJSON(raw)
	return err == nil && contains(have, want)
}

// contains reports whether have contains want: objects by key and recursively, arrays and scalars by equality.
func contains(have, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return equal(have, want)
	}
	h, ok := have.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range w {
		hv, there := h[k]
		if !there || !contains(hv, v) {
			return false
		}
	}
	return true
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			bv, there := b[k]
			if !there || !equal(v, bv) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(a.String(), b.String())
	}
	return a == b // string, bool or nil
}

// maxDigits limits the exact comparison: 1e999999999 is a valid number.
const maxDigits = 64

// equalNumbers compares by value, so that 1 and 1.0 are the same.
func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	x, _, errX := big.ParseFloat(a, 10, maxDigits*4, big.ToNearestEven)
	y, _, errY := big.ParseFloat(b, 10, maxDigits*4, big.ToNearestEven)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
