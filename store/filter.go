package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Filter is a condition on members of an item's value.
type Filter map[string]any

// operators compare a member with a value of a filter.
func operators() []string { return []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"} }

// ParseFilter parses a filter: an object whose members are plain values (objects compare member by member) or objects
// of operators such as {"$gte": 3}. Null and absent filters match everything.
func ParseFilter(raw json.RawMessage) (Filter, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	f, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want an object")
	}
	return f, checkFilter(f)
}

func checkFilter(f map[string]any) error {
	for name, want := range f {
		if strings.HasPrefix(name, "$") && !slices.Contains(operators(), name) {
			return fmt.Errorf("unknown operator %q (want one of %s)", name, strings.Join(operators(), ", "))
		}
		if inner, ok := want.(map[string]any); ok {
			if err := checkFilter(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// Match reports whether a JSON value is an object that satisfies f.
func (f Filter) Match(value []byte) bool {
	if len(f) == 0 {
		return true
	}
	v, err := decodeJSON(value)
	if err != nil {
		return false
	}
	have, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, want := range f {
		member, there := have[name]
		if !matches(member, there, want) {
			return false
		}
	}
	return true
}

// matches compares one member, which may be absent, with a filter.
func matches(have any, there bool, want any) bool {
	conditions, ok := want.(map[string]any)
	if !ok {
		return there && equal(have, want)
	}
	inner, _ := have.(map[string]any)
	for name, w := range conditions {
		if strings.HasPrefix(name, "$") {
			if !operate(name, have, there, w) {
				return false
			}
			continue
		}
		member, there := inner[name]
		if !matches(member, there, w) {
			return false
		}
	}
	return there || len(conditions) > 0
}

func operate(op string, have any, there bool, want any) bool {
	switch op {
	case "$eq":
		return there && equal(have, want)
	case "$ne":
		return !there || !equal(have, want)
	}
	order, ok := compare(have, want)
	if !there || !ok {
		return false
	}
	switch op {
	case "$gt":
		return order > 0
	case "$gte":
		return order >= 0
	case "$lt":
		return order < 0
	}
	return order <= 0
}

// compare orders two numbers or two strings; ok is false for anything else.
func compare(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return cmp.Compare(a, b), ok
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return 0, false
		}
		x, _, errX := big.ParseFloat(a.String(), 10, maxDigits*4, big.ToNearestEven)
		y, _, errY := big.ParseFloat(b.String(), 10, maxDigits*4, big.ToNearestEven)
		if errX != nil || errY != nil {
			return 0, false
		}
		return x.Cmp(y), true
	}
	return 0, false
}
