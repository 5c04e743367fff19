package offline

import (
	"fmt"
	"html"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Size of the drawing and of the plot inside it, in SVG units.
const (
	svgWidth, svgHeight = 880.0, 480.0
	plotTop, plotRight  = 100.0, 28.0
	plotBottom          = 64.0
)

// style adapts to light and dark backgrounds.
const svgStyle = `<style>
svg{--paper:#fcfbf8;--ink:#2b2a27;--soft:#77736a;--grid:#e6e2d8;--mark:#3f7d58;--fill:#3f7d5822}
@media (prefers-color-scheme:dark){svg{--paper:#1c1b19;--ink:#ece8df;--soft:#a39d91;--grid:#35332f;--mark:#7fc29b;--fill:#7fc29b22}}
.paper{fill:var(--paper)}text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--soft)}
.title{font-size:18px;font-weight:600;fill:var(--ink)}.value{fill:var(--ink);font-size:12px}
.grid{stroke:var(--grid)}.axis{stroke:var(--soft)}.bar{fill:var(--mark)}
.line{fill:none;stroke:var(--mark);stroke-width:2.5;stroke-linejoin:round;stroke-linecap:round}.area{fill:var(--fill)}
</style>
`

// canvas collects the elements of a drawing.
type canvas struct {
	strings.Builder
	left      float64 // of the plot
	low, high float64 // of the value axis
	base      float64 // where bars begin
}

// svg draws a chart.
func svg(ch chart, source string) string {
	var c canvas
	fmt.Fprintf(&c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s">`+
		"\n", svgWidth, svgHeight, esc(ch.title))
	fmt.Fprintf(&c, "<title>%s</title>\n%s", esc(ch.title), svgStyle)
	fmt.Fprintf(&c, `<rect class="paper" width="%g" height="%g" rx="10"/>`+"\n", svgWidth, svgHeight)
	c.text(24, 36, "title", "start", clip(ch.title, 84))
	c.text(24, 56, "", "start", clip(source, 110))
	if ch.shape == shapeBars {
		c.bars(ch)
	} else {
		c.axes(ch)
		if ch.shape == shapeLine {
			c.line(ch)
		} else {
			c.histogram(ch)
		}
	}
	c.WriteString("</svg>\n")
	return c.String()
}

// bars lie on their side, so that long names can be read.
func (c *canvas) bars(ch chart) {
	longest := 4
	for _, l := range ch.labels {
		longest = max(longest, wide(clip(l, 26)))
	}
	c.left = 40 + 7.2*float64(longest)
	c.scale(ch.values)
	width := svgWidth - c.left - plotRight - 76
	x := func(v float64) float64 { return c.left + width*(v-c.low)/(c.high-c.low) }
	bottom := svgHeight - plotBottom
	step := niceStep((c.high - c.low) / 6)
	for v := math.Ceil(c.low/step) * step; v <= c.high+step/1e6; v += step {
		c.rule("grid", x(v), plotTop, x(v), bottom)
		c.text(x(v), bottom+20, "", "middle", short(v))
	}
	row := (bottom - plotTop) / float64(max(len(ch.values), 1))
	thick := min(row*0.68, 34)
	for i, v := range ch.values {
		y := plotTop + row*(float64(i)+0.5)
		from, to := min(x(c.base), x(v)), max(x(c.base), x(v))
		fmt.Fprintf(c, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`+"\n", from, y-thick/2,
			max(to-from, 0.5), thick)
		c.text(c.left-10, y+4.5, "", "end", clip(ch.labels[i], 26))
		c.text(to+8, y+4.5, "value", "start", short(v))
	}
	c.rule("axis", x(c.base), plotTop, x(c.base), bottom)
	c.text(c.left+width/2, svgHeight-16, "", "middle", clip(ch.yName, 80))
	c.text(24, plotTop-15, "", "start", clip(ch.xName, 40))
}

// scale sets the value axis to nice ends around the values and zero.
func (c *canvas) scale(values []float64) {
	low, high := 0.0, 0.0
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if low == high {
		high = low + 1
	}
	step := niceStep((high - low) / 6)
	c.low, c.high, c.base = math.Floor(low/step)*step, math.Ceil(high/step)*step, 0
}

// y returns the height of a value.
func (c *canvas) y(v float64) float64 {
	return svgHeight - plotBottom - (svgHeight-plotBottom-plotTop)*(v-c.low)/(c.high-c.low)
}

// axes draws the vertical value axis.
func (c *canvas) axes(ch chart) {
	c.scale(ch.values)
	step := niceStep((c.high - c.low) / 6)
	longest := 2
	for v := c.low; v <= c.high+step/1e6; v += step {
		longest = max(longest, wide(short(v)))
	}
	c.left = 34 + 7.6*float64(longest)
	for v := c.low; v <= c.high+step/1e6; v += step {
		c.rule("grid", c.left, c.y(v), svgWidth-plotRight, c.y(v))
		c.text(c.left-10, c.y(v)+4.5, "", "end", short(v))
	}
	c.rule("axis", c.left, c.y(c.base), svgWidth-plotRight, c.y(c.base))
	c.text((c.left+svgWidth-plotRight)/2, svgHeight-16, "", "middle", clip(ch.xName, 80))
	c.text(24, plotTop-15, "", "start", clip(ch.yName, 60))
}

func (c *canvas) histogram(ch chart) {
	from, to := ch.edges[0], ch.edges[len(ch.edges)-1]
	x := func(v float64) float64 { return c.left + (svgWidth-plotRight-c.left)*(v-from)/(to-from) }
	every := (len(ch.edges) + 8) / 9
	for i, v := range ch.values {
		fmt.Fprintf(c, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"/>`+"\n",
			x(ch.edges[i])+1, c.y(v), max(x(ch.edges[i+1])-x(ch.edges[i])-2, 0.5), c.y(0)-c.y(v))
	}
	for i, e := range ch.edges {
		if i%every == 0 {
			c.text(x(e), svgHeight-plotBottom+20, "", "middle", short(e))
		}
	}
}

func (c *canvas) line(ch chart) {
	first, last := ch.times[0], ch.times[len(ch.times)-1]
	length := last.Sub(first).Seconds()
	x := func(i int) float64 {
		return c.left + 8 + (svgWidth-plotRight-c.left-16)*ch.times[i].Sub(first).Seconds()/length
	}
	var points strings.Builder
	for i, v := range ch.values {
		fmt.Fprintf(&points, "%.1f,%.1f ", x(i), c.y(v))
	}
	n := len(ch.values) - 1
	fmt.Fprintf(c, `<polygon class="area" points="%.1f,%.1f %s%.1f,%.1f"/>`+"\n", x(0), c.y(c.base),
		points.String(), x(n), c.y(c.base))
	fmt.Fprintf(c, `<polyline class="line" points="%s"/>`+"\n", strings.TrimSpace(points.String()))
	if n < 40 {
		for i, v := range ch.values {
			fmt.Fprintf(c, `<circle class="bar" cx="%.1f" cy="%.1f" r="3.5"/>`+"\n", x(i), c.y(v))
		}
	}
	shown := -1000.0
	for i := range ch.times {
		if at := x(i); at-shown >= 84 && (i == n || x(n)-at >= 60 || i == 0) {
			c.text(at, svgHeight-plotBottom+20, "", "middle", ch.times[i].Format(ch.stamp))
			shown = at
		}
	}
}

func (c *canvas) rule(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", class, x1, y1, x2, y2)
}

func (c *canvas) text(x, y float64, class, anchor, s string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(c, `<text%s x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, esc(s))
}

// esc escapes a text for XML.
func esc(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, s)
	return html.EscapeString(s)
}

// wide returns a text's width in narrow letters.
func wide(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x1100 {
			n++
		}
	}
	return n
}

// clip shortens a text to n narrow letters.
func clip(s string, n int) string {
	if wide(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		used++
		if r >= 0x1100 {
			used++
		}
		if used > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}
