package openai

import "strings"

// growing extracts the new part of pieces that each repeat everything before them. The second piece shows whether a
// provider writes that way; otherwise pieces pass unchanged. A nil growing passes everything.
type growing struct {
	all   strings.Builder
	plain bool // pieces are new as a whole
}

// start handles the first piece.
func (g *growing) start(piece string) {
	if g != nil {
		*g = growing{}
		g.all.WriteString(piece)
	}
}

// fresh returns the part of piece that was not there before.
func (g *growing) fresh(piece string) string {
	if g == nil || g.plain || piece == "" {
		return piece
	}
	if g.all.Len() > 0 {
		rest, ok := strings.CutPrefix(piece, g.all.String())
		if !ok {
			g.plain = true
			return piece
		}
		piece = rest
	}
	g.all.WriteString(piece)
	return piece
}
