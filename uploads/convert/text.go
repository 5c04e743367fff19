package convert

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	uni "golang.org/x/text/encoding/unicode"
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

// decodeText guesses an encoding: marks and zero bytes tell UTF-16, and of the others the
// one is taken in which the text looks most like a language.
func decodeText(data []byte) (string, error) {
	wide := func(order uni.Endianness) (string, error) {
		b, err := uni.UTF16(order, uni.UseBOM).NewDecoder().Bytes(data)
		if err != nil {
			return "", Damaged
		}
		return string(b), nil
	}
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return wide(uni.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return wide(uni.BigEndian)
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return string(data), nil
	}
	head := data[:min(len(data), 64<<10)]
	even, odd := 0, 0
	for i, b := range head {
		if b == 0 && i%2 == 0 {
			even++
		} else if b == 0 {
			odd++
		}
	}
	switch {
	case odd > len(head)/8 && even < odd/8:
		return wide(uni.LittleEndian)
	case even > len(head)/8 && odd < even/8:
		return wide(uni.BigEndian)
	case even+odd > 0:
		return "", Unsupported
	}
	best, most := encoding.Encoding(charmap.Windows1252), -1.0
	for _, e := range []encoding.Encoding{
		japanese.ShiftJIS, japanese.EUCJP, simplifiedchinese.GB18030, traditionalchinese.Big5, korean.EUCKR,
		charmap.Windows1252, charmap.Windows1251, charmap.KOI8R, charmap.Windows1256,
	} {
		b, err := e.NewDecoder().Bytes(head)
		if err != nil {
			continue
		}
		if s := likely(string(b)); s > most {
			best, most = e, s
		}
	}
	b, err := best.NewDecoder().Bytes(data)
	if err != nil {
		return "", Damaged
	}
	return string(b), nil
}

// likely rates how much a text looks like one. A wrong encoding gives rare characters,
// capitals within words and scripts that change from letter to letter.
func likely(s string) float64 {
	var sum, n float64
	var last rune
	for _, r := range s {
		if r < 0x80 {
			last = r
			continue
		}
		n++
		switch {
		case r == utf8.RuneError || unicode.Is(unicode.Co, r) || unicode.IsControl(r):
			sum -= 4
		case unicode.In(r, unicode.Hiragana, unicode.Katakana) && (r < 0xFF61 || r > 0xFF9F):
			sum += 2
		case unicode.Is(unicode.Hangul, r) && strings.ContainsRune(commonHangul, r):
			sum += 2.4
		case unicode.Is(unicode.Hangul, r): // any two bytes may look like one
			sum += 0.2
		case common(r):
			sum += 1.5
		case unicode.Is(unicode.Han, r):
			sum += 0.4
		case r >= 0x3000 && r < 0x3020 || r >= 0xFF01 && r < 0xFF5F:
			sum++
		case unicode.In(r, unicode.Cyrillic, unicode.Arabic):
			sum += 0.6
			if unicode.IsUpper(r) && unicode.IsLower(last) {
				sum -= 1.5
			}
		case unicode.Is(unicode.Latin, r):
			if sum += 0.2; unicode.IsLetter(last) && last < 0x80 {
				sum += 0.6
			}
		default:
			sum -= 0.3
		}
		last = r
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// commonHangul are the syllables that most of any Korean text is made of.
const commonHangul = "이다는을의에가고은로한하를지도사기자인어리대시해서일들그나수부정아보라전과있오만으제상주여것거스장니면게지를습입했었까"

// common says whether a Chinese character is one of those that most of any text is made of.
func common(r rune) bool {
	for _, c := range "的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力機給等部電話會來對學們個這為" {
		if c == r {
			return true
		}
	}
	return false
}
