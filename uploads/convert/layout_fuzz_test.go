package convert

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode"
)

// piecesOf reads words anywhere on a page out of what a fuzzer found, 12 bytes each.
func piecesOf(data []byte) (words []piece) {
	texts := []string{"Costs", "of the", "12.5", "-", "•", "1.", "über-", "報告書", "です。", "end.", "|", "#", "a", "تقرير",
		"", "*b*"}
	at := func(i int) float64 { return float64(int16(binary.BigEndian.Uint16(data[i:]))) / 8 }
	for ; len(data) >= 12 && len(words) < 400; data = data[12:] {
		p := piece{text: texts[data[0]%16], left: at(2), bottom: at(4), size: at(8), spaced: data[1]&1 > 0,
			fresh: data[1]&2 > 0, bold: data[1]&4 > 0}
		p.right, p.top = p.left+at(6), p.bottom+at(10)
		words = append(words, p)
	}
	return words
}

func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// FuzzLayout sets words that lie anywhere on two pages, as only a broken or a hostile PDF has
// them. Each letter is in the text once.
func FuzzLayout(f *testing.F) {
	var grid []byte
	for i := range 12 {
		grid = append(grid, byte(i), byte(i%3/2*2), byte(i%3*3), 0, byte(24-i/3), 0, 1, 0, 0, 88, 0, 96)
	}
	f.Add(grid)
	f.Add([]byte("012345678901234567890123456789012345"))
	f.Fuzz(func(t *testing.T, data []byte) {
		words := piecesOf(data)
		d := &draft{}
		pages := [][]textLine{linesOf(words[:len(words)/2]), linesOf(words[len(words)/2:])}
		s := newSetter(d, pages)
		for _, lines := range pages {
			s.page(lines)
		}
		want := 0
		for _, p := range words {
			want += letters(p.text)
		}
		if got := letters(d.text.String()); got != want {
			t.Errorf("%d letters became %d:\n%s", want, got, strings.TrimSpace(d.text.String()))
		}
	})
}
