package skilltool

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"golang.org/x/image/font/sfnt"
)

// subset returns a TrueType font with only the used outlines. Glyphs keep their numbers.
func subset(data []byte, used []sfnt.GlyphIndex) ([]byte, error) {
	broken := errors.New("read a font: it is damaged")
	be := binary.BigEndian
	if len(data) < 12 {
		return nil, broken
	}
	tables := map[string][]byte{}
	for i := range int(be.Uint16(data[4:])) {
		at := 12 + 16*i
		if at+16 > len(data) {
			return nil, broken
		}
		from, size := int(be.Uint32(data[at+8:])), int(be.Uint32(data[at+12:]))
		if from+size > len(data) {
			return nil, broken
		}
		tables[string(data[at:at+4])] = data[from : from+size]
	}
	head, loca, glyf, maxp := tables["head"], tables["loca"], tables["glyf"], tables["maxp"]
	if len(head) < 54 || len(maxp) < 6 {
		return nil, broken
	}
	count, long := int(be.Uint16(maxp[4:])), be.Uint16(head[50:]) == 1
	if len(loca) < (count+1)*(2+2*btoi(long)) {
		return nil, broken
	}
	place := func(g int) int {
		if long {
			return int(be.Uint32(loca[4*g:]))
		}
		return 2 * int(be.Uint16(loca[2*g:]))
	}
	outlineOf := func(g int) []byte {
		if g >= count || place(g+1) > len(glyf) || place(g) > place(g+1) {
			return nil
		}
		return glyf[place(g):place(g+1)]
	}
	keep := map[int]bool{0: true}
	var take func(g int)
	take = func(g int) {
		if keep[g] && g != 0 {
			return
		}
		keep[g] = true
		one := outlineOf(g)
		if len(one) < 10 || int16(be.Uint16(one)) >= 0 {
			return
		}
		for at := 10; at+4 <= len(one); { // composite glyph
			flags := be.Uint16(one[at:])
			take(int(be.Uint16(one[at+2:])))
			at += 4 + 2 + 2*int(flags&1)
			switch {
			case flags&0x08 != 0:
				at += 2
			case flags&0x40 != 0:
				at += 4
			case flags&0x80 != 0:
				at += 8
			}
			if flags&0x20 == 0 {
				break
			}
		}
	}
	for _, g := range used {
		take(int(g))
	}
	var outlines []byte
	places := make([]byte, 0, 4*(count+1))
	for g := range count {
		places = be.AppendUint32(places, uint32(len(outlines)))
		if keep[g] {
			outlines = append(outlines, outlineOf(g)...)
			for len(outlines)%4 != 0 {
				outlines = append(outlines, 0)
			}
		}
	}
	places = be.AppendUint32(places, uint32(len(outlines)))
	head = slices.Clone(head)
	be.PutUint16(head[50:], 1)
	be.PutUint32(head[8:], 0)
	tables["head"], tables["loca"], tables["glyf"] = head, places, outlines
	names := []string{"cvt ", "fpgm", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "prep"}
	names = slices.DeleteFunc(names, func(name string) bool { return tables[name] == nil })
	power := 1
	for 2*power <= len(names) {
		power *= 2
	}
	log := 0
	for 1<<(log+1) <= power {
		log++
	}
	out := be.AppendUint32(nil, 0x00010000)
	for _, v := range []int{len(names), 16 * power, log, 16 * (len(names) - power)} {
		out = be.AppendUint16(out, uint16(v))
	}
	at := 12 + 16*len(names)
	var body []byte
	for _, name := range names {
		table := tables[name]
		padded := append(slices.Clone(table), strings.Repeat("\x00", -len(table)&3)...)
		sum := uint32(0)
		for i := 0; i < len(padded); i += 4 {
			sum += be.Uint32(padded[i:])
		}
		out = append(out, name...)
		out = be.AppendUint32(out, sum)
		out = be.AppendUint32(out, uint32(at+len(body)))
		out = be.AppendUint32(out, uint32(len(table)))
		body = append(body, padded...)
	}
	return append(out, body...), nil
}
