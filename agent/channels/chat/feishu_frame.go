package chat

import (
	"encoding/binary"
	"errors"
)

// feishuFrame is a message of Feishu's long connection: Protocol Buffers with nine fields.
type feishuFrame struct {
	Seq, Log uint64
	Service  int32
	Method   int32 // 0 control, 1 data
	Headers  []feishuHeader
	Encoding string
	Type     string
	Payload  []byte
	NewLog   string
}

type feishuHeader struct{ Key, Value string }

// maxHeaders is far more than frames have.
const maxHeaders = 64

var errFrame = errors.New("not a Feishu frame")

func (f *feishuFrame) header(key string) string {
	for _, h := range f.Headers {
		if h.Key == key {
			return h.Value
		}
	}
	return ""
}

// field is one field of a message: a number, or bytes.
type field struct {
	number int
	value  uint64
	bytes  []byte
}

// fields reads the fields of a message, in order. Kinds that frames do not have are skipped.
func fields(b []byte, each func(field) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
			return errFrame
		}
		b = b[n:]
		f := field{number: int(tag >> 3)}
		size := 0
		switch tag & 7 {
		case 0:
			f.value, size = binary.Uvarint(b)
			if size <= 0 {
				return errFrame
			}
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			l, n := binary.Uvarint(b)
			if n <= 0 || l > uint64(len(b)-n) {
				return errFrame
			}
			f.bytes, size = b[n:n+int(l)], n+int(l)
		default:
			return errFrame
		}
		if size > len(b) {
			return errFrame
		}
		b = b[size:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// parseFeishu reads a frame. Its payload is a part of b.
func parseFeishu(b []byte) (*feishuFrame, error) {
	var f feishuFrame
	err := fields(b, func(d field) error {
		switch d.number {
		case 1:
			f.Seq = d.value
		case 2:
			f.Log = d.value
		case 3:
			f.Service = int32(d.value)
		case 4:
			f.Method = int32(d.value)
		case 5:
			var h feishuHeader
			err := fields(d.bytes, func(d field) error {
				switch d.number {
				case 1:
					h.Key = string(d.bytes)
				case 2:
					h.Value = string(d.bytes)
				}
				return nil
			})
			if err != nil || len(f.Headers) == maxHeaders {
				return errFrame
			}
			f.Headers = append(f.Headers, h)
		case 6:
			f.Encoding = string(d.bytes)
		case 7:
			f.Type = string(d.bytes)
		case 8:
			f.Payload = d.bytes
		case 9:
			f.NewLog = string(d.bytes)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// encode writes a frame. The first four fields are required, so they are written even if they are zero.
func (f *feishuFrame) encode() []byte {
	var b []byte
	number := func(n int, v uint64) {
		b = binary.AppendUvarint(b, uint64(n)<<3)
		b = binary.AppendUvarint(b, v)
	}
	text := func(to []byte, n int, v string) []byte {
		to = binary.AppendUvarint(to, uint64(n)<<3|2)
		to = binary.AppendUvarint(to, uint64(len(v)))
		return append(to, v...)
	}
	number(1, f.Seq)
	number(2, f.Log)
	number(3, uint64(int64(f.Service)))
	number(4, uint64(int64(f.Method)))
	for _, h := range f.Headers {
		b = text(b, 5, string(text(text(nil, 1, h.Key), 2, h.Value)))
	}
	for i, v := range []string{f.Encoding, f.Type, string(f.Payload), f.NewLog} {
		if v != "" {
			b = text(b, 6+i, v)
		}
	}
	return b
}
