package skilltool

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// Number formats in Excel.
const (
	dayFormat    = "yyyy-mm-dd"
	momentFormat = "yyyy-mm-dd hh:mm:ss"
)

// look is the style of a cell.
type look struct {
	format      string // Excel number format
	head, total bool
	right, left bool
	wrap        bool
}

// bookFile builds an Excel workbook.
type bookFile struct {
	*excelize.File
	styles map[look]int
	sheets map[string]bool // by their names in lower case
}

func newBookFile() *bookFile {
	return &bookFile{excelize.NewFile(), map[look]int{}, map[string]bool{}}
}

// style returns the workbook's id of a style, adding it if needed.
func (f *bookFile) style(l look) (int, error) {
	if id, ok := f.styles[l]; ok || l == (look{}) {
		return id, nil
	}
	s := &excelize.Style{Alignment: &excelize.Alignment{WrapText: l.wrap}, Font: &excelize.Font{Family: "Calibri", Size: 11, Bold: l.head || l.total}}
	if l.wrap {
		s.Alignment.Vertical = "top"
	}
	if l.format != "" {
		s.CustomNumFmt = &l.format
	}
	if l.right {
		s.Alignment.Horizontal, s.Alignment.Indent = "right", 1
	}
	if l.left {
		s.Alignment.Horizontal = "left"
	}
	if l.head {
		s.Font.Color = "14385F"
		s.Fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"EEF2F7"}}
		s.Border = []excelize.Border{{Type: "bottom", Color: "2F6FB7", Style: 2}}
	}
	if l.total {
		s.Border = []excelize.Border{{Type: "top", Color: "8A94A0", Style: 1}}
	}
	id, err := f.NewStyle(s)
	f.styles[l] = id
	return id, err
}

// sheet adds a sheet with a name valid in Excel: at most 31 characters, without some signs, and
// unique.
func (f *bookFile) sheet(name string) (string, error) {
	name = strings.Trim(strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return strings.ContainsRune(`[]:*?/\`, r) || r <= ' '
	}), " "), "'")
	if name == "" {
		name = fmt.Sprintf("Sheet%d", len(f.sheets)+1)
	}
	cut := func(n int) string {
		for utf8.RuneCountInString(name) > n || len(name) > 3*n {
			_, size := utf8.DecodeLastRuneInString(name)
			name = name[:len(name)-size]
		}
		return strings.TrimSpace(name)
	}
	name = cut(31)
	for base, n := cut(27), 2; f.sheets[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s %d", base, n)
	}
	var err error
	if len(f.sheets) == 0 {
		err = f.SetSheetName("Sheet1", name)
	} else {
		_, err = f.NewSheet(name)
	}
	f.sheets[strings.ToLower(name)] = true
	return name, err
}

// page fits a sheet to the paper's width for printing, with its head on each page.
func (f *bookFile) page(sheet string) error {
	paper, wide, high, lying := 9, 1, 0, "landscape"
	fit := true
	return errors.Join(f.SetPageLayout(sheet, &excelize.PageLayoutOptions{Size: &paper, Orientation: &lying, FitToWidth: &wide, FitToHeight: &high}),
		f.SetSheetProps(sheet, &excelize.SheetPropsOptions{FitToPage: &fit}))
}

// book writes tables as an Excel file with typed numbers and dates; formulas become text.
func book(list []grid) (data []byte, err error) {
	f := newBookFile()
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, g := range list {
		name, err := f.sheet(g.name)
		if err == nil {
			err = f.page(name)
		}
		if err == nil {
			err = f.fill(name, g)
		}
		if err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	err = f.Write(&b)
	return b.Bytes(), err
}

// fill writes a table into a sheet, row by row.
func (f *bookFile) fill(sheet string, g grid) error {
	w, err := f.NewStreamWriter(sheet)
	if err != nil {
		return err
	}
	formats := make([]string, len(g.head))
	styles := make([]int, len(g.head))
	head := make([]any, len(g.head))
	for i, name := range g.head {
		formats[i] = g.format(i)
		right := isNumber(formats[i])
		above, err := f.style(look{head: true, right: right})
		if err == nil {
			styles[i], err = f.style(look{format: formats[i], right: right, left: formats[i] != "" && !right})
		}
		if err == nil {
			err = w.SetColWidth(i+1, i+1, g.width(i))
		}
		if err != nil {
			return err
		}
		head[i] = excelize.Cell{Value: name, StyleID: above}
	}
	err = w.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"})
	if err == nil {
		err = w.SetRow("A1", head)
	}
	cells := make([]any, len(g.head))
	for n, row := range g.rows {
		if err != nil {
			return err
		}
		for i, cell := range row {
			if utf8.RuneCountInString(cell) > excelize.TotalCellChars {
				return errors.New("a cell is longer than Excel allows; write CSV")
			}
			cells[i] = excelize.Cell{StyleID: styles[i], Value: typed(cell)}
		}
		err = w.SetRow(fmt.Sprintf("A%d", n+2), cells)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// isNumber reports whether a format is a number format.
func isNumber(format string) bool {
	return format != "" && format != dayFormat && format != momentFormat
}

// typed converts a cell to a number, a time, a text or nil.
func typed(cell string) any {
	if cell == "" {
		return nil
	}
	if v, ok := number(cell); ok {
		return v
	}
	if at, _, ok := moment(cell); ok {
		return at
	}
	return cell
}

// moment parses an ISO 8601 date or time; programs disagree about days before March 1900.
func moment(cell string) (at time.Time, format string, ok bool) {
	format = dayFormat
	at, err := time.Parse(time.DateOnly, cell)
	if err != nil {
		format = momentFormat
		at, err = time.Parse(time.DateTime, cell)
	}
	return at, format, err == nil && at.Year() > 1900
}

// format returns the number format of a column: as many decimals as needed, and grouped thousands unless they are years or
// codes.
func (g grid) format(i int) string {
	list, all := g.numbers(i)
	if !all {
		format := ""
		for _, row := range g.rows {
			if row[i] == "" {
				continue
			}
			_, one, ok := moment(row[i])
			if !ok || format != "" && format != one {
				return ""
			}
			format = one
		}
		return format
	}
	places, large, years := 0, 0.0, true
	for _, v := range list {
		large = max(large, math.Abs(v))
		years = years && v == math.Trunc(v) && v >= 1900 && v <= 2100
		_, rest, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
		places = max(places, len(rest))
	}
	if large >= 1000 {
		places = min(places, 2)
	}
	format := "0"
	if name := strings.ToLower(g.head[i]); large >= 1000 && !years && !strings.HasSuffix(name, "id") && !strings.HasSuffix(name, "code") {
		format = "#,##0"
	}
	if places = min(places, 4); places > 0 {
		format += "." + strings.Repeat("0", places)
	}
	return format
}

// width returns the width of a column in characters.
func (g grid) width(i int) float64 {
	widest := letters(g.head[i])
	format := g.format(i)
	_, places, _ := strings.Cut(format, ".")
	for _, row := range g.rows[:min(len(g.rows), 2000)] {
		text := row[i]
		if v, ok := number(text); ok && isNumber(format) {
			text = grouped(v, len(places)) + "  " // plus the padding at its side
		}
		widest = max(widest, letters(text)*11/10)
	}
	return float64(min(max(widest, 7), 60) + 3)
}

// letters returns the width of a text in average characters.
func letters(s string) (n int) {
	for _, r := range s {
		n += 1 + btoi(wide(r))
	}
	return n
}

// writeXlsx converts a document to a workbook: each heading of the first two levels begins a sheet, with its first table
// in A1, further tables below, charts beside them and text at the end.
func writeXlsx(c call, d *doc) (data []byte, err error) {
	b := &bookWriter{bookFile: newBookFile(), warn: c.warn}
	defer func() { err = errors.Join(err, b.Close()) }()
	err = b.SetDocProps(&excelize.DocProperties{Title: d.title, Creator: d.author})
	var now []block
	title := ""
	for _, one := range d.blocks {
		if one.kind != heading || one.level > 2 {
			now = append(now, one)
			continue
		}
		if hasTable(now) {
			err = errors.Join(err, b.write(title, now))
			now = nil
		}
		title = plain(one.spans)
	}
	switch {
	case hasTable(now), len(b.sheets) == 0:
		err = errors.Join(err, b.write(title, now))
	case len(now) > 0:
		fmt.Fprintf(c.warn, "%q has no table and is left out\n", brief(title, 40))
	}
	if err != nil {
		return nil, err
	}
	return b.bytes()
}

func hasTable(list []block) bool {
	for _, b := range list {
		if b.kind == table || b.kind == graph && !b.graph.ofTable {
			return true
		}
	}
	return false
}

// bookWriter writes documents to workbooks.
type bookWriter struct {
	*bookFile
	warn     io.Writer
	formulas []formula
}

// formula is the cell of a formula, and the format of its result; without a format, the results of its column choose
// one.
type formula struct {
	sheet, at, text string
	column          column
	look            look
	share           bool
}

// column identifies a column of a table.
type column struct {
	sheet  string
	top, n int
}

// result is the result of a formula: a text, and its number if it is one.
type result struct {
	text   string
	number float64
	is     bool // a number
	failed bool // there is no result
}

// shareName reports whether a column's name means shares or changes, which are shown in percent.
func shareName(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"%", "share", "change", "growth", "margin", "rate", "anteil", "veränderung", "占比", "同比", "增长", "率"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// resultFormats chooses one format for all formulas of a column without a format of their own: percent for shares, else two
// decimals where any result has some.
func resultFormats(formulas []formula, results []result) map[column]string {
	type traits struct{ share, divides, large, broken bool }
	all := map[column]traits{}
	for i, f := range formulas {
		if f.look.format != "" || !results[i].is {
			continue
		}
		v, t := results[i].number, all[f.column]
		t.share = f.share
		t.divides = t.divides || strings.Contains(f.text, "/")
		t.large = t.large || math.Abs(v) > 1
		t.broken = t.broken || math.Mod(math.Round(v*100), 100) != 0
		all[f.column] = t
	}
	out := map[column]string{}
	for c, t := range all {
		switch {
		case t.share && (t.divides || !t.large):
			out[c] = "0.0%"
		case t.broken:
			out[c] = "#,##0.00"
		default:
			out[c] = "#,##0"
		}
	}
	return out
}

// numberFormat splits a format into the text before the number, its integer part, its decimals and the rest.
var numberFormat = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*?)(#,##0|0)((?:\.0+)?)(.*)$`)
})

// finer returns a format with the decimals and the groups of thousands of both; those of different units stay the first.
func finer(a, b string) string {
	x, y := numberFormat().FindStringSubmatch(a), numberFormat().FindStringSubmatch(b)
	if x == nil || y == nil || x[1] != y[1] || x[4] != y[4] {
		return a
	}
	return x[1] + longer(x[2], y[2]) + longer(x[3], y[3]) + x[4]
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

func (b *bookWriter) write(title string, list []block) error {
	if !hasTable(list) {
		return errors.New("there are no tables in the text; a workbook is made of tables below headings")
	}
	sheet, err := b.sheet(title)
	if err == nil {
		err = b.page(sheet)
	}
	row, columns, last := 1, 0, 0 // last is the first row of the table that was written last
	var rows [][][]span
	var charts, notes []block
	places := map[*chart]int{}
	for _, one := range list {
		if err != nil {
			return err
		}
		switch one.kind {
		case graph:
			charts = append(charts, one)
			if !one.graph.ofTable {
				rows, last = gridSpans(one.graph.table()), row
				row, err = b.table(sheet, row, block{kind: table, rows: rows})
			}
			places[one.graph], columns = last, max(columns, len(rows[0]))
		case table:
			rows, last = one.rows, row
			row, err = b.table(sheet, row, one)
			columns = max(columns, len(rows[0]))
		case picture:
			return errors.New("workbooks can't have pictures; leave them out")
		case rule:
		default:
			notes = append(notes, one)
		}
	}
	for _, one := range notes {
		at, _ := excelize.CoordinatesToCellName(1, row)
		err = errors.Join(err, b.SetCellStr(sheet, at, one.plainText()))
		row++
	}
	for i, one := range charts {
		at, _ := excelize.CoordinatesToCellName(columns+2, 1+i*21)
		err = errors.Join(err, b.chart(sheet, at, places[one.graph], one.graph))
	}
	return err
}

// gridSpans converts a grid to a document's table.
func gridSpans(g grid) (out [][][]span) {
	for _, row := range append([][]string{g.head}, g.rows...) {
		var cells [][]span
		for _, cell := range row {
			cells = append(cells, []span{{text: cell}})
		}
		out = append(out, cells)
	}
	return out
}

// table writes a table and returns the row after the empty one below it.
func (b *bookWriter) table(sheet string, top int, t block) (int, error) {
	columns := len(t.rows[0])
	sides := t.sides()
	formats := make([]string, columns) // for formulas
	for n := range columns {
		widest := 0
		for i, row := range t.rows {
			if n >= len(row) {
				continue
			}
			text := strings.TrimSpace(plain(row[n]))
			if !strings.HasPrefix(text, "=") {
				widest = max(widest, letters(text))
			}
			if value, format := cellOf(text); i > 0 && format != "" && value != nil {
				if formats[n] == "" {
					formats[n] = format
				}
				formats[n] = finer(formats[n], format)
			}
			if i > 0 && strings.HasPrefix(text, "=") && len(t.said) > n && !t.said[n] {
				sides[n] = right
			}
		}
		name, _ := excelize.ColumnNumberToName(n + 1)
		now, err := b.GetColWidth(sheet, name)
		if wide := float64(min(max(widest, 8), 60) + 3); err == nil && (top == 1 || wide > now) {
			err = b.SetColWidth(sheet, name, name, wide)
		}
		if err != nil {
			return 0, err
		}
	}
	for i, row := range t.rows {
		total := i > 0 && len(row) > 0 && allBold(row[0])
		for n := range min(len(row), columns) {
			at, _ := excelize.CoordinatesToCellName(n+1, top+i)
			text := strings.TrimSpace(plain(row[n]))
			value, format := cellOf(text)
			l := look{format: format, head: i == 0, total: total, wrap: letters(text) > 60, right: sides[n] == right, left: sides[n] != right && format != ""}
			var err error
			switch {
			case i == 0:
				l.format = ""
				err = b.SetCellStr(sheet, at, text)
			case strings.HasPrefix(text, "="):
				one := formula{sheet: sheet, at: at, text: text[1:], column: column{sheet, top, n}, look: l, share: shareName(plain(t.rows[0][n]))}
				if one.look.format = formats[n]; strings.HasSuffix(text, "}") {
					if at := strings.LastIndex(one.text, "{"); at > 0 && !strings.HasSuffix(strings.TrimSpace(one.text[:at]), "(") {
						one.look.format, one.text = strings.Trim(one.text[at:], "{}"), strings.TrimSpace(one.text[:at])
					}
				}
				b.formulas = append(b.formulas, one)
				err = b.SetCellFormula(sheet, at, one.text)
			default:
				err = b.SetCellValue(sheet, at, value)
			}
			id, err2 := b.style(l)
			if err = errors.Join(err, err2); err == nil {
				err = b.SetCellStyle(sheet, at, at, id)
			}
			if err != nil {
				return 0, err
			}
		}
	}
	if top == 1 {
		if err := b.SetPanes(sheet, &excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}); err != nil {
			return 0, err
		}
	}
	return top + len(t.rows) + 1, nil
}

// cellOf returns a document's cell as a workbook value, and its format.
func cellOf(text string) (any, string) {
	if at, format, ok := moment(text); ok {
		return at, format
	}
	bare := strings.NewReplacer("−", "-", "\u00a0", " ", "\u202f", " ").Replace(text)
	sign, front, back := "", "", ""
	if strings.HasPrefix(bare, "+") {
		sign, bare = "+", strings.TrimPrefix(bare, "+")
	}
	for _, mark := range []string{"€", "$", "£", "¥", "%"} {
		if rest, ok := strings.CutPrefix(bare, mark); ok && mark != "%" {
			front, bare = mark, strings.TrimSpace(rest)
		} else if rest, ok := strings.CutSuffix(bare, mark); ok {
			back, bare = mark, strings.TrimSpace(rest)
		}
	}
	v, ok := number(bare)
	if !ok {
		return text, ""
	}
	_, places, _ := strings.Cut(bare, ".")
	format := "0"
	if strings.Contains(bare, ",") {
		format = "#,##0"
	}
	if places != "" {
		format += "." + strings.Repeat("0", min(len(places), 9))
	}
	switch {
	case back == "%":
		v /= 100
		format += "%"
	case front != "":
		format = `"` + front + `"\ ` + format
	case back != "":
		format += `\ "` + back + `"`
	}
	if sign != "" {
		format = "+" + format + ";-" + format + ";" + format
	}
	return v, format
}

// chart adds a chart of the table that begins at a row.
func (b *bookWriter) chart(sheet, at string, top int, c *chart) error {
	kinds := map[string]excelize.ChartType{"bar": excelize.Col, "hbar": excelize.Bar, "stacked": excelize.ColStacked, "line": excelize.Line,
		"area": excelize.Area, "scatter": excelize.Scatter, "pie": excelize.Pie, "donut": excelize.Doughnut}
	place := func(column, row int) string {
		name, _ := excelize.CoordinatesToCellName(column+1, row, true)
		return "'" + strings.ReplaceAll(sheet, "'", "''") + "'!" + name
	}
	columns := c.columns
	if !c.ofTable { // its own table has the labels first
		columns = nil
		for i := range len(c.series) + 1 {
			columns = append(columns, i)
		}
	}
	cells := func(column int) string {
		from, _ := excelize.CoordinatesToCellName(column+1, top+1, true)
		to, _ := excelize.CoordinatesToCellName(column+1, top+len(c.labels), true)
		return "'" + strings.ReplaceAll(sheet, "'", "''") + "'!" + from + ":" + to
	}
	gap, overlap := uint(60), 0
	if c.kind == "stacked" {
		overlap = 100
	}
	few := len(c.labels)*len(c.series) <= mostLabels
	made := &excelize.Chart{Type: kinds[c.kind], GapWidth: &gap, HoleSize: 58, Dimension: excelize.ChartDimension{Width: 620, Height: 340},
		PlotArea: excelize.ChartPlotArea{ShowVal: few && !c.round() && c.kind != "scatter", ShowPercent: c.round()},
		Legend:   excelize.ChartLegend{Position: "top"}, ShowBlanksAs: "gap"}
	if c.kind == "stacked" || c.kind == "bar" || c.kind == "hbar" {
		made.Overlap = &overlap
	}
	if c.round() {
		made.Legend.Position = "right"
	} else if len(c.series) == 1 {
		made.Legend.Position = "none"
	}
	if c.title != "" {
		made.Title = excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: c.title, Font: &excelize.Font{Bold: true, Size: 13, Color: "14385F"}}}}
	}
	if c.unit != "" && !c.round() {
		made.YAxis.Title = excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: c.unit}}}
	}
	vary := c.round()
	made.VaryColors = &vary
	made.YAxis.MajorGridLines = !c.round()
	dark := excelize.Font{Color: "2A333F", Size: 10}
	made.XAxis.Font, made.YAxis.Font = dark, dark
	made.XAxis.ReverseOrder = c.kind == "hbar"
	for i, column := range columns[1:] {
		s := excelize.ChartSeries{Name: place(column, top), Categories: cells(columns[0]), Values: cells(column)}
		if shade := strings.TrimPrefix(hexColor(hues()[i]), "#"); !c.round() {
			s.Fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{shade}}
			if c.kind == "line" {
				s.Line = excelize.LineOptions{Width: 2.25, Fill: s.Fill}
				s.Marker = excelize.ChartMarker{Symbol: "circle", Size: 6, Fill: s.Fill}
			}
		} else {
			for n := range c.labels {
				s.DataPoint = append(s.DataPoint, excelize.ChartDataPoint{Index: n, Fill: excelize.Fill{Type: "pattern", Pattern: 1,
					Color: []string{strings.TrimPrefix(hexColor(hues()[n%maxSeries]), "#")}}})
			}
		}
		made.Series = append(made.Series, s)
	}
	return b.AddChart(sheet, at, made)
}

// calculated matches a formula with its result as text.
var calculated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(<c r="[A-Z]+\d+"(?: s="\d+")?) t="str"(><f>[^<]*</f><v>-?[0-9.]+(?:E[-+]?\d+)?</v></c>)`)
})

// bytes returns the workbook including the formulas' results, for readers that don't calculate. It reports formulas that
// can't be calculated.
func (b *bookWriter) bytes() ([]byte, error) {
	results := make([]result, len(b.formulas))
	for i, f := range b.formulas {
		results[i] = b.calculate(f)
	}
	formats := resultFormats(b.formulas, results)
	for i, f := range b.formulas {
		if f.look.format == "" && (results[i].is || results[i].failed) {
			f.look.format = formats[f.column]
		}
		id, err := b.style(f.look)
		if err = errors.Join(err, b.SetCellStyle(f.sheet, f.at, f.at, id)); err == nil && !results[i].failed {
			err = errors.Join(b.SetCellDefault(f.sheet, f.at, results[i].text), b.SetCellFormula(f.sheet, f.at, f.text), b.widen(f, results[i]))
		}
		if err != nil {
			return nil, err
		}
	}
	all := true
	if err := b.SetCalcProps(&excelize.CalcPropsOptions{FullCalcOnLoad: &all}); err != nil {
		return nil, err
	}
	packed, err := b.WriteToBuffer()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(f.Name, "xl/worksheets/sheet") {
			data = calculated().ReplaceAll(data, []byte("$1$2"))
		}
		parts = append(parts, part{f.Name, data})
	}
	return zipped(parts)
}

// calculate returns the result of a formula, and warns where there is none.
func (b *bookWriter) calculate(f formula) result {
	v, err := b.CalcCellValue(f.sheet, f.at, excelize.Options{RawCellValue: true})
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "not support"):
		fmt.Fprintf(b.warn, "sheet %s, %s: =%s is not checked: this tool can't calculate it\n", f.sheet, f.at, f.text)
		return result{failed: true}
	case err != nil || strings.HasPrefix(v, "#"):
		if v == "" {
			v = err.Error()
		}
		fmt.Fprintf(b.warn, "sheet %s, %s: =%s gives %s\n", f.sheet, f.at, f.text, v)
		return result{failed: true}
	}
	n, err := strconv.ParseFloat(v, 64)
	return result{text: v, number: n, is: err == nil}
}

// widen makes the column of a formula wide enough for its result, which Excel shows as ### otherwise.
func (b *bookWriter) widen(f formula, r result) error {
	text := r.text
	if parts := numberFormat().FindStringSubmatch(f.look.format); parts != nil && r.is {
		if strings.Contains(parts[4], "%") {
			r.number *= 100
		}
		text = parts[1] + grouped(r.number, max(len(parts[3])-1, 0)) + parts[4]
	} else if r.is { // a day or a time
		text = f.look.format
	}
	name, _ := excelize.ColumnNumberToName(f.column.n + 1)
	now, err := b.GetColWidth(f.sheet, name)
	if wide := float64(min(letters(text)*11/10, 60) + 3); err == nil && wide > now {
		err = b.SetColWidth(f.sheet, name, name, wide)
	}
	return err
}
