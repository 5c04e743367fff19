// Package charset reads text in old encodings. It is the only detector of the program:
// converter, file panel and the skills' table tool all decode through it.
package charset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/unicode/norm"
)

// UTF8 is the name of the encoding that needs no decoding.
const UTF8 = "UTF-8"

// ErrBinary means that bytes aren't text in any encoding.
var ErrBinary = errors.New("not a text file")

// ErrName means that an encoding isn't in Names.
var ErrName = errors.New("unknown text encoding")

// Text is a decoded text.
type Text struct {
	String   string
	Encoding string // one of Names
	Guessed  bool   // the bytes alone don't prove the encoding
	Bad      int    // bytes or sequences invalid in the encoding; U+FFFD replaces each
}

// sample limits the bytes of a text used for guessing.
const sample = 64 << 10

// Decode detects the encoding of a text and decodes it: by a byte order mark, as UTF-8 even if a few bytes are invalid,
// by the zero bytes of UTF-16 and UTF-32, by the escape sequences of ISO-2022-JP, or else by the most likely language.
// It returns ErrBinary for binary data.
func Decode(data []byte) (Text, error) {
	if name := marked(data); name != "" {
		return As(name, data)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		name := wide(data[:min(len(data), sample)])
		if name == "" {
			return Text{}, ErrBinary
		}
		return As(name, data)
	}
	if bytes.Contains(data, []byte("\x1b$")) && ascii(data) {
		if t, err := As("ISO-2022-JP", data); err == nil && t.Bad == 0 {
			return t, nil
		}
	}
	good, bad := sequences(data)
	if bad == 0 || good > 2*bad {
		return As(UTF8, data)
	}
	t, err := As(guess(significant(data)), data)
	t.Guessed = true
	return t, err
}

// As decodes a text in the named encoding. Invalid bytes become U+FFFD.
func As(name string, data []byte) (Text, error) {
	if name == UTF8 {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		_, bad := sequences(data)
		return Text{String: strings.ToValidUTF8(string(data), "\uFFFD"), Encoding: name, Bad: bad}, nil
	}
	e := find(name)
	if e == nil {
		return Text{}, ErrName
	}
	b, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return Text{}, err
	}
	s := strings.TrimPrefix(string(b), "\ufeff")
	if name == "windows-1258" {
		s = norm.NFC.String(s) // its tones are combining characters
	}
	return Text{String: s, Encoding: name, Bad: strings.Count(s, "\uFFFD")}, nil
}

// Names returns the selectable encodings, most common first.
func Names() []string {
	names := []string{UTF8}
	for _, e := range encodings() {
		names = append(names, e.name)
	}
	return names
}

// Known returns the canonical form of a name, or "" if there is no such encoding.
func Known(name string) string {
	for _, n := range Names() {
		if strings.EqualFold(n, name) {
			return n
		}
	}
	return ""
}

// CodePage returns the name of a code page of Windows, DOS or the Mac by its number, as old files keep it, or "" if it
// isn't known.
func CodePage(n int) string {
	switch n {
	case 1200:
		return "UTF-16LE"
	case 1201:
		return "UTF-16BE"
	case 65001:
		return UTF8
	case 874:
		return "windows-874"
	case 932, 943:
		return "Shift_JIS"
	case 936, 54936:
		return "GB18030"
	case 949, 51949:
		return "EUC-KR"
	case 950:
		return "Big5"
	case 20932, 51932:
		return "EUC-JP"
	case 50220, 50221, 50222:
		return "ISO-2022-JP"
	case 20866:
		return "KOI8-R"
	case 21866:
		return "KOI8-U"
	case 10000, 0x8000:
		return "macintosh"
	case 367, 0x8001, 20127:
		return "windows-1252"
	}
	switch {
	case n >= 1250 && n <= 1258:
		return "windows-" + strconv.Itoa(n)
	case n > 28590 && n < 28607:
		return Known("ISO-8859-" + strconv.Itoa(n-28590))
	}
	return Known("IBM" + strconv.Itoa(n))
}

type named struct {
	name string
	enc  encoding.Encoding
}

func encodings() []named {
	return []named{
		{"windows-1252", charmap.Windows1252}, {"windows-1250", charmap.Windows1250},
		{"windows-1251", charmap.Windows1251}, {"windows-1253", charmap.Windows1253},
		{"windows-1254", charmap.Windows1254}, {"windows-1255", charmap.Windows1255},
		{"windows-1256", charmap.Windows1256}, {"windows-1257", charmap.Windows1257},
		{"windows-1258", charmap.Windows1258}, {"windows-874", charmap.Windows874},
		{"GB18030", simplifiedchinese.GB18030}, {"Big5", traditionalchinese.Big5},
		{"Shift_JIS", japanese.ShiftJIS}, {"EUC-JP", japanese.EUCJP}, {"ISO-2022-JP", japanese.ISO2022JP},
		{"EUC-KR", korean.EUCKR},
		{"UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
		{"UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
		{"UTF-32LE", utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)},
		{"UTF-32BE", utf32.UTF32(utf32.BigEndian, utf32.UseBOM)},
		{"ISO-8859-1", charmap.ISO8859_1}, {"ISO-8859-2", charmap.ISO8859_2}, {"ISO-8859-3", charmap.ISO8859_3},
		{"ISO-8859-4", charmap.ISO8859_4}, {"ISO-8859-5", charmap.ISO8859_5}, {"ISO-8859-6", charmap.ISO8859_6},
		{"ISO-8859-7", charmap.ISO8859_7}, {"ISO-8859-8", charmap.ISO8859_8}, {"ISO-8859-9", charmap.ISO8859_9},
		{"ISO-8859-10", charmap.ISO8859_10}, {"ISO-8859-13", charmap.ISO8859_13},
		{"ISO-8859-14", charmap.ISO8859_14}, {"ISO-8859-15", charmap.ISO8859_15},
		{"ISO-8859-16", charmap.ISO8859_16},
		{"KOI8-R", charmap.KOI8R}, {"KOI8-U", charmap.KOI8U}, {"IBM866", charmap.CodePage866},
		{"IBM850", charmap.CodePage850}, {"IBM852", charmap.CodePage852}, {"IBM437", charmap.CodePage437},
		{"macintosh", charmap.Macintosh},
	}
}

func find(name string) encoding.Encoding {
	for _, e := range encodings() {
		if e.name == name {
			return e.enc
		}
	}
	return nil
}

// marked names the encoding of a byte order mark.
func marked(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")):
		return UTF8
	case bytes.HasPrefix(data, []byte("\xFF\xFE\x00\x00")):
		return "UTF-32LE"
	case bytes.HasPrefix(data, []byte("\x00\x00\xFE\xFF")):
		return "UTF-32BE"
	case bytes.HasPrefix(data, []byte("\xFF\xFE")):
		return "UTF-16LE"
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		return "UTF-16BE"
	}
	return ""
}

// wide detects two- and four-byte encodings without a byte order mark.
func wide(head []byte) string {
	if len(head) >= 8 && len(head)%4 == 0 {
		little, big := true, true
		for at := 0; at < len(head); at += 4 {
			little = little && plausible(rune(binary.LittleEndian.Uint32(head[at:])))
			big = big && plausible(rune(binary.BigEndian.Uint32(head[at:])))
		}
		switch {
		case little:
			return "UTF-32LE"
		case big:
			return "UTF-32BE"
		}
	}
	if len(head) < 4 || len(head)%2 != 0 && len(head) < sample {
		return ""
	}
	// Spaces, line ends and digits have a zero byte on the same side, whatever the script is.
	little, big := 0, 0
	for at := 0; at+1 < len(head); at += 2 {
		switch lo, hi := head[at], head[at+1]; {
		case lo == 0 && hi == 0:
			return ""
		case hi == 0 && (lo >= ' ' || lo == '\t' || lo == '\n' || lo == '\r'):
			little++
		case lo == 0 && (hi >= ' ' || hi == '\t' || hi == '\n' || hi == '\r'):
			big++
		case lo == 0 || hi == 0:
			return ""
		}
	}
	name := "UTF-16LE"
	if big > little {
		name = "UTF-16BE"
	}
	if few := min(little, big); few > max(little, big)/4 {
		return ""
	}
	if t, err := As(name, head[:len(head)&^1]); err != nil || t.Bad > 1 { // the end may be half a pair
		return ""
	}
	return name
}

func plausible(r rune) bool {
	return r >= ' ' && r < 0xD800 || r > 0xDFFF && r < utf8.MaxRune || r == '\n' || r == '\r' || r == '\t'
}

func ascii(data []byte) bool {
	for _, b := range data {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// sequences counts valid multi-byte sequences of UTF-8 and invalid bytes. Longer sequences, which rarely occur by
// chance, count more.
func sequences(data []byte) (good, bad int) {
	for len(data) > 0 {
		if data[0] < utf8.RuneSelf {
			data = data[1:]
			continue
		}
		_, n := utf8.DecodeRune(data)
		if n == 1 {
			bad++
		} else {
			good += n - 1
		}
		data = data[n:]
	}
	return good, bad
}

// significant returns a sample of the lines with bytes beyond ASCII: a guess needs nothing else, and they may all be
// far from the beginning.
func significant(data []byte) []byte {
	if len(data) <= sample {
		return data
	}
	var out []byte
	for line := range bytes.Lines(data) {
		if !ascii(line) {
			out = append(out, line[:min(len(line), 4<<10)]...)
			if len(out) >= sample {
				break
			}
		}
	}
	return out
}
