package skilltool

import (
	"errors"
	"fmt"
	"image/color"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Measures of a chart, in points.
const (
	chartWide, chartHigh = 800.0, 460.0
	maxPoints            = 20_000
	maxBars              = 200
	maxSlices            = 12
	maxRows              = 30 // limit of horizontal bars
	mostLabels           = 26 // limit of values labelled in a chart
	maxSeries            = 8
	maxValue             = 1e15
)

// hues returns colors that are distinguishable with color blindness and in print.
func hues() []color.NRGBA {
	return []color.NRGBA{{0x2f, 0x6f, 0xb7, 255}, {0xe0, 0x8a, 0x2e, 255}, {0x3b, 0x9c, 0x6f, 255},
		{0xb5, 0x49, 0x5b, 255}, {0x7a, 0x5f, 0xa8, 255}, {0x5b, 0x67, 0x73, 255}, {0xc2, 0xa8, 0x3e, 255},
		{0x45, 0xa5, 0xb8, 255}}
}

// series is a column of numbers.
type series struct {
	name   string
	values []float64 // NaN where a cell is empty
}

// chart is a chart's data and layout.
type chart struct {
	canvas
	kind, title string
	axis        string // label of the horizontal axis
	unit        string // unit of the values
	labels      []string
	xs          []float64 // x values of a scatter chart
	series      []series
	l, r, t, b  float64 // edges of the plot area
	low, high   float64
	ofTable     bool  // its numbers come from the table above
	columns     []int // its columns in that table: labels first, then series
}

func drawChart(c call) error {
	list, err := load(c.args[0], c.sheet)
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return errors.New("the workbook has several sheets, pick one with --sheet")
	}
	ch, err := chartOf(c, list[0])
	if err != nil {
		return err
	}
	var pixels *raster
	switch strings.ToLower(filepath.Ext(c.args[1])) {
	case ".svg":
		ch.canvas = &svg{w: chartWide, h: chartHigh}
	case ".png":
		pixels = newRaster(chartWide, chartHigh)
		ch.canvas = pixels
	default:
		return errors.New("the picture must end in .svg or .png")
	}
	ch.draw()
	data, err := ch.bytes()
	if err != nil {
		return err
	}
	if pixels != nil && len(pixels.lost) > 0 {
		all := slices.Sorted(maps.Keys(pixels.lost))
		fmt.Fprintf(c.warn,
			"the font of PNG charts lacks these characters, shown as ?: %.60s; an SVG chart has them\n", string(all))
	}
	return save(c, c.args[1], data)
}

// chartOf creates a chart from the columns of a table.
func chartOf(c call, g grid) (*chart, error) {
	ch := &chart{kind: c.kind, title: c.title, unit: c.unit, l: 70, r: chartWide - 40, t: 30, b: chartHigh - 62}
	if !slices.Contains([]string{"bar", "hbar", "stacked", "line", "area", "scatter", "pie", "donut"}, c.kind) {
		return nil, fmt.Errorf("there is no chart of type %q", c.kind)
	}
	x := 0
	if c.x != "" {
		var err error
		if x, err = g.column(c.x); err != nil {
			return nil, err
		}
	}
	ch.axis = g.head[x]
	var ys []int
	for _, name := range c.y {
		i, err := g.column(name)
		if err != nil {
			return nil, err
		}
		ys = append(ys, i)
	}
	for i := range g.head {
		if _, all := g.numbers(i); all && i != x && len(c.y) == 0 && len(ys) < maxSeries {
			ys = append(ys, i)
		}
	}
	limit := map[string]int{"bar": maxBars, "stacked": maxBars, "hbar": maxRows, "pie": maxSlices, "donut": maxSlices}[c.kind]
	if limit == 0 {
		limit = maxPoints
	}
	switch {
	case len(ys) == 0:
		return nil, errors.New("there is no column of numbers to draw; name it with --y")
	case len(ys) > maxSeries:
		return nil, fmt.Errorf("more than %d columns cannot be told apart in one chart", maxSeries)
	case len(g.rows) == 0:
		return nil, errors.New("the table has no rows")
	case len(g.rows) > limit:
		return nil, fmt.Errorf("%d rows are too many for this chart, the limit is %d; aggregate them with sql",
			len(g.rows), limit)
	}
	for _, row := range g.rows {
		ch.labels = append(ch.labels, row[x])
		v, ok := number(row[x])
		if (!ok || math.Abs(v) > maxValue) && c.kind == "scatter" {
			return nil, fmt.Errorf("column %s must hold numbers that can be drawn, not %.40q", g.head[x], row[x])
		}
		ch.xs = append(ch.xs, v)
	}
	for _, i := range ys {
		s := series{name: g.head[i]}
		for _, row := range g.rows {
			v, ok := number(row[i])
			if !ok && strings.TrimSpace(row[i]) != "" {
				return nil, fmt.Errorf("column %s must hold numbers, not %.40q", g.head[i], row[i])
			}
			if !ok {
				v = math.NaN()
			}
			if math.Abs(v) > maxValue {
				return nil, fmt.Errorf("column %s holds %.40s, which is too large to draw", g.head[i], row[i])
			}
			if (ch.round() || c.kind == "stacked") && v < 0 {
				return nil, fmt.Errorf("a chart of type %s cannot show negative numbers", c.kind)
			}
			s.values = append(s.values, v)
		}
		ch.series = append(ch.series, s)
	}
	ch.columns = append([]int{x}, ys...)
	return ch, nil
}

func (c *chart) draw() {
	if c.title != "" {
		c.text(point{24, 30}, c.title, 17, true, -1, false)
		c.t += 26
	}
	if c.round() {
		c.pie()
		return
	}
	if len(c.series) > 1 {
		x := c.l
		for i, s := range c.series {
			c.area(hues()[i], square(x, c.t-8, 11))
			c.text(point{x + 16, c.t + 2}, brief(s.name, 24), 12, false, -1, false)
			x += 34 + 7*float64(min(utf8.RuneCountInString(s.name), 24))
		}
		if c.unit != "" {
			c.text(point{c.r, c.t + 2}, brief(c.unit, 24), 12, false, 1, false)
		}
		c.t += 20
	} else {
		name := c.series[0].name
		if c.unit != "" && name != c.unit {
			name += ", " + c.unit
		}
		c.text(point{c.l, c.t}, brief(name, 60), 12, false, -1, false)
		c.t += 14
	}
	if c.kind == "hbar" {
		c.rows()
		return
	}
	c.text(point{(c.l + c.r) / 2, chartHigh - 12}, brief(c.axis, 60), 12, false, 0, false)
	c.scale()
	switch c.kind {
	case "stacked":
		c.stacks()
	case "scatter":
		c.scatter()
	case "bar":
		c.bars()
	default:
		c.lines()
	}
}

func square(x, y, size float64) []point {
	return []point{{x, y}, {x + size, y}, {x + size, y + size}, {x, y + size}}
}

func brief(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// ticks returns round numbers around a range.
func ticks(low, high float64, n int) []float64 {
	if high <= low {
		high = low + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(n))))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if (high-low)/(step*m) <= float64(n) {
			step *= m
			break
		}
	}
	var out []float64
	first := math.Floor(low/step + 1e-9)
	for i := range 4 * n {
		v := (first + float64(i)) * step
		out = append(out, v)
		if v >= high-step*1e-9 {
			break
		}
	}
	return out
}

// label formats a number for an axis; top is the largest number of the axis, which determines the unit.
func label(v, top float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e4, "k"}} {
		if top >= unit.size {
			size := unit.size
			if v == 0 {
				return "0"
			}
			if unit.name == "k" {
				size = 1e3
			}
			return fmt.Sprintf("%g", math.Round(v/size*1000)/1000) + unit.name
		}
	}
	if math.Abs(v) >= 1000 && v == math.Trunc(v) {
		return grouped(v, 0)
	}
	return fmt.Sprintf("%g", math.Round(v*1e6)/1e6)
}

// extent returns the smallest and largest value, including stacks.
func (c *chart) extent() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range c.labels {
		sum := 0.0
		for _, s := range c.series {
			v := s.values[i]
			if math.IsNaN(v) {
				continue
			}
			if c.kind == "stacked" {
				sum += v
				v = sum
			}
			low, high = min(low, v), max(high, v)
		}
	}
	if math.IsInf(low, 1) {
		return 0, 1
	}
	return low, high
}

// labelled reports whether bars are labelled with their values.
func (c *chart) labelled() bool { return len(c.labels)*len(c.series) <= mostLabels }

// written returns a value as shown in the chart.
func (c *chart) written(v float64) string { return grouped(v, c.decimals()) }

// scale draws the value axis.
func (c *chart) scale() {
	low, high := c.extent()
	if c.kind != "scatter" && c.kind != "line" || low > 0 && low < high*0.5 {
		low, high = min(low, 0), max(high, 0)
	}
	marks := ticks(low, high, 6)
	c.low, c.high = marks[0], marks[len(marks)-1]
	for _, v := range marks {
		c.line(color.NRGBA{0xdd, 0xe2, 0xe8, 255}, 1, []point{{c.l, c.y(v)}, {c.r, c.y(v)}})
		c.text(point{c.l - 8, c.y(v) + 4}, label(v, max(-marks[0], marks[len(marks)-1])), 12, false, 1, false)
	}
}

func (c *chart) y(v float64) float64 { return c.b - (v-c.low)/(c.high-c.low)*(c.b-c.t) }

// names draws the category labels below the axis, as many as fit.
func (c *chart) names(at func(i int) float64) {
	n := len(c.labels)
	longest := 1
	for _, l := range c.labels {
		longest = max(longest, min(utf8.RuneCountInString(l), 18))
	}
	every := max(1, int(math.Ceil(float64(n)*(float64(longest)*6.4+8)/(c.r-c.l))))
	for i := 0; i < n; i += every {
		c.text(point{at(i), c.b + 18}, brief(c.labels[i], 18), 11.5, false, 0, false)
	}
	c.line(color.NRGBA{0x8a, 0x94, 0xa0, 255}, 1,
		[]point{{c.l, c.y(max(c.low, min(0, c.high)))}, {c.r, c.y(max(c.low, min(0, c.high)))}})
}

func (c *chart) bars() {
	slot := (c.r - c.l) / float64(len(c.labels))
	wide := slot * 0.76 / float64(len(c.series))
	for n, s := range c.series {
		for i, v := range s.values {
			if math.IsNaN(v) {
				continue
			}
			x := c.l + slot*float64(i) + slot*0.12 + wide*float64(n)
			c.area(hues()[n], []point{{x, c.y(0)}, {x, c.y(v)}, {x + wide*0.94, c.y(v)}, {x + wide*0.94, c.y(0)}})
			if c.labelled() {
				size := min(12, max(8, wide/4))
				at := c.y(v) - 5
				if v < 0 {
					at = c.y(v) + size + 4
				}
				c.text(point{x + wide*0.47, at}, c.written(v), size, false, 0, false)
			}
		}
	}
	c.names(func(i int) float64 { return c.l + slot*(float64(i)+0.5) })
}

// stacks draws the series on top of each other.
func (c *chart) stacks() {
	slot := (c.r - c.l) / float64(len(c.labels))
	for i := range c.labels {
		sum := 0.0
		x := c.l + slot*(float64(i)+0.16)
		for n, s := range c.series {
			v := s.values[i]
			if math.IsNaN(v) || v == 0 {
				continue
			}
			from, to := c.y(sum), c.y(sum+v)
			c.area(hues()[n], []point{{x, from}, {x, to}, {x + slot*0.68, to}, {x + slot*0.68, from}})
			if c.labelled() && from-to > 16 {
				c.light(point{x + slot*0.34, (from+to)/2 + 4}, c.written(v), 11, 0)
			}
			sum += v
		}
		if c.labelled() && len(c.series) > 1 {
			c.text(point{x + slot*0.34, c.y(sum) - 5}, c.written(sum), 11.5, true, 0, false)
		}
	}
	c.names(func(i int) float64 { return c.l + slot*(float64(i)+0.5) })
}

// rows draws horizontal bars, which leaves room for long labels.
func (c *chart) rows() {
	longest := 4
	for _, l := range c.labels {
		n := 0
		for _, r := range brief(l, 30) {
			n += 1 + btoi(wide(r))
		}
		longest = max(longest, n)
	}
	c.l = 24 + 6.8*float64(longest)
	c.b = chartHigh - 40
	c.r = chartWide - 70
	low, high := c.extent()
	marks := ticks(min(low, 0), max(high, 0), 6)
	first, last := marks[0], marks[len(marks)-1]
	x := func(v float64) float64 { return c.l + (v-first)/(last-first)*(c.r-c.l) }
	for _, v := range marks {
		c.line(color.NRGBA{0xdd, 0xe2, 0xe8, 255}, 1, []point{{x(v), c.t}, {x(v), c.b}})
		c.text(point{x(v), c.b + 18}, label(v, max(-marks[0], marks[len(marks)-1])), 12, false, 0, false)
	}
	slot := (c.b - c.t) / float64(len(c.labels))
	high1 := slot * 0.74 / float64(len(c.series))
	for i, l := range c.labels {
		top := c.t + slot*(float64(i)+0.13)
		c.text(point{c.l - 8, c.t + slot*(float64(i)+0.5) + 4}, brief(l, 30), min(12, max(8, slot*0.7)), false, 1, false)
		for n, s := range c.series {
			v := s.values[i]
			if math.IsNaN(v) {
				continue
			}
			y := top + high1*float64(n)
			c.area(hues()[n], []point{{x(0), y}, {x(v), y}, {x(v), y + high1*0.94}, {x(0), y + high1*0.94}})
			if c.labelled() {
				c.text(point{max(x(v), x(0)) + 5, y + high1*0.47 + 4}, c.written(v), min(12, max(8, high1*0.8)), false, -1, false)
			}
		}
	}
	c.line(color.NRGBA{0x8a, 0x94, 0xa0, 255}, 1, []point{{x(0), c.t}, {x(0), c.b}})
}

func (c *chart) lines() {
	at := func(i int) float64 {
		if len(c.labels) == 1 {
			return (c.l + c.r) / 2
		}
		if n := float64(len(c.labels)); n <= 40 { // away from the axis
			return c.l + (c.r-c.l)*(float64(i)+0.5)/n
		}
		return c.l + (c.r-c.l)*float64(i)/float64(len(c.labels)-1)
	}
	for n, s := range c.series {
		var now []point
		flush := func() {
			if c.kind == "area" && len(now) > 1 {
				shade := hues()[n]
				shade.A = 80
				c.area(shade, append(slices.Clone(now), point{now[len(now)-1].x, c.y(0)}, point{now[0].x, c.y(0)}))
			}
			c.line(hues()[n], 2.4, now)
			if len(now) <= 40 {
				for _, p := range now {
					c.area(hues()[n], circle(p, 3))
				}
			}
			now = nil
		}
		last := -1
		for i, v := range s.values {
			if math.IsNaN(v) {
				flush()
				continue
			}
			last = i
			now = append(now, point{at(i), c.y(v)})
		}
		flush()
		for i, v := range s.values {
			if !math.IsNaN(v) && (i == last || len(c.labels) <= 12 && len(c.series) <= 2) {
				up := -9.0
				if n == 1 && len(c.series) == 2 && c.series[0].values[i] >= v {
					up = 18
				}
				c.text(point{min(at(i), c.r-6), c.y(v) + up}, c.written(v), 11, false, 0, false)
			}
		}
	}
	c.names(at)
}

func (c *chart) scatter() {
	marks := ticks(slices.Min(c.xs), slices.Max(c.xs), 8)
	low, high := marks[0], marks[len(marks)-1]
	at := func(v float64) float64 { return c.l + (v-low)/(high-low)*(c.r-c.l) }
	for _, v := range marks {
		c.text(point{at(v), c.b + 18}, label(v, max(-marks[0], marks[len(marks)-1])), 11.5, false, 0, false)
	}
	for n, s := range c.series {
		shade := hues()[n]
		shade.A = 180
		for i, v := range s.values {
			if !math.IsNaN(v) {
				c.area(shade, circle(point{at(c.xs[i]), c.y(v)}, 3.6))
			}
		}
	}
}

func (c *chart) pie() {
	center, radius := point{250, c.t + 185}, 165.0
	total := 0.0
	values := c.series[0].values
	for _, v := range values {
		if !math.IsNaN(v) {
			total += v
		}
	}
	if total == 0 {
		total = 1
	}
	angle := -math.Pi / 2
	for i, v := range values {
		if math.IsNaN(v) {
			v = 0
		}
		shade := hues()[i%maxSeries]
		if i >= maxSeries {
			shade.A = 140
		}
		part := v / total * 2 * math.Pi
		var arc []point
		round := func(from, to, radius float64) {
			for n := range 65 {
				a := from + (to-from)*float64(n)/64
				arc = append(arc, point{center.x + radius*math.Cos(a), center.y + radius*math.Sin(a)})
			}
		}
		if c.kind == "donut" {
			round(angle+part, angle, radius*0.58)
		} else {
			arc = append(arc, center)
		}
		round(angle, angle+part, radius)
		c.area(shade, arc)
		angle += part
		y := c.t + 30 + 27*float64(i)
		if v/total >= 0.05 {
			half := angle - part/2
			far := map[bool]float64{true: 0.79, false: 0.66}[c.kind == "donut"]
			c.light(point{center.x + radius*far*math.Cos(half), center.y + radius*far*math.Sin(half) + 4},
				fmt.Sprintf("%.0f %%", v/total*100), 12, 0)
		}
		c.area(shade, square(480, y-10, 12))
		c.text(point{500, y}, fmt.Sprintf("%s  %s (%.1f %%)", brief(c.labels[i], 24), c.written(v), v/total*100), 13,
			false, -1, false)
	}
}
