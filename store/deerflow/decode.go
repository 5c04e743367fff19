package deerflow

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// Limits of a value: deeper nesting is an attack, and each element of a list takes at least a byte, so no header can
// request more memory than the input's size.
const maxDepth = 64

// Extension types of LangGraph's serializer. Each wraps a list that begins with the module and
// the name of a Python type.
// Between the first and the last are a list of arguments (1), named ones (2), a method with one
// argument (3) and the older models (4).
const (
	extSingle  = 0 // constructor with one argument
	extModelV2 = 5 // Pydantic model, its fields as a map
)

var errShape = errors.New("unexpected form")

// decode reads one MessagePack value: maps as map[string]any, lists as []any, and Python objects as their constructor
// arguments.
func decode(b []byte) (any, error) {
	v, rest, err := value(b, 0)
	if err != nil {
		return nil, fmt.Errorf("read a MessagePack value: %w", err)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("read a MessagePack value: %d bytes are left over", len(rest))
	}
	return v, nil
}

func value(b []byte, depth int) (v any, rest []byte, err error) {
	if depth > maxDepth {
		return nil, b, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	switch t := msgp.NextType(b); t {
	case msgp.MapType:
		return mapping(b, depth)
	case msgp.ArrayType:
		return list(b, depth)
	case msgp.ExtensionType, msgp.Complex64Type, msgp.Complex128Type, msgp.TimeType:
		return extension(b, depth)
	case msgp.StrType:
		s, rest, err := msgp.ReadStringBytes(b)
		return strings.ToValidUTF8(s, "\uFFFD"), rest, err
	case msgp.BinType:
		s, rest, err := msgp.ReadBytesZC(b)
		return strings.ToValidUTF8(string(s), "\uFFFD"), rest, err
	case msgp.BoolType:
		return split(msgp.ReadBoolBytes(b))
	case msgp.IntType:
		return split(msgp.ReadInt64Bytes(b))
	case msgp.UintType:
		return split(msgp.ReadUint64Bytes(b))
	case msgp.Float32Type, msgp.Float64Type:
		f, rest, err := msgp.ReadFloat64Bytes(b)
		if math.IsNaN(f) || math.IsInf(f, 0) { // JSON can't express them
			return nil, rest, err
		}
		return f, rest, err
	case msgp.NilType:
		rest, err = msgp.ReadNilBytes(b)
		return nil, rest, err
	default:
		return nil, b, errShape
	}
}

func split[T any](v T, rest []byte, err error) (any, []byte, error) { return v, rest, err }

func mapping(b []byte, depth int) (any, []byte, error) {
	n, b, err := msgp.ReadMapHeaderBytes(b)
	if err != nil {
		return nil, b, err
	}
	if int64(n)*2 > int64(len(b)) {
		return nil, b, msgp.ErrShortBytes
	}
	m := make(map[string]any, n)
	for range n {
		var k, v any
		if k, b, err = value(b, depth+1); err != nil {
			return nil, b, err
		}
		if v, b, err = value(b, depth+1); err != nil {
			return nil, b, err
		}
		m[fmt.Sprint(k)] = v
	}
	return m, b, nil
}

func list(b []byte, depth int) (any, []byte, error) {
	n, b, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		return nil, b, err
	}
	if int64(n) > int64(len(b)) {
		return nil, b, msgp.ErrShortBytes
	}
	l := make([]any, n)
	for i := range l {
		if l[i], b, err = value(b, depth+1); err != nil {
			return nil, b, err
		}
	}
	return l, b, nil
}

// extension returns a Python object as its constructor arguments. Type names are dropped: messages contain their type.
func extension(b []byte, depth int) (any, []byte, error) {
	kind, ok := extensionType(b)
	switch {
	case !ok:
		return nil, b, msgp.ErrShortBytes
	case kind == msgp.MsgTimeExtension:
		t, rest, err := msgp.ReadTimeBytes(b)
		return t.UTC().Format(time.RFC3339Nano), rest, err
	case kind < extSingle || kind > extModelV2:
		return nil, b, fmt.Errorf("extension %d is not one of LangGraph's", kind)
	}
	raw := msgp.RawExtension{Type: kind}
	rest, err := msgp.ReadExtensionBytes(b, &raw)
	if err != nil {
		return nil, b, err
	}
	inner, left, err := value(raw.Data, depth+1)
	if err != nil {
		return nil, b, err
	}
	args, ok := inner.([]any)
	if !ok || len(args) < 3 || len(left) > 0 {
		return nil, b, errShape
	}
	return args[2], rest, nil
}

// extensionType returns the extension type at the start of b. The library isn't used because it interprets some of
// LangGraph's numbers itself.
func extensionType(b []byte) (int8, bool) {
	at := 1 // fixext has the type after the lead byte, the others a size in between
	switch b[0] {
	case 0xc7:
		at = 2
	case 0xc8:
		at = 3
	case 0xc9:
		at = 5
	}
	if len(b) <= at {
		return 0, false
	}
	return int8(b[at]), true
}
