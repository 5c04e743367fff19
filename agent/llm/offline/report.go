package offline

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"
)

// maxDetailed limits the columns that a report describes individually.
const maxDetailed = 60

// maxReport limits a report to the size of one write_file call, in bytes.
const maxReport = 76_000

// analysis is one table with its statistics.
type analysis struct {
	doc    document
	table  table
	cols   []column
	chart  chart
	drawn  bool
	svg    string // file of the drawing, in outputs
	extent string // which part of the file was read
}

func analyse(c *conversation, d document) analysis {
	a := analysis{doc: d, table: parseTable(d.text, strings.ToLower(path.Ext(d.path)))}
	a.cols = columns(a.table)
	if len(a.table.rows) > 0 {
		a.chart, a.drawn = choose(c, a.cols)
	}
	if d.partial {
		a.extent = fmt.Sprintf(c.pick("sample: the first %s lines", "样本：前 %s 行"), amount(d.lines))
	}
	return a
}

// source names the source of a chart's numbers.
func (a *analysis) source(c *conversation) string {
	s := fmt.Sprintf(c.pick("%s, %s", "%s，%s"), path.Base(a.doc.path), c.number(len(a.table.rows), "row", "行"))
	if a.extent != "" {
		s += " (" + a.extent + ")"
	}
	return s
}

// report writes all tables as one Markdown file.
func report(c *conversation, list []analysis) string {
	var b strings.Builder
	for i := range list {
		var one strings.Builder
		list[i].write(&one, c)
		s := one.String()
		if most := maxReport / len(list); len(s) > most {
			s = s[:strings.LastIndexByte(s[:most], '\n')+1] + c.pick("\n… shortened.\n\n", "\n……已缩短。\n\n")
		}
		b.WriteString(s)
	}
	b.WriteString(c.pick("---\n\nComputed by Fawn's offline model, which follows fixed rules and isn't an AI. Every number comes from the file itself.\n",
		"---\n\n由 Fawn 的离线模型计算；它按固定规则工作，不是 AI。所有数字都直接来自文件。\n"))
	return b.String()
}

func (a *analysis) write(b *strings.Builder, c *conversation) {
	t := &a.table
	fmt.Fprintf(b, "# %s\n\n", cell(path.Base(a.doc.path)))
	if len(t.rows) == 0 {
		b.WriteString(c.pick("The file has no rows of data.\n\n", "文件中没有数据行。\n\n"))
		return
	}
	fmt.Fprintf(b, c.pick("%s, %s.", "%s，%s。"), c.number(len(t.rows), "row", "行"),
		c.number(len(t.header), "column", "列"))
	if a.extent != "" {
		fmt.Fprintf(b, c.pick(" **This is a %s; the file is longer.**", " **这是%s；文件更长。**"), a.extent)
	}
	b.WriteString("\n\n")
	a.writeQuality(b, c)
	if a.drawn {
		fmt.Fprintf(b, "![%s](%s)\n\n", cell(a.chart.title), a.svg)
	}
	fmt.Fprintf(b, "## %s\n\n", c.pick("Columns", "列"))
	b.WriteString(c.pick("| column | type | values | missing | distinct |\n|---|---|--:|--:|--:|\n",
		"| 列 | 类型 | 有值 | 缺失 | 不同值 |\n|---|---|--:|--:|--:|\n"))
	for i, k := range a.cols {
		if i == maxDetailed {
			fmt.Fprintf(b, c.pick("| … %d more | | | | |\n", "| … 另有 %d 列 | | | | |\n"), len(a.cols)-i)
			break
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", cell(k.name), k.typeName(c), amount(k.values), amount(k.missing),
			amount(k.distinct))
	}
	b.WriteString("\n")
	a.writeNumbers(b, c)
	a.writeDates(b, c)
	a.writeTexts(b, c)
	a.writeGroups(b, c)
}

func (k *column) typeName(c *conversation) string {
	switch k.kind {
	case kindNumber:
		return c.pick("number", "数值")
	case kindDate:
		return c.pick("date", "日期")
	case kindEmpty:
		return c.pick("empty", "空")
	}
	return c.pick("text", "文本")
}

func (a *analysis) writeNumbers(b *strings.Builder, c *conversation) {
	head := false
	for _, k := range a.cols[:min(len(a.cols), maxDetailed)] {
		if k.kind != kindNumber {
			continue
		}
		if !head {
			head = true
			fmt.Fprintf(b, "## %s\n\n%s", c.pick("Numbers", "数值"),
				c.pick("| column | min | mean | median | max | std. dev. | sum |\n",
					"| 列 | 最小 | 平均 | 中位数 | 最大 | 标准差 | 合计 |\n"))
			b.WriteString("|---|--:|--:|--:|--:|--:|--:|\n")
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", cell(k.name), figure(k.min), figure(k.mean),
			figure(k.median), figure(k.max), figure(k.stddev), figure(k.sum))
	}
	if head {
		b.WriteString("\n")
	}
}

func (a *analysis) writeDates(b *strings.Builder, c *conversation) {
	head := false
	for _, k := range a.cols[:min(len(a.cols), maxDetailed)] {
		if k.kind != kindDate {
			continue
		}
		if !head {
			head = true
			fmt.Fprintf(b, "## %s\n\n%s|---|---|---|\n", c.pick("Dates", "日期"),
				c.pick("| column | first | last |\n", "| 列 | 最早 | 最晚 |\n"))
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", cell(k.name), k.stamp(k.first), k.stamp(k.last))
	}
	if head {
		b.WriteString("\n")
	}
}

func (k *column) stamp(t time.Time) string {
	if k.clock {
		return t.Format("2006-01-02 15:04:05")
	}
	return t.Format("2006-01-02")
}

func (a *analysis) writeTexts(b *strings.Builder, c *conversation) {
	head := false
	for i := range a.cols[:min(len(a.cols), maxDetailed)] {
		k := &a.cols[i]
		if k.kind != kindText || k.distinct == k.values && k.values > 5 {
			continue // skip duplicates
		}
		if !head {
			head = true
			fmt.Fprintf(b, "## %s\n\n", c.pick("Most frequent values", "最常见的值"))
		}
		fmt.Fprintf(b, "- **%s**: ", cell(k.name))
		for j, v := range k.top[:min(len(k.top), 5)] {
			if j > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%s (%s, %.1f %%)", cell(v.text), amount(v.n), 100*float64(v.n)/float64(k.values))
		}
		b.WriteString("\n")
	}
	if head {
		b.WriteString("\n")
	}
}

// writeGroups lists the numbers of the chart if they fit.
func (a *analysis) writeGroups(b *strings.Builder, c *conversation) {
	if !a.drawn || a.chart.shape == shapeHistogram {
		return
	}
	fmt.Fprintf(b, "## %s\n\n| %s | %s |\n|---|--:|\n", cell(a.chart.title), cell(a.chart.xName), cell(a.chart.yName))
	for i, v := range a.chart.values {
		if i == 24 {
			fmt.Fprintf(b, c.pick("| … %d more | |\n", "| … 另有 %d 项 | |\n"), len(a.chart.values)-i)
			break
		}
		label := ""
		if a.chart.shape == shapeLine {
			layout := a.chart.stamp
			if layout == "01-02" {
				layout = "2006-01-02"
			}
			label = a.chart.times[i].Format(layout)
		} else {
			label = a.chart.labels[i]
		}
		fmt.Fprintf(b, "| %s | %s |\n", cell(label), figure(v))
	}
	b.WriteString("\n")
}

func (a *analysis) writeQuality(b *strings.Builder, c *conversation) {
	notes := a.findings(c)
	add := func(n int, en, zh string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(c.pick(en, zh), amount(n)))
		}
	}
	t := &a.table
	add(t.blank, "Empty lines skipped: %s.", "跳过 %s 个空行。")
	add(t.short, "Rows with fewer fields than the header: %s; absent fields count as missing.",
		"%s 行的字段少于表头，缺少的部分记为缺失。")
	add(t.long, "Rows with more fields than the header: %s; extra fields are ignored.", "%s 行的字段多于表头，多余部分被忽略。")
	add(t.damaged, "Characters that are not valid UTF-8: %s.", "%s 个字符不是有效的 UTF-8。")
	add(a.doc.cut, "Lines too long to read in full: %s.", "%s 行过长，未能完整读取。")
	if !t.named {
		notes = append(notes, c.pick("The first row looks like data, so the columns are numbered.", "第一行是数据，因此列以序号命名。"))
	}
	for i := range a.cols {
		k := &a.cols[i]
		if k.odd > 0 {
			notes = append(notes, fmt.Sprintf(c.pick("`%s`: values that aren't a %s, left out of the figures: %s.",
				"`%s`：无法识别为%s、未计入统计的值：%s 个。"), code(k.name), k.typeName(c), amount(k.odd)))
		}
		if k.ambiguous {
			notes = append(notes, fmt.Sprintf(c.pick("`%s`: dates such as 03/04 are read as month/day.",
				"`%s`：形如 03/04 的日期按“月/日”读取。"), code(k.name)))
		}
		if len(notes) > maxFindings {
			break
		}
	}
	if len(notes) == 0 {
		notes = append(notes, c.pick("No problems found.", "没有发现问题。"))
	}
	fmt.Fprintf(b, "## %s\n\n- %s\n\n", c.pick("Data quality", "数据质量"), strings.Join(notes, "\n- "))
}

// brief returns the summary a person reads in the chat.
func (a *analysis) brief(c *conversation) string {
	t := &a.table
	name := path.Base(a.doc.path)
	if len(t.rows) == 0 {
		return fmt.Sprintf(c.pick("**%s** has no rows of data.", "**%s** 中没有数据行。"), cell(name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, c.pick("**%s** has %s and %s", "**%s** 有 %s、%s"), cell(name), c.number(len(t.rows), "row", "行"),
		c.number(len(t.header), "column", "列"))
	if a.extent != "" {
		fmt.Fprintf(&b, " (%s)", a.extent)
	}
	gaps := 0
	for i := range a.cols {
		gaps += a.cols[i].missing
	}
	fmt.Fprintf(&b, c.pick("; cells without a value: %s.", "；缺失 %s 个单元格。"), amount(gaps))
	a.briefQuality(&b, c)
	words := strings.ToLower(c.text)
	if k := pickColumn(words, a.cols,
		func(k *column) bool { return k.kind == kindNumber && !k.serial && !k.year }); k != nil {
		fmt.Fprintf(&b, c.pick("\n- `%s`: from %s to %s, mean %s, median %s, standard deviation %s, sum %s.",
			"\n- `%s`：从 %s 到 %s，平均 %s，中位数 %s，标准差 %s，合计 %s。"),
			code(k.name), figure(k.min), figure(k.max), figure(k.mean), figure(k.median), figure(k.stddev),
			figure(k.sum))
	}
	if k := pickColumn(words, a.cols, func(k *column) bool { return k.kind == kindDate }); k != nil {
		fmt.Fprintf(&b, c.pick("\n- `%s`: from %s to %s.", "\n- `%s`：从 %s 到 %s。"), code(k.name), k.stamp(k.first),
			k.stamp(k.last))
	}
	if k := pickColumn(words, a.cols, (*column).category); k != nil {
		fmt.Fprintf(&b, c.pick("\n- `%s`: %s different values, most often %s (%s).", "\n- `%s`：%s 个不同的值，最常见的是 %s（%s）。"),
			code(k.name), amount(k.distinct), cell(k.top[0].text), c.number(k.top[0].n, "row", "行"))
	}
	if a.drawn && len(a.chart.values) > 0 {
		best := 0
		for i, v := range a.chart.values {
			if v > a.chart.values[best] && !math.IsNaN(v) {
				best = i
			}
		}
		label := ""
		switch a.chart.shape {
		case shapeBars:
			label = a.chart.labels[best]
		case shapeLine:
			label = a.chart.times[best].Format(a.chart.stamp)
		case shapeHistogram:
			label = figure(a.chart.edges[best]) + " – " + figure(a.chart.edges[best+1])
		}
		fmt.Fprintf(&b, c.pick("\n- Chart: %s; the highest is %s with %s.", "\n- 图表：%s；最高的是 %s，为 %s。"),
			cell(a.chart.title), cell(label), figure(a.chart.values[best]))
	}
	if a.drawn && a.svg != "" {
		fmt.Fprintf(&b, "\n\n![%s](%s)", cell(a.chart.title), a.svg)
	}
	return strings.TrimSuffix(b.String(), figuresHead(c))
}

// briefQuality names the most serious findings, before the figures they affect.
func (a *analysis) briefQuality(b *strings.Builder, c *conversation) {
	found := a.findings(c)
	if len(found) == 0 {
		b.WriteString("\n")
		return
	}
	fmt.Fprintf(b, "\n\n**%s**\n", c.pick("Data quality", "数据质量"))
	for _, s := range found[:min(len(found), briefly)] {
		b.WriteString("\n- " + s)
	}
	if more := len(found) - briefly; more > 0 {
		fmt.Fprintf(b, c.pick("\n- %s in the report.", "\n- 另有 %s，见报告。"), c.number(more, "more finding", "项"))
	}
	b.WriteString(figuresHead(c))
}

// figuresHead separates a summary's figures from the findings about data quality.
func figuresHead(c *conversation) string { return "\n\n**" + c.pick("Figures", "统计") + "**\n" }

// number formats a count: 1 row, 2 rows.
func (c *conversation) number(n int, en, zh string) string {
	switch {
	case c.zh:
		return amount(n) + " " + zh
	case n == 1:
		return "1 " + en
	}
	return amount(n) + " " + en + "s"
}

// code makes a name safe between backquotes.
func code(s string) string { return strings.ReplaceAll(clip(s, 48), "`", "'") }
