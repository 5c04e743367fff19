package convert

import (
	"errors"

	"fawn/uploads/charset"
)

// plain reads text in any encoding.
func plain(d *draft, data []byte) error {
	if len(data) > maxPart {
		return Limits
	}
	text, err := d.decode(data)
	d.block(text)
	return err
}

// decode decodes a text in the chosen or detected encoding, and records it unless it is certain. Bytes
// that aren't text are Unsupported.
func (d *draft) decode(data []byte) (string, error) {
	var t charset.Text
	var err error
	if d.chosen != "" {
		t, err = charset.As(d.chosen, data)
	} else {
		t, err = charset.Decode(data)
	}
	switch {
	case errors.Is(err, charset.ErrBinary):
		return "", Unsupported
	case err != nil:
		return "", Damaged
	}
	if d.chosen != "" || t.Encoding != charset.UTF8 || t.Bad > 0 {
		d.encoding = t.Encoding
	}
	return t.String, nil
}
