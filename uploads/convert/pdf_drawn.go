package convert

import (
	"math"
	"slices"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
)

// Limits of the drawn objects of a page that are read. Reading takes time, and pages with more are plans and
// charts rather than tables.
const (
	maxObjects  = 3000
	maxSegments = 4000
	maxMarks    = 500
)

// rule is a drawn line from one place to another, on the other axis at one.
type rule struct{ at, from, to float64 }

// drawn holds the non-text drawings of a page.
type drawn struct {
	flat, upright []rule  // lines
	marks         []piece // small shapes, such as bullets
}

// drawn reads a page's drawings.
func (r *pageReader) drawn(page requests.Page) (d drawn) {
	count, err := r.pdf.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil || count.Count > maxObjects {
		return d
	}
	left := maxSegments
	for i := range count.Count {
		o, err := r.pdf.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if err != nil {
			continue
		}
		r.object(&d, o.PageObject, structs.FPDF_FS_MATRIX{A: 1, D: 1}, &left, 0)
	}
	d.flat, d.upright = merged(d.flat), merged(d.upright)
	return d
}

// object collects the lines of an object and its children. m is its transformation.
func (r *pageReader) object(d *drawn, o references.FPDF_PAGEOBJECT, m structs.FPDF_FS_MATRIX, left *int, depth int) {
	kind, err := r.pdf.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: o})
	if err != nil || *left <= 0 {
		return
	}
	switch kind.Type {
	case enums.FPDF_PAGEOBJ_PATH:
		r.path(d, o, m, left)
	case enums.FPDF_PAGEOBJ_FORM:
		own, err := r.pdf.FPDFPageObj_GetMatrix(&requests.FPDFPageObj_GetMatrix{PageObject: o})
		count, also := r.pdf.FPDFFormObj_CountObjects(&requests.FPDFFormObj_CountObjects{PageObject: o})
		if err != nil || also != nil || depth > 3 || count.Count > maxObjects {
			return
		}
		m = combined(own.Matrix, m)
		for i := range count.Count {
			in, err := r.pdf.FPDFFormObj_GetObject(&requests.FPDFFormObj_GetObject{PageObject: o, Index: uint64(i)})
			if err == nil {
				r.object(d, in.PageObject, m, left, depth+1)
			}
		}
	}
}

// combined returns the transformation a followed by b.
func combined(a, b structs.FPDF_FS_MATRIX) structs.FPDF_FS_MATRIX {
	return structs.FPDF_FS_MATRIX{
		A: a.A*b.A + a.B*b.C, B: a.A*b.B + a.B*b.D, C: a.C*b.A + a.D*b.C, D: a.C*b.B + a.D*b.D,
		E: a.E*b.A + a.F*b.C + b.E, F: a.E*b.B + a.F*b.D + b.F,
	}
}

func moved(x, y float32, m structs.FPDF_FS_MATRIX) (float64, float64) {
	return float64(m.A*x + m.C*y + m.E), float64(m.B*x + m.D*y + m.F)
}

// Sizes of drawings, in points.
const (
	thinLine  = 2.5
	shortLine = 4
	largeMark = 9
)

// path reads the lines of a path.
func (r *pageReader) path(d *drawn, o references.FPDF_PAGEOBJECT, m structs.FPDF_FS_MATRIX, left *int) {
	b, err := r.pdf.FPDFPageObj_GetBounds(&requests.FPDFPageObj_GetBounds{PageObject: o})
	if err != nil {
		return
	}
	x0, y0 := moved(b.Left, b.Bottom, m)
	x1, y1 := moved(b.Right, b.Top, m)
	x0, x1, y0, y1 = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
	wide, high := x1-x0, y1-y0
	mode, err := r.pdf.FPDFPath_GetDrawMode(&requests.FPDFPath_GetDrawMode{PageObject: o})
	filled := err == nil && mode.FillMode != enums.FPDF_FILLMODE_NONE
	if err != nil || !filled && !mode.Stroke {
		return
	}
	if filled && !mode.Stroke {
		c, err := r.pdf.FPDFPageObj_GetFillColor(&requests.FPDFPageObj_GetFillColor{PageObject: o})
		if err != nil || c.FillColor.A == 0 || min(c.FillColor.R, c.FillColor.G, c.FillColor.B) > 252 {
			return // invisible
		}
	}
	switch {
	case high <= thinLine && wide >= shortLine:
		d.flat = append(d.flat, rule{(y0 + y1) / 2, x0, x1})
		return
	case wide <= thinLine && high >= shortLine:
		d.upright = append(d.upright, rule{(x0 + x1) / 2, y0, y1})
		return
	case wide <= largeMark && high <= largeMark:
		if filled && wide > 1 && high > 1 && wide < 2*high && high < 2*wide && len(d.marks) < maxMarks {
			d.marks = append(d.marks, piece{text: "•", left: x0, right: x1, bottom: y0, top: y1, size: high})
		}
		return
	}
	r.segments(d, o, m, left)
}

// segments adds the straight lines of a path.
func (r *pageReader) segments(d *drawn, o references.FPDF_PAGEOBJECT, m structs.FPDF_FS_MATRIX, left *int) {
	count, err := r.pdf.FPDFPath_CountSegments(&requests.FPDFPath_CountSegments{PageObject: o})
	own, also := r.pdf.FPDFPageObj_GetMatrix(&requests.FPDFPageObj_GetMatrix{PageObject: o})
	if err != nil || also != nil || count.Count > *left {
		return
	}
	*left -= count.Count
	m = combined(own.Matrix, m)
	var startX, startY, x, y float64
	line := func(toX, toY float64) {
		switch {
		case math.Abs(y-toY) < 0.7 && math.Abs(x-toX) >= shortLine:
			d.flat = append(d.flat, rule{(y + toY) / 2, min(x, toX), max(x, toX)})
		case math.Abs(x-toX) < 0.7 && math.Abs(y-toY) >= shortLine:
			d.upright = append(d.upright, rule{(x + toX) / 2, min(y, toY), max(y, toY)})
		}
	}
	for i := range count.Count {
		s, err := r.pdf.FPDFPath_GetPathSegment(&requests.FPDFPath_GetPathSegment{PageObject: o, Index: i})
		if err != nil {
			return
		}
		kind, err := r.pdf.FPDFPathSegment_GetType(&requests.FPDFPathSegment_GetType{PathSegment: s.PathSegment})
		p, also := r.pdf.FPDFPathSegment_GetPoint(&requests.FPDFPathSegment_GetPoint{PathSegment: s.PathSegment})
		if err != nil || also != nil {
			return
		}
		toX, toY := moved(p.X, p.Y, m)
		switch kind.Type {
		case enums.FPDF_SEGMENT_MOVETO:
			startX, startY = toX, toY
		case enums.FPDF_SEGMENT_LINETO:
			line(toX, toY)
		}
		x, y = toX, toY
		if end, err := r.pdf.FPDFPathSegment_GetClose(&requests.FPDFPathSegment_GetClose{PathSegment: s.PathSegment}); err == nil &&
			end.IsClose {
			line(startX, startY)
			x, y = startX, startY
		}
	}
}

// merged joins lines that continue one another, or that are so close that they are the sides of one.
func merged(all []rule) (out []rule) {
	slices.SortFunc(all, func(a, b rule) int {
		if math.Abs(a.at-b.at) > 1.5 {
			return int(math.Copysign(1, a.at-b.at))
		}
		return int(math.Copysign(1, a.from-b.from))
	})
	for _, r := range all {
		joined := false
		for i := len(out) - 1; i >= 0 && i > len(out)-40; i-- {
			o := &out[i]
			if math.Abs(o.at-r.at) <= 1.5 && r.from <= o.to+3 && r.to >= o.from-3 {
				o.from, o.to, joined = min(o.from, r.from), max(o.to, r.to), true
				break
			}
		}
		if !joined {
			out = append(out, r)
		}
	}
	return out
}
