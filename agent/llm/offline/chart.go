package offline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// shape is the form of a chart.
type shape uint8

const (
	shapeBars shape = iota
	shapeHistogram
	shapeLine
)

// chart is a picture of one or two columns, before it is drawn.
type chart struct {
	shape  shape
	title  string
	xName  string
	yName  string
	labels []string    // bars
	edges  []float64   // histogram: one more than values
	times  []time.Time // line
	stamp  string      // line: how times are written
	values []float64
}

// maxBars limits the groups of a bar chart.
const maxBars = 12

// choose selects the most informative chart of a table, guided by the person's words.
func choose(c *conversation, cols []column) (chart, bool) {
	words := strings.ToLower(c.text)
	number := pickColumn(words, cols, func(k *column) bool { return k.kind == kindNumber && !k.serial && !k.year })
	date := pickColumn(words, cols, func(k *column) bool {
		return k.kind == kindDate || k.kind == kindNumber && k.year
	})
	group := pickColumn(words, cols, (*column).category)
	says := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(words, w) })
	}
	switch {
	case number != nil && says("histogram", "distribution", "直方", "分布"):
		return histogram(c, number), true
	case number != nil && group != nil &&
		(says("bar chart", "compare", "柱", "比较", "对比") ||
			mentioned(words, group) && !says("trend", "over time", "line")):
		return bars(c, group, number), true
	}
	if date != nil {
		if ch, ok := line(c, date, number); ok {
			return ch, true
		}
	}
	switch {
	case number != nil && group != nil:
		return bars(c, group, number), true
	case number != nil:
		return histogram(c, number), true
	case group != nil:
		return bars(c, group, nil), true
	}
	return chart{}, false
}

func mentioned(words string, k *column) bool {
	return len(k.name) > 1 && strings.Contains(words, strings.ToLower(k.name))
}

// pickColumn prefers a column named by the user, then one named like an amount, then the first.
func pickColumn(words string, cols []column, fits func(*column) bool) *column {
	var best *column
	score := -1
	for i := range cols {
		k := &cols[i]
		if !fits(k) {
			continue
		}
		s := 0
		lower := strings.ToLower(k.name)
		for _, hint := range []string{"amount", "total", "revenue", "sales", "value", "price", "score", "profit",
			"count", "quantity", "金额", "销售", "总", "收入", "数量", "价", "分数", "利润", "region", "category", "type", "country",
			"地区", "类"} {
			if strings.Contains(lower, hint) {
				s = 1
			}
		}
		if k.missing*2 > len(k.texts) {
			s = 0
		}
		if mentioned(words, k) {
			s = 2
		}
		if s > score {
			best, score = k, s
		}
	}
	return best
}

// averaged reports whether summing the column's values is meaningless.
func averaged(k *column) bool {
	lower := strings.ToLower(k.name)
	for _, w := range []string{"price", "rate", "avg", "average", "mean", "temp", "score", "ratio", "percent",
		"%", "age", "height", "weight", "speed", "lat", "lon", "率", "价", "温", "均", "分", "年龄", "比"} {
		if lower == w || strings.Contains(lower, w) && len(w) > 3 || strings.Contains(k.name, w) && w[0] >= 0x80 ||
			strings.HasSuffix(lower, "_"+w) {
			return true
		}
	}
	return false
}

// fold adds up or averages numbers by group.
type fold struct{ sum, n float64 }

func (f fold) value(mean bool) float64 {
	if mean && f.n > 0 {
		return f.sum / f.n
	}
	return f.sum
}

// measure names the result of fold.
func measure(c *conversation, number *column) string {
	switch {
	case number == nil:
		return c.pick("rows", "行数")
	case averaged(number):
		return fmt.Sprintf(c.pick("mean of %s", "%s 的平均值"), number.name)
	}
	return fmt.Sprintf(c.pick("sum of %s", "%s 的合计"), number.name)
}

// totals returns the groups of a column with the sum, mean or number of rows, largest first.
func totals(group, number *column) (labels []string, values []float64) {
	by := map[string]*fold{}
	for i, s := range group.texts {
		if s == "" || number != nil && math.IsNaN(number.numbers[i]) {
			continue
		}
		f := by[s]
		if f == nil {
			f = &fold{}
			by[s] = f
			labels = append(labels, s)
		}
		f.n++
		if number == nil {
			f.sum++
		} else {
			f.sum += number.numbers[i]
		}
	}
	mean := number != nil && averaged(number)
	slices.SortFunc(labels, func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b].value(mean), by[a].value(mean)), cmp.Compare(a, b))
	})
	for _, l := range labels {
		values = append(values, by[l].value(mean))
	}
	return labels, values
}

// upper capitalizes an English title; Chinese ones begin with the name of a column, which is unchanged.
func (c *conversation) upper(s string) string {
	if c.zh {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

func bars(c *conversation, group, number *column) chart {
	labels, values := totals(group, number)
	ch := chart{shape: shapeBars, xName: group.name, yName: measure(c, number)}
	ch.title = fmt.Sprintf(c.pick("%s by %s", "%s（按 %s）"), c.upper(ch.yName), group.name)
	if len(labels) > maxBars {
		ch.title = fmt.Sprintf(c.pick("%s by %s, top %d of %d", "%s（按 %s，前 %d，共 %d）"), c.upper(ch.yName), group.name,
			maxBars, len(labels))
		labels, values = labels[:maxBars], values[:maxBars]
	}
	ch.labels, ch.values = labels, values
	return ch
}

func histogram(c *conversation, number *column) chart {
	ch := chart{shape: shapeHistogram, title: fmt.Sprintf(c.pick("Distribution of %s", "%s 的分布"), number.name),
		xName: number.name, yName: c.pick("rows", "行数")}
	low, high := number.min, number.max
	// Values too close together for floating point get padding.
	if size := max(math.Abs(low), math.Abs(high)); high-low <= size*1e-9 {
		room := max(0.5, size*1e-6)
		low, high = low-room, high+room
	}
	n := int(math.Ceil(math.Sqrt(float64(number.values))))
	step := niceStep((high - low) / float64(min(max(n, 5), 24)))
	if number.whole {
		step = max(1, step)
	}
	from := math.Floor(low/step) * step
	count := min(max(int(math.Floor((high-from)/step))+1, 1), 64)
	ch.values = make([]float64, count)
	for i := range count + 1 {
		ch.edges = append(ch.edges, from+float64(i)*step)
	}
	for _, v := range number.numbers {
		if !math.IsNaN(v) {
			ch.values[min(max(int((v-from)/step), 0), count-1)]++
		}
	}
	return ch
}

// line returns a chart of a number, or of the number of rows, over time.
func line(c *conversation, date, number *column) (chart, bool) {
	moments := date.times
	if date.kind == kindNumber {
		moments = make([]time.Time, len(date.numbers))
		for i, v := range date.numbers {
			if !math.IsNaN(v) {
				moments[i] = time.Date(int(v), 1, 1, 0, 0, 0, 0, time.UTC)
			}
		}
	}
	first, last := date.first, date.last
	if date.kind == kindNumber {
		first, last = time.Date(int(date.min), 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(int(date.max), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	by := map[time.Time]*fold{}
	bucket, stamp, name := bucketOf(c, last.Sub(first), date)
	for i, t := range moments {
		if t.IsZero() || number != nil && math.IsNaN(number.numbers[i]) {
			continue
		}
		b := bucket(t)
		if by[b] == nil {
			by[b] = &fold{}
		}
		by[b].n++
		if number == nil {
			by[b].sum++
		} else {
			by[b].sum += number.numbers[i]
		}
	}
	if len(by) < 3 {
		return chart{}, false
	}
	ch := chart{shape: shapeLine, stamp: stamp, xName: date.name, yName: measure(c, number)}
	ch.title = fmt.Sprintf(c.pick("%s per %s", "%s（按%s）"), c.upper(ch.yName), name)
	for t := range by {
		ch.times = append(ch.times, t)
	}
	slices.SortFunc(ch.times, time.Time.Compare)
	for _, t := range ch.times {
		ch.values = append(ch.values, by[t].value(number != nil && averaged(number)))
	}
	return ch, true
}

// bucketOf chooses how fine time is cut.
func bucketOf(c *conversation, length time.Duration,
	date *column) (bucket func(time.Time) time.Time, stamp, name string) {
	const day = 24 * time.Hour
	switch {
	case length > 15*366*day || date.year:
		return func(t time.Time) time.Time { return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC) },
			"2006", c.pick("year", "年")
	case length > 120*day:
		return func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) },
			"2006-01", c.pick("month", "月")
	case length > 3*day || !date.clock:
		return func(t time.Time) time.Time {
			return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
		}, "01-02", c.pick("day", "日")
	}
	return func(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }, "15:04", c.pick("hour", "小时")
}

// niceStep returns the next 1, 2, 2.5 or 5 times a power of ten.
func niceStep(raw float64) float64 {
	if raw <= 0 || math.IsInf(raw, 0) || math.IsNaN(raw) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 2.5, 5} {
		if raw <= f*power*(1+1e-9) {
			return f * power
		}
	}
	return 10 * power
}
