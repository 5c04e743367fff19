package chat

import (
	"strings"
	"unicode/utf8"

	extast "github.com/yuin/goldmark/extension/ast"
)

// table writes a narrow table aligned, as code, and a wide one as a list.
func (w *writer) table(n *extast.Table) {
	var rows [][]string
	var width []int
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			cell := strings.ReplaceAll(unescape(inlineText(c, w.src), false), "\n", " ")
			if len(width) == len(row) {
				width = append(width, 0)
			}
			width[len(row)] = max(width[len(row)], columns(cell))
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	total := 2 * (len(width) - 1)
	for _, n := range width {
		total += n
	}
	if total <= widestTable {
		w.code(aligned(rows, width, n.Alignments), "")
		return
	}
	head := rows[0]
	for i, row := range rows[1:] {
		if i > 0 {
			w.put("\n")
		}
		w.put(w.d.bullet)
		for j, cell := range row {
			if cell == "" {
				continue
			}
			if j > 0 {
				w.put("\n  ")
			}
			if j < len(head) && head[j] != "" {
				w.text(head[j] + ": ")
			}
			w.text(cell)
		}
	}
}

func aligned(rows [][]string, width []int, align []extast.Alignment) string {
	var b strings.Builder
	for i, row := range rows {
		var line strings.Builder
		for j := range width {
			cell := ""
			if j < len(row) {
				cell = row[j]
			}
			pad := strings.Repeat(" ", width[j]-columns(cell))
			if j > 0 {
				line.WriteString("  ")
			}
			if j < len(align) && align[j] == extast.AlignRight {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		if i == 0 {
			for j, n := range width {
				if j > 0 {
					b.WriteString("  ")
				}
				b.WriteString(strings.Repeat("─", n))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// columns returns the width of s in a fixed font. Chinese, Japanese, Korean and emoji take two.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
			r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
			r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
			n += 2
		case r == 0x200b || r == 0x200d || r >= 0xfe00 && r <= 0xfe0f || r == utf8.RuneError:
		default:
			n++
		}
	}
	return n
}
