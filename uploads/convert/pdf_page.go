package convert

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
	"golang.org/x/text/unicode/norm"
)

// pageReader reads the words of pages with where they stand.
type pageReader struct {
	pdf    pdfium.Pdfium
	doc    references.FPDF_DOCUMENT
	scales map[[2]float64]float64 // factors of font sizes, by size and height
	font   font                   // font of the last word
}

func (r *pageReader) page(i int) ([]textLine, error) {
	page, err := r.pdf.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: r.doc, Index: i})
	if err != nil {
		return nil, err
	}
	defer r.pdf.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page.Page})
	at := requests.Page{ByReference: &page.Page}
	text, err := r.pdf.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: at})
	if err != nil {
		return nil, err
	}
	defer r.pdf.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage})
	words, err := r.words(text.TextPage)
	if err != nil {
		return nil, err
	}
	words = r.visible(page.Page, words)
	r.link(at, words)
	drawings := r.drawn(at)
	if mirror(words) {
		drawings.mirror()
	}
	return layout(words, drawings), nil
}

// visible leaves out words beyond the edges of a page, which no program shows.
func (r *pageReader) visible(page references.FPDF_PAGE, words []piece) []piece {
	res, err := r.pdf.FPDF_GetPageBoundingBox(&requests.FPDF_GetPageBoundingBox{Page: requests.Page{ByReference: &page}})
	if err != nil {
		return words
	}
	box := res.Rect
	left, right := float64(min(box.Left, box.Right)), float64(max(box.Left, box.Right))
	bottom, top := float64(min(box.Top, box.Bottom)), float64(max(box.Top, box.Bottom))
	if right-left < 1 || top-bottom < 1 {
		return words
	}
	var kept []piece
	fresh := false
	for _, w := range words {
		fresh = fresh || w.fresh
		if w.right < left || w.left > right || w.top < bottom || w.bottom > top {
			continue
		}
		w.fresh, fresh = fresh, false
		kept = append(kept, w)
	}
	return kept
}

// char is a character of a page and its number there.
type char struct {
	rune
	at int
}

// words returns the text between spaces in file order. Querying each character's position would dominate the time, so
// only the first and last are queried.
func (r *pageReader) words(text references.FPDF_TEXTPAGE) (words []piece, err error) {
	count, err := r.pdf.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text})
	if err != nil {
		return nil, err
	}
	total := min(count.Count, maxPageChars)
	all, err := r.characters(text, total)
	if err != nil {
		return nil, err
	}
	var word []char
	space, line := false, true
	r.font = font{}
	flush := func() {
		if len(word) == 0 {
			return
		}
		p := r.word(text, word, line)
		p.spaced, p.fresh = space || line, line
		if n := len(words); p.top == p.bottom && n > 0 {
			last := words[n-1]
			p.left, p.right, p.bottom, p.top, p.size, p.fresh = last.right, last.right, last.bottom, last.top,
				last.size, false
		}
		if p.text != "" {
			words = append(words, p)
			space, line = false, false
		}
		word = word[:0]
	}
	for i, c := range all {
		switch {
		case c == 0:
		case c == '\r', c == '\n':
			flush()
			line = true
		case unicode.IsSpace(c):
			flush()
			space = true
		case c == 2, c == 0xFFFE: // a hyphen at the end of a line, not marked otherwise
			word = append(word, char{'-', i})
			flush()
			line = true
		default:
			word = append(word, char{c, i})
		}
	}
	flush()
	return words, nil
}

// characters returns a page's characters by index.
func (r *pageReader) characters(text references.FPDF_TEXTPAGE, n int) ([]rune, error) {
	if n <= 0 {
		return nil, nil
	}
	res, err := r.pdf.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text, StartIndex: 0, Count: n})
	if err == nil {
		if all := []rune(res.Text); len(all) == n {
			return all, nil
		}
	}
	// Some have no place in the text, or two.
	all := make([]rune, n)
	for i := range all {
		res, err := r.pdf.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: text, Index: i})
		if err != nil {
			return nil, err
		}
		all[i] = rune(res.Unicode)
	}
	return all, nil
}

func (r *pageReader) box(text references.FPDF_TEXTPAGE, at int) (structs.FPDF_FS_RECTF, bool) {
	res, err := r.pdf.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: text, Index: at})
	if err != nil {
		return structs.FPDF_FS_RECTF{}, false
	}
	return res.Rect, true
}

// font is the font of a word.
type font struct {
	size   float64
	weight int
	bold   bool
}

// word determines a word's position and style. first means that it begins a line.
func (r *pageReader) word(text references.FPDF_TEXTPAGE, chars []char, first bool) (p piece) {
	at := chars[0].at
	a, ok := r.box(text, at)
	b := a
	if n := len(chars); n > 1 && ok {
		b, ok = r.box(text, chars[n-1].at)
	}
	r.turn(text, chars)
	runes := make([]rune, len(chars))
	for i, c := range chars {
		runes[i] = c.rune
	}
	p.text = clean(string(runes))
	if strings.ContainsFunc(p.text, compatible) {
		p.text = norm.NFKC.String(p.text)
	}
	if !ok {
		return p
	}
	p.left, p.right = float64(min(a.Left, b.Left)), float64(max(a.Right, b.Right))
	height := float64(max(a.Top, a.Bottom) - min(a.Top, a.Bottom))
	middle := float64(a.Top+a.Bottom) / 2
	f := r.style(text, at, first)
	if p.size, p.bold = height, f.bold; f.size > 0 {
		p.size = f.size * r.scale(text, at, f.size, height)
	}
	// Boxes are as high as their fonts claim, which varies; comparing lines needs a common measure.
	p.bottom, p.top = middle-0.45*p.size, middle+0.45*p.size
	return p
}

// style returns the font of a character. Reading its name is slow, so it is read once per line, when the font seems to
// change, and for text that began bold.
func (r *pageReader) style(text references.FPDF_TEXTPAGE, at int, first bool) font {
	var f font
	if res, err := r.pdf.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: text, Index: at}); err == nil {
		f.size = res.FontSize
	}
	res, err := r.pdf.FPDFText_GetFontWeight(&requests.FPDFText_GetFontWeight{TextPage: text, Index: at})
	if err == nil {
		f.weight = res.FontWeight
	}
	if !first && !r.font.bold && f.size == r.font.size && f.weight == r.font.weight {
		return r.font
	}
	f.bold = f.weight >= 600 && f.weight <= 1000
	if res, err := r.pdf.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: text, Index: at}); err == nil {
		name := strings.ToLower(res.FontName)
		f.bold = strings.Contains(name, "bold") || strings.Contains(name, "black") || strings.Contains(name, "heavy") ||
			f.bold && !strings.Contains(name, "regular")
	}
	r.font = f
	return f
}

// scale returns a page's factor for a font's size: some programs write all text with size 1.
func (r *pageReader) scale(text references.FPDF_TEXTPAGE, at int, size, height float64) float64 {
	key := [2]float64{size, half(height)}
	if known, ok := r.scales[key]; ok {
		return known
	}
	scale := 1.0
	if res, err := r.pdf.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: text, Index: at}); err == nil {
		if d := float64(max(res.Matrix.D, -res.Matrix.D)); d > 0.001 {
			scale = d
		}
	}
	if len(r.scales) < 10_000 {
		r.scales[key] = scale
	}
	return scale
}

// rightToLeft reports whether a letter belongs to a right-to-left script.
func rightToLeft(r rune) bool {
	return r >= 0x590 && r < 0x900 || r >= 0xFB1D && r < 0xFE00 || r >= 0xFE70 && r < 0xFF00
}

// compatible reports whether a character only represents others, such as ligatures and letter forms for fonts.
func compatible(r rune) bool {
	return r >= 0xFB00 && r < 0xFE00 || r >= 0xFE70 && r < 0xFEFF || r >= 0x2E80 && r < 0x2FE0
}

// turn reorders right-to-left letters into logical order: the reader returns those of some programs in visual order.
func (r *pageReader) turn(text references.FPDF_TEXTPAGE, chars []char) {
	for i := 0; i < len(chars); i++ {
		n := 0
		for i+n < len(chars) && rightToLeft(chars[i+n].rune) {
			n++
		}
		if run := chars[i : i+n]; n > 1 {
			first, ok := r.box(text, run[0].at)
			last, also := r.box(text, run[n-1].at)
			if ok && also && first.Left < last.Left {
				r.reverse(text, run)
			}
		}
		i += n
	}
}

// reverse reverses letters, keeping ligatures intact.
func (r *pageReader) reverse(text references.FPDF_TEXTPAGE, run []char) {
	slices.Reverse(run)
	for i := 0; i < len(run); {
		box, _ := r.box(text, run[i].at)
		n := i + 1
		for n < len(run) {
			if next, _ := r.box(text, run[n].at); next.Left != box.Left || next.Right != box.Right {
				break
			}
			n++
		}
		slices.Reverse(run[i:n])
		i = n
	}
}

// mirror flips a right-to-left page horizontally, and reports whether it did.
func mirror(words []piece) bool {
	rtl, all := 0, 0
	for _, w := range words {
		for _, r := range w.text {
			if all++; rightToLeft(r) {
				rtl++
			}
		}
	}
	if rtl <= all/2 {
		return false
	}
	for i, w := range words {
		words[i].left, words[i].right = -w.right, -w.left
	}
	return true
}

func (d *drawn) mirror() {
	for i, r := range d.flat {
		d.flat[i].from, d.flat[i].to = -r.to, -r.from
	}
	for i, r := range d.upright {
		d.upright[i].at = -r.at
	}
	for i, m := range d.marks {
		d.marks[i].left, d.marks[i].right = -m.right, -m.left
	}
}

// link records the targets of links on words.
func (r *pageReader) link(page requests.Page, words []piece) {
	at := 0
	for range maxPageLinks {
		next, err := r.pdf.FPDFLink_Enumerate(&requests.FPDFLink_Enumerate{Page: page, StartPos: at})
		if err != nil || next.Link == nil || next.NextStartPos == nil || *next.NextStartPos <= at {
			return
		}
		at = *next.NextStartPos
		to := r.target(*next.Link)
		if to == "" {
			continue
		}
		res, err := r.pdf.FPDFLink_GetAnnotRect(&requests.FPDFLink_GetAnnotRect{Link: *next.Link})
		if err != nil || res.Rect == nil {
			continue
		}
		left, right := float64(min(res.Rect.Left, res.Rect.Right)), float64(max(res.Rect.Left, res.Rect.Right))
		bottom, top := float64(min(res.Rect.Bottom, res.Rect.Top)), float64(max(res.Rect.Bottom, res.Rect.Top))
		for i, w := range words {
			x, y := (w.left+w.right)/2, (w.bottom+w.top)/2
			if x > left && x < right && y > bottom && y < top {
				words[i].link = to
			}
		}
	}
}

// target returns the address of a link, empty where it leads nowhere that others can go.
func (r *pageReader) target(link references.FPDF_LINK) string {
	action, err := r.pdf.FPDFLink_GetAction(&requests.FPDFLink_GetAction{Link: link})
	if err != nil || action.Action == nil {
		return ""
	}
	res, err := r.pdf.FPDFAction_GetURIPath(&requests.FPDFAction_GetURIPath{Document: r.doc, Action: *action.Action})
	if err != nil || res.URIPath == nil || len(*res.URIPath) > 2000 {
		return ""
	}
	u, err := url.Parse(*res.URIPath)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(u.String())
}
