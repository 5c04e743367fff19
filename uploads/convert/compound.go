package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/richardlehane/mscfb"
)

// oleMagic begins the containers of old office files, and of new ones with a password.
var oleMagic = []byte{0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1}

// compound finds out which document such a container is.
func compound(d *draft, data []byte) error {
	// The name of the stream that holds an encrypted new document, as UTF-16.
	if bytes.Contains(data,
		[]byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")) {
		return Encrypted
	}
	c, err := openCompound(data)
	if err != nil {
		return err
	}
	if c.damaged {
		d.lack(Damaged)
	}
	if c.streams[msgProperties] != nil {
		return outlookMessage(d, c, "", 0)
	}
	if c.streams["WordDocument"] != nil {
		return oldWord(d, c)
	}
	for _, name := range []string{"Workbook", "Book"} { // Excel's spelling; other programs use capitals
		for _, n := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
			if b := c.streams[n]; b != nil {
				return oldWorkbook(d, b)
			}
		}
	}
	if c.streams["PowerPoint Document"] != nil {
		return oldSlides(d, c)
	}
	return Unsupported
}

// compoundFile is a small file system in a file: its streams by their paths.
type compoundFile struct {
	streams map[string][]byte
	damaged bool // some of them are not whole
}

func openCompound(data []byte) (*compoundFile, error) {
	r, err := mscfb.New(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", Damaged, err)
	}
	if len(r.File) > maxParts {
		return nil, Limits
	}
	c := &compoundFile{streams: map[string][]byte{}}
	left := int64(maxAll)
	for _, f := range r.File {
		if f.FileInfo().IsDir() {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(f, min(left, maxPart)))
		if err != nil || int64(len(b)) < min(f.Size, maxPart) && left > 0 {
			c.damaged = true
		}
		if left -= int64(len(b)); left <= 0 {
			return nil, Limits
		}
		c.streams[strings.Join(append(slices.Clone(f.Path), f.Name), "/")] = b
	}
	return c, nil
}

// u16 and u32 read little-endian numbers; missing ones are 0.
func u16(b []byte, at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b[at:]))
}

func u32(b []byte, at int) uint32 {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return binary.LittleEndian.Uint32(b[at:])
}

// part returns a piece of b, shorter where b ends.
func part(b []byte, at, n int) []byte {
	if at < 0 || at > len(b) || n < 0 {
		return nil
	}
	return b[at : at+min(n, len(b)-at)]
}

func utf16le(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00")
}
