package convert

import (
	"math"
	"slices"
	"unicode/utf8"
)

// PDF tables with ruling lines are read by these: a cell is the area between lines, with any number of text lines, and
// empty cells count.

// near enough for two lines to meet, in points.
const meets = 3

// ruled is a table by its lines: where columns and rows begin and end.
type ruled struct {
	xs, ys        []float64 // left to right, and top to bottom
	flat, upright []rule
	open          bool // columns were found by their text, not by lines
}

func (t *ruled) holds(p piece) bool {
	x, y := (p.left+p.right)/2, (p.bottom+p.top)/2
	return x > t.xs[0]-meets && x < t.xs[len(t.xs)-1]+meets && y < t.ys[0]+1 && y > t.ys[len(t.ys)-1]-1
}

// layout groups a page's words into lines, and into tables where ruling lines separate them.
func layout(words []piece, d drawn) (lines []textLine) {
	words = attachMarks(words, d.marks)
	tables := ruledTables(words, d)
	owner := make([]int, len(words))
	cells := make([][]int, len(tables)) // numbers of words
	for i, w := range words {
		owner[i] = slices.IndexFunc(tables, func(t *ruled) bool { return t.holds(w) })
		if owner[i] >= 0 {
			cells[owner[i]] = append(cells[owner[i]], i)
		}
	}
	rows := make([][][]string, len(tables))
	for i, t := range tables {
		rows[i] = t.rows(words, cells[i])
	}
	var run []piece
	flush := func() {
		if len(run) > 0 {
			run[0].fresh = true
			lines = append(lines, linesOf(run)...)
		}
		run = nil
	}
	done := make([]bool, len(tables))
	for i, w := range words {
		at := owner[i]
		if at < 0 || rows[at] == nil {
			if i > 0 && owner[i-1] != at {
				w.fresh = true
			}
			run = append(run, w)
			continue
		}
		if done[at] {
			continue
		}
		done[at] = true
		flush()
		all := textLine{rows: rows[at]}
		for _, n := range cells[at] {
			all.pieces = append(all.pieces, words[n])
		}
		lines = append(lines, all)
	}
	flush()
	return lines
}

// attachMarks puts list marks before their items: drawn marks, and marks stored after all text.
func attachMarks(words, marks []piece) []piece {
	var kept []piece
	for i, w := range words {
		alone := w.fresh && (i+1 == len(words) || words[i+1].fresh)
		follows := i+1 < len(words) && overlaps(w, words[i+1]) && words[i+1].left > w.left && words[i+1].left < w.right+40
		if alone && !follows && mark(w.text) {
			marks = append(marks, w)
			continue
		}
		kept = append(kept, w)
	}
	if len(marks) == 0 {
		return words
	}
	for _, m := range marks {
		best := -1
		for i, w := range kept {
			gap := w.left - m.right
			middle := (m.bottom + m.top) / 2
			if gap > -1 && gap < 2.5*w.size && middle > w.bottom-0.1*w.size && middle < w.top && m.top-m.bottom < 1.3*w.size &&
				(best < 0 || w.left < kept[best].left) {
				best = i
			}
		}
		begins := best >= 0
		if begins {
			target := kept[best]
			for _, w := range kept { // it is the first on its line
				if overlaps(w, target) && w.right < m.left && w.right > m.left-6*target.size {
					begins = false
				}
			}
		}
		if begins {
			w := &kept[best]
			m.bottom, m.top, m.size, m.fresh, m.spaced = w.bottom, w.top, w.size, true, true
			w.spaced, w.fresh = true, false
			kept = slices.Insert(kept, best, m)
		} else if m.spaced || m.fresh { // the file separates the words
			kept = append(kept, m)
		}
	}
	return kept
}

func overlaps(a, b piece) bool {
	return min(a.top, b.top)-max(a.bottom, b.bottom) > 0.5*min(a.top-a.bottom, b.top-b.bottom)
}

// ruledTables finds tables by lines that cross, and by lines below one another.
func ruledTables(words []piece, d drawn) (tables []*ruled) {
	if len(d.flat) < 2 {
		return nil
	}
	add := func(t *ruled) {
		if t != nil && !slices.ContainsFunc(tables, func(o *ruled) bool {
			return t.xs[0] < o.xs[len(o.xs)-1] && o.xs[0] < t.xs[len(t.xs)-1] && t.ys[len(t.ys)-1] < o.ys[0] && o.ys[len(o.ys)-1] < t.ys[0]
		}) {
			tables = append(tables, t)
		}
	}
	used := make([]bool, len(d.flat))
	for _, part := range crossing(d) {
		if t := gridOf(part, words); t != nil {
			add(t)
			for _, i := range part.numbers {
				used[i] = true
			}
		}
	}
	var rest []rule
	for i, r := range d.flat {
		if !used[i] {
			rest = append(rest, r)
		}
	}
	for _, stack := range stacks(rest) {
		for _, t := range bands(stack, words) {
			add(t)
		}
	}
	return tables
}

// crossed are lines that meet.
type crossed struct {
	flat, upright []rule
	numbers       []int // numbers of the flat ones
}

// crossing groups lines that meet, the largest group first.
func crossing(d drawn) (groups []crossed) {
	n := len(d.flat)
	parent := make([]int, n+len(d.upright))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i, h := range d.flat {
		for j, v := range d.upright {
			if v.at >= h.from-meets && v.at <= h.to+meets && h.at >= v.from-meets && h.at <= v.to+meets {
				parent[root(i)] = root(n + j)
			}
		}
	}
	index := map[int]int{}
	group := func(i int) *crossed {
		at, ok := index[root(i)]
		if !ok {
			at = len(groups)
			index[root(i)] = at
			groups = append(groups, crossed{})
		}
		return &groups[at]
	}
	for i, h := range d.flat {
		g := group(i)
		g.flat, g.numbers = append(g.flat, h), append(g.numbers, i)
	}
	for j, v := range d.upright {
		g := group(n + j)
		g.upright = append(g.upright, v)
	}
	groups = slices.DeleteFunc(groups, func(g crossed) bool { return len(g.flat) < 2 || len(g.upright) < 2 })
	slices.SortStableFunc(groups, func(a, b crossed) int {
		return len(b.flat) + len(b.upright) - len(a.flat) - len(a.upright)
	})
	return groups
}

// places returns the different places of lines, in order.
func places(rules []rule, more ...float64) (out []float64) {
	all := slices.Clone(more)
	for _, r := range rules {
		all = append(all, r.at)
	}
	slices.Sort(all)
	for _, at := range all {
		if len(out) == 0 || at-out[len(out)-1] > meets {
			out = append(out, at)
		}
	}
	return out
}

// gridOf returns the table of lines that meet, or nil.
func gridOf(g crossed, words []piece) *ruled {
	left, right, bottom, top := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, h := range g.flat {
		left, right = min(left, h.from), max(right, h.to)
	}
	for _, v := range g.upright {
		bottom, top = min(bottom, v.from), max(top, v.to)
	}
	// A table may be open at its sides.
	t := &ruled{xs: places(g.upright, left, right), ys: places(g.flat, bottom, top), flat: g.flat, upright: g.upright}
	slices.Reverse(t.ys)
	switch {
	case len(t.xs) > 100 || len(t.ys) > 1000:
		return nil
	case len(t.xs) >= 3 && len(t.ys) >= 3:
		return t
	case len(t.xs) == 2 && len(t.ys) >= 4: // rows in a box
		return columnsByText(&ruled{xs: t.xs, ys: t.ys, flat: t.flat, open: true}, words)
	}
	return nil
}

// stacks groups flat lines that begin and end below one another.
func stacks(rules []rule) (out [][]rule) {
	for _, r := range rules {
		if r.to-r.from < 60 {
			continue
		}
		i := slices.IndexFunc(out, func(s []rule) bool {
			return math.Abs(s[0].from-r.from) < 2*meets && math.Abs(s[0].to-r.to) < 2*meets
		})
		if i < 0 {
			out = append(out, []rule{r})
			continue
		}
		out[i] = append(out[i], r)
	}
	return slices.DeleteFunc(out, func(s []rule) bool { return len(s) < 3 || len(s) > 1000 })
}

// bands returns the tables of rows between flat lines: as many rows as have columns in common. A head may stand above
// the first line, and the last row below the last.
func bands(stack []rule, words []piece) (tables []*ruled) {
	ys := places(stack)
	slices.Reverse(ys)
	for len(ys) >= 3 {
		var best *ruled
		n := 3
		for ; n <= len(ys); n++ {
			t := columnsByText(&ruled{ys: slices.Clone(ys[:n]), xs: []float64{stack[0].from, stack[0].to}, open: true}, words)
			if t == nil || best != nil && len(t.xs) < len(best.xs) {
				break
			}
			best = t
		}
		if best == nil {
			ys = ys[1:]
			continue
		}
		if best.trim(); len(best.ys) >= 3 {
			if again := columnsByText(&ruled{ys: best.ys, xs: []float64{stack[0].from, stack[0].to}, open: true}, words); again != nil {
				again.widen(words)
				tables = append(tables, again)
			}
		}
		ys = ys[n-2:]
	}
	return tables
}

// usual returns the height that most rows have at least.
func (t *ruled) usual() float64 {
	var heights []float64
	for i := 1; i < len(t.ys); i++ {
		heights = append(heights, t.ys[i-1]-t.ys[i])
	}
	slices.Sort(heights)
	return heights[len(heights)/2]
}

// trim drops text above the first and below the last row where unrelated lines end.
func (t *ruled) trim() {
	if len(t.ys) < 4 {
		return
	}
	most := 2 * t.usual()
	if t.ys[0]-t.ys[1] > most {
		t.ys = t.ys[1:]
	}
	if n := len(t.ys); n > 3 && t.ys[n-2]-t.ys[n-1] > most {
		t.ys = t.ys[:n-1]
	}
}

// widen adds a row above the first line and one below the last if their words match the columns.
func (t *ruled) widen(words []piece) {
	usual := t.usual()
	try := func(from, to float64, ys []float64) {
		wider := &ruled{xs: t.xs, ys: ys, open: true}
		found, cut := wider.columnsIn(words, from, to)
		if cut { // a header may need more space than the cells below
			wider = columnsByText(&ruled{ys: ys, xs: []float64{t.xs[0], t.xs[len(t.xs)-1]}, open: true}, words)
			if wider == nil || len(wider.xs) != len(t.xs) {
				return
			}
			found, _ = wider.columnsIn(words, from, to)
		}
		if found >= 2 {
			*t = *wider
		}
	}
	first := t.ys[0]
	try(first, first+usual, append([]float64{first + usual}, t.ys...))
	last := t.ys[len(t.ys)-1]
	try(last-usual, last, append(slices.Clone(t.ys), last-usual))
}

// columnsIn counts the columns with words between two heights; cut means that a column boundary would split a word.
func (t *ruled) columnsIn(words []piece, from, to float64) (n int, cut bool) {
	found := map[int]bool{}
	for _, w := range words {
		if y := (w.bottom + w.top) / 2; y < from || y > to || !t.holds(w) {
			continue
		}
		_, c := t.cell(w)
		cut = cut || w.left < t.xs[c]-1 || w.right > t.xs[c+1]+1
		found[c] = true
	}
	return len(found), cut
}

// columnsByText finds the columns of a table with lines between its rows only: gaps without words in all
// rows. With more rows, a narrower gap is significant.
func columnsByText(t *ruled, words []piece) *ruled {
	var inside []piece
	letters, lines := 0, map[int]bool{}
	for _, w := range words {
		if t.holds(w) {
			inside = append(inside, w)
			letters += utf8.RuneCountInString(w.text)
			lines[int(w.bottom/4)] = true
		}
	}
	least := 0.9
	if len(lines) >= 3 {
		least = 0.45
	}
	slices.SortFunc(inside, func(a, b piece) int { return int(math.Copysign(1, a.left-b.left)) })
	xs := []float64{t.xs[0]}
	end := math.Inf(-1)
	for i, w := range inside {
		if i > 0 && w.left-end > least*max(w.size, 4) {
			xs = append(xs, (w.left+end)/2)
		}
		end = max(end, w.right)
	}
	t.xs = append(xs, t.xs[1])
	cells := (len(t.xs) - 1) * (len(t.ys) - 1)
	if len(t.xs) < 3 || letters > 120*cells {
		return nil
	}
	return t
}

// rows returns the texts of the cells, nil if this isn't a table.
func (t *ruled) rows(words []piece, numbers []int) [][]string {
	wide, high := len(t.xs)-1, len(t.ys)-1
	cells := make([][][]piece, high)
	for i := range cells {
		cells[i] = make([][]piece, wide)
	}
	for _, n := range numbers {
		w := words[n]
		r, c := t.cell(w)
		cells[r][c] = append(cells[r][c], w)
	}
	var out [][]string
	rows, columns, filled := 0, make([]bool, wide), 0
	for _, row := range cells {
		for _, part := range split(row) {
			texts := make([]string, wide)
			any := false
			for c, in := range part {
				texts[c] = cellText(in)
				if texts[c] != "" {
					any, columns[c] = true, true
					filled++
				}
			}
			if any {
				rows++
				out = append(out, texts)
			}
		}
	}
	used := 0
	for _, yes := range columns {
		if yes {
			used++
		}
	}
	if rows < 2 || used < 2 || filled < 3 {
		return nil
	}
	for i, row := range out { // columns between double lines
		kept := row[:0]
		for c, text := range row {
			if columns[c] || t.xs[c+1]-t.xs[c] > 12 {
				kept = append(kept, text)
			}
		}
		out[i] = kept
	}
	return out
}

// cell returns the position of a word. Merged cells have no lines between them.
func (t *ruled) cell(w piece) (row, column int) {
	x, y := (w.left+w.right)/2, (w.bottom+w.top)/2
	for column < len(t.xs)-2 && x > t.xs[column+1] {
		column++
	}
	for row < len(t.ys)-2 && y < t.ys[row+1] {
		row++
	}
	if t.open {
		return row, column
	}
	for column > 0 && !crosses(t.upright, t.xs[column], (t.ys[row]+t.ys[row+1])/2) {
		column--
	}
	for row > 0 && !crosses(t.flat, t.ys[row], (t.xs[column]+t.xs[column+1])/2) {
		row--
	}
	return row, column
}

// crosses reports whether one of the lines at a place goes through another.
func crosses(rules []rule, at, through float64) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return math.Abs(r.at-at) <= meets && through >= r.from-1 && through <= r.to+1
	})
}

// split divides a row without inner lines that represents several: the texts of most of its cells have
// the same number of lines, three or more, at the same heights.
func split(row [][]piece) [][][]piece {
	lines := make([][]textLine, len(row))
	most, with := 0, 0
	for c, in := range row {
		if len(in) > 0 {
			with++
		}
		lines[c] = linesOf(in)
		most = max(most, len(lines[c]))
	}
	var full []int
	for c := range row {
		if len(lines[c]) == most {
			full = append(full, c)
		}
	}
	if most < 3 || len(full) < 2 || 2*len(full) < with {
		return [][][]piece{row}
	}
	first := lines[full[0]]
	for _, c := range full[1:] {
		for i, l := range lines[c] {
			if !overlaps(l.pieces[0], first[i].pieces[0]) {
				return [][][]piece{row}
			}
		}
	}
	out := make([][][]piece, most)
	for i := range out {
		out[i] = make([][]piece, len(row))
	}
	for c, in := range row {
		for _, w := range in {
			best := 0
			for i, l := range first {
				if math.Abs(l.pieces[0].bottom-w.bottom) < math.Abs(first[best].pieces[0].bottom-w.bottom) {
					best = i
				}
			}
			out[best][c] = append(out[best][c], w)
		}
	}
	return out
}

// cellText returns the text of a cell.
func cellText(words []piece) string {
	text := ""
	for _, l := range linesOf(words) {
		text = join(text, l.text())
	}
	return oneLine(text)
}
