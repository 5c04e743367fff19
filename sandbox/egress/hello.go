package egress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// errHello marks bytes that do not begin a TLS connection.
var errHello = errors.New("not a TLS client hello")

const (
	recordHandshake = 22
	messageHello    = 1
	extensionName   = 0
	// helloLimit limits the message; with post-quantum keys it has about 2 KB.
	helloLimit = 32 << 10
	// recordLimit is the largest plain record that TLS permits.
	recordLimit = 16 << 10
)

// readHello reads the TLS records of a client's first message and returns them unchanged, with their server name: "" if
// there is none. It reads nothing after the message.
func readHello(r io.Reader) (raw []byte, name string, err error) {
	var message []byte
	for {
		start := len(raw)
		raw = append(raw, 0, 0, 0, 0, 0)
		header := raw[start:]
		if _, err := io.ReadFull(r, header); err != nil {
			return nil, "", fmt.Errorf("read hello: %w", err)
		}
		size := int(binary.BigEndian.Uint16(header[3:]))
		if header[0] != recordHandshake || header[1] != 3 || size == 0 || size > recordLimit ||
			len(message)+size > helloLimit {
			return nil, "", errHello
		}
		start = len(raw)
		raw = append(raw, make([]byte, size)...)
		if _, err := io.ReadFull(r, raw[start:]); err != nil {
			return nil, "", fmt.Errorf("read hello: %w", err)
		}
		message = append(message, raw[start:]...)
		if message[0] != messageHello {
			return nil, "", errHello
		}
		if len(message) < 4 {
			continue
		}
		need := 4 + int(message[1])<<16 + int(message[2])<<8 + int(message[3])
		switch {
		case need > helloLimit || len(message) > need:
			// Clients send nothing more before the server's answer.
			return nil, "", errHello
		case len(message) == need:
			name, err = serverName(message[4:])
			return raw, name, err
		}
	}
}

// octets parses a message; once data is missing, every part is empty and bad is set.
type octets struct {
	b   []byte
	bad bool
}

func (o *octets) take(n int) []byte {
	if o.bad || n > len(o.b) {
		o.bad = true
		return nil
	}
	part := o.b[:n]
	o.b = o.b[n:]
	return part
}

// number reads a big-endian number of n bytes.
func (o *octets) number(n int) int {
	v := 0
	for _, c := range o.take(n) {
		v = v<<8 | int(c)
	}
	return v
}

// vector reads a part that follows its own length of n bytes.
func (o *octets) vector(n int) *octets {
	return &octets{b: o.take(o.number(n))}
}

// serverName reads the body of a client hello. A name given twice is an error:
// two readers could pick different ones.
func serverName(body []byte) (string, error) {
	o := &octets{b: body}
	o.take(2 + 32) // version, random
	o.vector(1)    // session
	o.vector(2)    // ciphers
	o.vector(1)    // compression
	if o.bad {
		return "", errHello
	}
	if len(o.b) == 0 {
		return "", nil
	}
	extensions := o.vector(2)
	if o.bad || len(o.b) != 0 {
		return "", errHello
	}
	name, found := "", false
	for len(extensions.b) > 0 {
		kind := extensions.number(2)
		data := extensions.vector(2)
		if extensions.bad {
			return "", errHello
		}
		if kind != extensionName {
			continue
		}
		if found {
			return "", errHello
		}
		found = true
		list := data.vector(2)
		if list.number(1) != 0 {
			return "", errHello
		}
		name = string(list.vector(2).b)
		if data.bad || len(data.b) != 0 || list.bad || len(list.b) != 0 || name == "" {
			return "", errHello
		}
	}
	return name, nil
}
