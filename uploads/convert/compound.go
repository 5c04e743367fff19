package convert

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
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
	switch {
	case c.streams["WordDocument"] != nil:
		return oldWord(d, c)
	case c.streams["Workbook"] != nil:
		return oldWorkbook(d, c.streams["Workbook"])
	case c.streams["Book"] != nil:
		return oldWorkbook(d, c.streams["Book"])
	case c.streams["PowerPoint Document"] != nil:
		return oldSlides(d, c)
	}
	return Unsupported
}

// compoundFile is a small file system in a file: its top streams by name.
type compoundFile struct {
	data    []byte
	shift   int // of the size of a sector
	fat     []uint32
	streams map[string][]byte
}

// Sectors with a meaning of their own are above this one.
const lastSector = 0xFFFFFFFA

// u16 and u32 read little numbers; what is not there is 0.
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

// part is a piece of b, shorter where b ends.
func part(b []byte, at, n int) []byte {
	if at < 0 || at > len(b) || n < 0 {
		return nil
	}
	return b[at : at+min(n, len(b)-at)]
}

func openCompound(data []byte) (*compoundFile, error) {
	c := &compoundFile{data: data, shift: u16(data, 30), streams: map[string][]byte{}}
	if len(data) < 512 || c.shift != 9 && c.shift != 12 {
		return nil, Damaged
	}
	// Where the table of sectors itself is stands in the header and then in a chain.
	most := len(data)>>c.shift + 1
	size := 1 << c.shift
	list := data[76:512]
	for next, n := u32(data, 68), 0; ; n++ {
		for i := 0; i+4 <= len(list) && len(c.fat) <= most; i += 4 {
			if s := u32(list, i); s < lastSector {
				for at, b := 0, c.sector(s); at+4 <= len(b); at += 4 {
					c.fat = append(c.fat, u32(b, at))
				}
			}
		}
		if next >= lastSector || n > most {
			break
		}
		b := c.sector(next)
		if len(b) < size {
			break
		}
		list, next = b[:size-4], u32(b, size-4)
	}
	entries := c.chain(u32(data, 48), maxPart)
	if len(entries) < 128 {
		return nil, Damaged
	}
	mini := &compoundFile{data: c.chain(u32(entries, 116), maxPart), shift: 6}
	table := c.chain(u32(data, 60), maxPart)
	for at := 0; at+4 <= len(table); at += 4 {
		mini.fat = append(mini.fat, u32(table, at))
	}
	// The top streams are a tree below the first entry.
	seen := map[uint32]bool{}
	left := maxAll
	for todo := []uint32{u32(entries, 76)}; len(todo) > 0 && len(seen) < maxParts; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] || uint64(id)*128+128 > uint64(len(entries)) {
			continue
		}
		seen[id] = true
		e := entries[id*128 : id*128+128]
		todo = append(todo, u32(e, 68), u32(e, 72))
		if e[66] != 2 {
			continue
		}
		n := int(u32(e, 120))
		var b []byte
		if n < int(u32(data, 56)) {
			b = mini.small(u32(e, 116), n)
		} else {
			b = c.chain(u32(e, 116), min(n, maxPart))
		}
		if left -= len(b); left < 0 {
			return nil, Limits
		}
		name := utf16le(part(e, 0, min(max(u16(e, 64)-2, 0), 64)))
		c.streams[name] = append([]byte{}, b...)
	}
	return c, nil
}

func (c *compoundFile) sector(n uint32) []byte {
	at := (uint64(n) + 1) << c.shift
	if at >= uint64(len(c.data)) {
		return nil
	}
	return part(c.data, int(at), 1<<c.shift)
}

// chain joins sectors that follow one another, up to n bytes. A chain that comes back to
// itself ends where it is longer than the file.
func (c *compoundFile) chain(first uint32, n int) []byte {
	var out []byte
	for at, steps := first, 0; at < lastSector && len(out) < n && steps <= len(c.fat); steps++ {
		out = append(out, c.sector(at)...)
		if uint64(at) >= uint64(len(c.fat)) {
			break
		}
		at = c.fat[at]
	}
	return out[:min(len(out), n)]
}

// small is chain within the stream of small streams, which has no header.
func (c *compoundFile) small(first uint32, n int) []byte {
	var out []byte
	for at, steps := first, 0; at < lastSector && len(out) < n && steps <= len(c.fat); steps++ {
		if uint64(at)<<c.shift >= uint64(len(c.data)) || uint64(at) >= uint64(len(c.fat)) {
			break
		}
		out = append(out, part(c.data, int(at)<<c.shift, 1<<c.shift)...)
		at = c.fat[at]
	}
	return out[:min(len(out), n)]
}

func utf16le(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00")
}
