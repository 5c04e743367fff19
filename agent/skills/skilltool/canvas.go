package skilltool

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strings"

	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// point is a position on a canvas.
type point struct{ x, y float64 }

// canvas is a drawing surface for charts.
type canvas interface {
	area(color.NRGBA, []point)
	line(color.NRGBA, float64, []point)
	// text draws s with its start (-1), middle (0) or end (1) at the point; turned text reads upwards.
	text(at point, s string, size float64, bold bool, anchor int, turned bool)
	// light draws text on a dark area.
	light(at point, s string, size float64, anchor int)
	bytes() ([]byte, error)
}

var ink = color.NRGBA{0x2a, 0x33, 0x3f, 255}

func hexColor(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// svg is a vector canvas.
type svg struct {
	body strings.Builder
	w, h float64
}

func (s *svg) path(list []point) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%.1f,%.1f ", p.x, p.y)
	}
	return strings.TrimSpace(b.String())
}

func (s *svg) area(c color.NRGBA, list []point) {
	fmt.Fprintf(&s.body, `<polygon points="%s" fill="%s" fill-opacity="%.2f"/>`+"\n", s.path(list), hexColor(c),
		float64(c.A)/255)
}

func (s *svg) line(c color.NRGBA, width float64, list []point) {
	fmt.Fprintf(&s.body, `<polyline points="%s" fill="none" stroke="%s" stroke-width="%.1f" stroke-linejoin="round"/>`+"\n",
		s.path(list), hexColor(c), width)
}

func (s *svg) text(at point, t string, size float64, bold bool, anchor int, turned bool) {
	more := ""
	if bold {
		more = ` font-weight="600"`
	}
	if turned {
		more += fmt.Sprintf(` transform="rotate(-90 %.1f %.1f)"`, at.x, at.y)
	}
	fmt.Fprintf(&s.body, `<text x="%.1f" y="%.1f" font-size="%.0f" text-anchor="%s"%s>%s</text>`+"\n", at.x, at.y, size,
		[]string{"start", "middle", "end"}[anchor+1], more, esc(t))
}

func (s *svg) light(at point, t string, size float64, anchor int) {
	fmt.Fprintf(&s.body, `<text x="%.1f" y="%.1f" font-size="%.0f" font-weight="600" fill="#fff" text-anchor="%s">%s</text>`+"\n", at.x, at.y,
		size, []string{"start", "middle", "end"}[anchor+1], esc(t))
}

func (s *svg) bytes() ([]byte, error) {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" `+
		`font-family="system-ui, sans-serif" fill="%[3]s">`+"\n"+`<rect width="100%%" height="100%%" fill="#fff"/>`+
		"\n%[4]s</svg>\n",
		s.w, s.h, hexColor(ink), s.body.String()), nil
}

// raster is a pixel canvas at twice the resolution of points.
type raster struct {
	img   *image.RGBA
	faces map[string]font.Face
	lost  map[rune]bool
}

const sharp = 2

func newRaster(w, h float64) *raster {
	r := &raster{img: image.NewRGBA(image.Rect(0, 0, int(w*sharp), int(h*sharp))), faces: map[string]font.Face{},
		lost: map[rune]bool{}}
	draw.Draw(r.img, r.img.Bounds(), image.White, image.Point{}, draw.Src)
	return r
}

func (r *raster) area(c color.NRGBA, list []point) {
	if len(list) == 0 {
		return
	}
	low, high := list[0], list[0]
	for _, p := range list {
		low = point{min(low.x, p.x), min(low.y, p.y)}
		high = point{max(high.x, p.x), max(high.y, p.y)}
	}
	at := image.Rect(int(low.x*sharp)-1, int(low.y*sharp)-1, int(high.x*sharp)+2, int(high.y*sharp)+2)
	v := vector.NewRasterizer(at.Dx(), at.Dy())
	for i, p := range list {
		x, y := float32(p.x*sharp-float64(at.Min.X)), float32(p.y*sharp-float64(at.Min.Y))
		if i == 0 {
			v.MoveTo(x, y)
		} else {
			v.LineTo(x, y)
		}
	}
	v.ClosePath()
	v.Draw(r.img, at, image.NewUniform(c), image.Point{})
}

func (r *raster) line(c color.NRGBA, width float64, list []point) {
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		l := math.Hypot(b.x-a.x, b.y-a.y)
		if l == 0 {
			continue
		}
		dx, dy := (b.x-a.x)/l*width/2, (b.y-a.y)/l*width/2
		r.area(c, []point{{a.x - dy, a.y + dx}, {b.x - dy, b.y + dx}, {b.x + dy, b.y - dx}, {a.x + dy, a.y - dx}})
		if i > 1 && width > 1 {
			r.area(c, circle(a, width/2))
		}
	}
}

func circle(at point, radius float64) (out []point) {
	for i := range 20 {
		a := float64(i) * math.Pi / 10
		out = append(out, point{at.x + radius*math.Cos(a), at.y + radius*math.Sin(a)})
	}
	return out
}

// Font faces of a raster.
const (
	plainFace = iota
	boldFace
	machineFace // letters that the others lack; nil where this machine has no such font
)

func (r *raster) face(size float64, kind int) (font.Face, error) {
	key := fmt.Sprint(size, kind)
	if f, ok := r.faces[key]; ok {
		return f, nil
	}
	var parsed *opentype.Font
	var err error
	switch kind {
	case machineFace:
		if parsed = machineFont(); parsed == nil {
			r.faces[key] = nil
			return nil, nil
		}
	case boldFace:
		parsed, err = opentype.Parse(liberationsansbold.TTF)
	default:
		parsed, err = opentype.Parse(liberationsansregular.TTF)
	}
	if err != nil {
		return nil, err
	}
	f, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size * sharp, DPI: 72})
	if err == nil {
		r.faces[key] = f
	}
	return f, err
}

// stretch is text in one font face.
type stretch struct {
	text string
	face font.Face
}

// stretches splits text at changes of the font. A letter missing in all fonts becomes a question mark.
func (r *raster) stretches(s string, size float64, bold bool) (out []stretch) {
	usual, err := r.face(size, btoi(bold))
	if err != nil {
		return nil // fonts of the program are always there
	}
	for _, c := range s {
		f := usual
		if _, ok := f.GlyphAdvance(c); !ok {
			f = nil
			if more, err := r.face(size, machineFace); err == nil && more != nil {
				if _, ok := more.GlyphAdvance(c); ok {
					f = more
				}
			}
		}
		if f == nil {
			r.lost[c] = true
			c, f = '?', usual
		}
		if n := len(out); n > 0 && out[n-1].face == f {
			out[n-1].text += string(c)
			continue
		}
		out = append(out, stretch{string(c), f})
	}
	return out
}

func (r *raster) text(at point, s string, size float64, bold bool, anchor int, turned bool) {
	r.write(at, s, size, bold, anchor, turned, ink)
}

func (r *raster) light(at point, s string, size float64, anchor int) {
	r.write(at, s, size, true, anchor, false, color.NRGBA{255, 255, 255, 255})
}

func (r *raster) write(at point, s string, size float64, bold bool, anchor int, turned bool, shade color.NRGBA) {
	list := r.stretches(s, size, bold)
	wide := 0
	for _, one := range list {
		wide += font.MeasureString(one.face, one.text).Ceil()
	}
	high := int(size * sharp * 1.5)
	label := image.NewRGBA(image.Rect(0, 0, wide+2, high))
	dot := fixed.P(0, int(size*sharp*1.1))
	for _, one := range list {
		d := font.Drawer{Dst: label, Src: image.NewUniform(shade), Face: one.face, Dot: dot}
		d.DrawString(one.text)
		if bold && one.face == r.faces[fmt.Sprint(size, machineFace)] { // it has no bold letters
			d.Dot = fixed.Point26_6{X: dot.X + 1<<6, Y: dot.Y}
			d.DrawString(one.text)
		}
		dot = d.Dot
	}
	off := wide * (anchor + 1) / 2
	x, y := int(at.x*sharp), int(at.y*sharp)
	if !turned {
		draw.Draw(r.img, label.Bounds().Add(image.Pt(x-off, y-int(size*sharp*1.1))), label, image.Point{}, draw.Over)
		return
	}
	up := image.NewRGBA(image.Rect(0, 0, high, wide+2))
	for i := range wide + 2 {
		for j := range high {
			up.Set(j, wide+1-i, label.At(i, j))
		}
	}
	draw.Draw(r.img, up.Bounds().Add(image.Pt(x-int(size*sharp*1.1), y-wide+off)), up, image.Point{}, draw.Over)
}

func (r *raster) bytes() ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, r.img)
	return b.Bytes(), err
}
