package skilltool

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// officeChart holds the parts of a chart that Office programs draw and edit: the chart, and the workbook with its
// numbers.
type officeChart struct {
	chart, rels, book []byte
}

const chartNS = `xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" ` +
	`xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ` +
	`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`

// Types of chart parts.
const (
	chartType = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
	bookType  = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

// office creates the parts. book is the path of the chart's workbook relative to it; size is the font size in points.
func (c *chart) office(bookAt string, size int) (officeChart, error) {
	data, err := book([]grid{c.table()})
	if err != nil {
		return officeChart{}, err
	}
	rels := &relations{}
	id := rels.add("package", bookAt, false)
	return officeChart{chart: []byte(xmlHead + c.chartXML(id, size)), rels: rels.part("").data, book: data}, nil
}

// table returns the numbers of the chart.
func (c *chart) table() grid {
	g := grid{name: "Sheet1", head: []string{c.axis}}
	for _, s := range c.series {
		g.head = append(g.head, s.name)
	}
	for i, l := range c.labels {
		row := []string{l}
		for _, s := range c.series {
			cell := ""
			if !math.IsNaN(s.values[i]) {
				cell = strconv.FormatFloat(s.values[i], 'f', -1, 64)
			}
			row = append(row, cell)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

func (c *chart) chartXML(book string, size int) string {
	var b strings.Builder
	b.WriteString(`<c:chartSpace ` + chartNS + `><c:roundedCorners val="0"/><c:chart>`)
	if c.title == "" {
		b.WriteString(`<c:autoTitleDeleted val="1"/>`)
	} else {
		b.WriteString(`<c:title><c:tx><c:rich><a:bodyPr/><a:lstStyle/><a:p><a:pPr><a:defRPr sz="` + strconv.Itoa((size+2)*100) +
			`" b="1"/></a:pPr><a:r><a:rPr lang="en-US" sz="` + strconv.Itoa((size+2)*100) + `" b="1"/><a:t>` + esc(c.title) +
			`</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title><c:autoTitleDeleted val="0"/>`)
	}
	b.WriteString(`<c:plotArea><c:layout/>`)
	c.plot(&b, size)
	b.WriteString(`</c:plotArea>`)
	if len(c.series) > 1 || c.round() {
		at := "t"
		if c.round() {
			at = "r"
		}
		b.WriteString(`<c:legend><c:legendPos val="` + at + `"/><c:overlay val="0"/></c:legend>`)
	}
	b.WriteString(`<c:plotVisOnly val="1"/><c:dispBlanksAs val="gap"/></c:chart><c:spPr><a:noFill/><a:ln><a:noFill/></a:ln></c:spPr><c:txPr><a:bodyPr/><a:lstStyle/><a:p><a:pPr><a:defRPr sz="` +
		strconv.Itoa(size*100) + `"><a:solidFill><a:srgbClr val="2A333F"/></a:solidFill><a:latin typeface="Calibri"/><a:ea typeface="Microsoft YaHei"/></a:defRPr></a:pPr><a:endParaRPr lang="en-US"/></a:p></c:txPr>` +
		`<c:externalData r:id="` + book + `"><c:autoUpdate val="0"/></c:externalData></c:chartSpace>`)
	return b.String()
}

// round reports whether the chart has no axes.
func (c *chart) round() bool { return c.kind == "pie" || c.kind == "donut" }

// numbers returns the number format in Office's notation.
func (c *chart) numbers() string {
	f := "#,##0"
	if n := c.decimals(); n > 0 {
		f += "." + strings.Repeat("0", n)
	}
	return f
}

// plot writes the chart type, the series and the axes.
func (c *chart) plot(b *strings.Builder, size int) {
	labels := `<c:dLbls><c:numFmt formatCode="` + c.numbers() + `" sourceLinked="0"/><c:spPr><a:noFill/><a:ln><a:noFill/></a:ln></c:spPr>` +
		`<c:txPr><a:bodyPr/><a:lstStyle/><a:p><a:pPr><a:defRPr sz="` + strconv.Itoa(max(8, size-1)*100) + `"/></a:pPr><a:endParaRPr lang="en-US"/></a:p></c:txPr>`
	shown := func(position string, value, share bool) string {
		text := labels
		if position == "ctr" || share { // labels on coloured areas
			text = strings.Replace(text, `<a:defRPr sz="`+strconv.Itoa(max(8, size-1)*100)+`"/>`, `<a:defRPr sz="`+strconv.Itoa(size*100)+
				`" b="1"><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill></a:defRPr>`, 1)
		}
		if position != "" {
			text += `<c:dLblPos val="` + position + `"/>`
		}
		return text + fmt.Sprintf(`<c:showLegendKey val="0"/><c:showVal val="%d"/><c:showCatName val="0"/><c:showSerName val="0"/>`+
			`<c:showPercent val="%d"/><c:showBubbleSize val="0"/></c:dLbls>`, btoi(value), btoi(share))
	}
	small := func() (out string) { // slices too small for their label
		sum := 0.0
		for _, v := range c.series[0].values {
			if !math.IsNaN(v) {
				sum += v
			}
		}
		for i, v := range c.series[0].values {
			if v < 0.04*sum {
				out += fmt.Sprintf(`<c:dLbl><c:idx val="%d"/><c:delete val="1"/></c:dLbl>`, i)
			}
		}
		return out
	}
	many := len(c.labels)*len(c.series) > mostLabels
	axes := `<c:axId val="111"/><c:axId val="222"/>`
	switch c.kind {
	case "pie", "donut":
		tag := map[string]string{"pie": "pieChart", "donut": "doughnutChart"}[c.kind]
		b.WriteString(`<c:` + tag + `><c:varyColors val="1"/>`)
		c.serie(b, 0, strings.Replace(strings.Replace(shown("", false, true), c.numbers(), "0.0%", 1), "<c:dLbls>", "<c:dLbls>"+small(), 1))
		b.WriteString(`<c:firstSliceAng val="0"/>`)
		if c.kind == "donut" {
			b.WriteString(`<c:holeSize val="58"/>`)
		}
		b.WriteString(`</c:` + tag + `>`)
		return
	case "scatter":
		b.WriteString(`<c:scatterChart><c:scatterStyle val="lineMarker"/><c:varyColors val="0"/>`)
		for i := range c.series {
			c.serie(b, i, "")
		}
		b.WriteString(axes + `</c:scatterChart>`)
	case "line", "area":
		fmt.Fprintf(b, `<c:%sChart><c:grouping val="standard"/><c:varyColors val="0"/>`, c.kind)
		for i := range c.series {
			text := ""
			if !many && len(c.labels) <= 12 && len(c.series) <= 2 {
				position := map[string]string{"line": "t"}[c.kind]
				if c.kind == "line" && len(c.series) == 2 && c.mean(i) < c.mean(1-i) {
					position = "b"
				}
				text = shown(position, true, false)
			}
			c.serie(b, i, text)
		}
		if c.kind == "line" {
			b.WriteString(`<c:marker val="1"/>`)
		}
		fmt.Fprintf(b, axes+`</c:%sChart>`, c.kind)
	default: // bar, hbar, stacked
		dir, grouping, overlap := "col", "clustered", "-5"
		if c.kind == "hbar" {
			dir = "bar"
		}
		if c.kind == "stacked" {
			grouping, overlap = "stacked", "100"
		}
		fmt.Fprintf(b, `<c:barChart><c:barDir val="%s"/><c:grouping val="%s"/><c:varyColors val="0"/>`, dir, grouping)
		for i := range c.series {
			text := ""
			if !many {
				text = shown(map[bool]string{true: "ctr", false: "outEnd"}[c.kind == "stacked"], true, false)
			}
			c.serie(b, i, text)
		}
		b.WriteString(`<c:gapWidth val="60"/><c:overlap val="` + overlap + `"/>` + axes + `</c:barChart>`)
	}
	c.axes(b)
}

// mean returns the mean of a series.
func (c *chart) mean(i int) float64 {
	sum, n := 0.0, 0
	for _, v := range c.series[i].values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(1, n))
}

// ticks returns the number format of the value axis: that of large numbers, while small steps may need more decimals.
func (c *chart) ticks() string {
	for _, s := range c.series {
		for _, v := range s.values {
			if math.Abs(v) >= 1000 {
				return c.numbers()
			}
		}
	}
	return "General"
}

// axes writes both axes.
func (c *chart) axes(b *strings.Builder) {
	line := `<c:spPr><a:ln w="9525"><a:solidFill><a:srgbClr val="8A94A0"/></a:solidFill></a:ln></c:spPr>`
	grid := `<c:majorGridlines><c:spPr><a:ln w="6350"><a:solidFill><a:srgbClr val="DDE2E8"/></a:solidFill></a:ln></c:spPr></c:majorGridlines>`
	title := func(text string, turned bool) string {
		if text == "" {
			return ""
		}
		body := `<a:bodyPr/>`
		if turned {
			body = `<a:bodyPr rot="-5400000" vert="horz"/>`
		}
		return `<c:title><c:tx><c:rich>` + body + `<a:lstStyle/><a:p><a:pPr><a:defRPr b="0"/></a:pPr><a:r><a:rPr lang="en-US" b="0"/><a:t>` +
			esc(text) + `</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title>`
	}
	first, low, side := "catAx", "b", "l"
	order := "minMax"
	if c.kind == "hbar" {
		low, side, order = "l", "b", "maxMin"
	}
	if c.kind == "scatter" {
		first = "valAx"
	}
	between, across := "", `<c:crossBetween val="between"/>`
	if c.kind == "scatter" {
		between = `<c:crossBetween val="midCat"/>`
		across = between
	}
	name := c.axis
	if c.kind != "scatter" {
		name = ""
	}
	fmt.Fprintf(b, `<c:%s><c:axId val="111"/><c:scaling><c:orientation val="%s"/></c:scaling><c:delete val="0"/><c:axPos val="%s"/>%s`+
		`<c:numFmt formatCode="General" sourceLinked="0"/><c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="low"/>%s`+
		`<c:crossAx val="222"/><c:crosses val="autoZero"/>%s</c:%[1]s>`, first, order, low, title(name, false), line, between)
	where, names := "autoZero", "low"
	if c.kind == "hbar" { // its labels run downwards
		where, names = "max", "nextTo"
	}
	fmt.Fprintf(b, `<c:valAx><c:axId val="222"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="%s"/>%s%s`+
		`<c:numFmt formatCode="%s" sourceLinked="0"/><c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="%s"/>`+
		`<c:spPr><a:ln><a:noFill/></a:ln></c:spPr><c:crossAx val="111"/><c:crosses val="%s"/>%s</c:valAx>`, side, grid,
		title(c.unit, c.kind != "hbar"), c.ticks(), names, where, across)
}

// serie writes one series with the labels of its values.
func (c *chart) serie(b *strings.Builder, i int, labels string) {
	s := c.series[i]
	column, last := string(rune('B'+i)), len(c.labels)+1
	shade := strings.TrimPrefix(hexColor(hues()[i]), "#")
	fmt.Fprintf(b, `<c:ser><c:idx val="%d"/><c:order val="%[1]d"/><c:tx><c:strRef><c:f>Sheet1!$%s$1</c:f><c:strCache><c:ptCount val="1"/>`+
		`<c:pt idx="0"><c:v>%s</c:v></c:pt></c:strCache></c:strRef></c:tx>`, i, column, esc(s.name))
	fill := `<a:solidFill><a:srgbClr val="` + shade + `"/></a:solidFill>`
	switch c.kind {
	case "line":
		b.WriteString(`<c:spPr><a:ln w="28575" cap="rnd">` + fill + `<a:round/></a:ln></c:spPr><c:marker><c:symbol val="circle"/><c:size val="6"/><c:spPr>` +
			fill + `</c:spPr></c:marker>`)
	case "scatter":
		b.WriteString(`<c:spPr><a:ln w="19050"><a:noFill/></a:ln></c:spPr><c:marker><c:symbol val="circle"/><c:size val="7"/><c:spPr>` + fill + `</c:spPr></c:marker>`)
	case "area":
		b.WriteString(`<c:spPr><a:solidFill><a:srgbClr val="` + shade + `"><a:alpha val="55000"/></a:srgbClr></a:solidFill></c:spPr>`)
	case "pie", "donut":
		for n := range c.labels {
			fmt.Fprintf(b, `<c:dPt><c:idx val="%d"/><c:bubble3D val="0"/><c:spPr><a:solidFill><a:srgbClr val="%s"/></a:solidFill><a:ln w="12700"><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill></a:ln></c:spPr></c:dPt>`,
				n, strings.TrimPrefix(hexColor(hues()[n%maxSeries]), "#"))
		}
	default:
		b.WriteString(`<c:spPr>` + fill + `</c:spPr><c:invertIfNegative val="0"/>`)
	}
	b.WriteString(labels)
	values := func(tag, column string, list []float64) {
		fmt.Fprintf(b, `<c:%s><c:numRef><c:f>Sheet1!$%s$2:$%[2]s$%d</c:f><c:numCache><c:formatCode>General</c:formatCode><c:ptCount val="%d"/>`,
			tag, column, last, len(list))
		for n, v := range list {
			if !math.IsNaN(v) {
				fmt.Fprintf(b, `<c:pt idx="%d"><c:v>%s</c:v></c:pt>`, n, strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
		fmt.Fprintf(b, `</c:numCache></c:numRef></c:%s>`, tag)
	}
	if c.kind == "scatter" {
		values("xVal", "A", c.xs)
		values("yVal", column, s.values)
		b.WriteString(`<c:smooth val="0"/></c:ser>`)
		return
	}
	fmt.Fprintf(b, `<c:cat><c:strRef><c:f>Sheet1!$A$2:$A$%d</c:f><c:strCache><c:ptCount val="%d"/>`, last, len(c.labels))
	for n, l := range c.labels {
		fmt.Fprintf(b, `<c:pt idx="%d"><c:v>%s</c:v></c:pt>`, n, esc(l))
	}
	b.WriteString(`</c:strCache></c:strRef></c:cat>`)
	values("val", column, s.values)
	if c.kind == "line" {
		b.WriteString(`<c:smooth val="0"/>`)
	}
	b.WriteString(`</c:ser>`)
}
