package convert

import (
	"errors"

	"fawn/uploads/charset"
)

// plain reads text in whatever encoding it is.
func plain(d *draft, data []byte) error {
	if len(data) > maxPart {
		return Limits
	}
	text, err := decodeText(data)
	d.block(text)
	return err
}

// decodeText decodes a text. Bytes that are no text are Unsupported.
func decodeText(data []byte) (string, error) {
	t, err := charset.Decode(data)
	switch {
	case errors.Is(err, charset.ErrBinary):
		return "", Unsupported
	case err != nil:
		return "", Damaged
	}
	return t.String, nil
}
