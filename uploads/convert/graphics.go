package convert

import (
	"slices"
	"strings"
)

// Limits of a chart.
const (
	maxSeries = 50
	maxPoints = 1_000 // limit per series
)

// graphics writes the text of charts and diagrams (SmartArt) below an element as Markdown. Each chart is a table with a
// row for each category, each diagram a list.
func (a *archive) graphics(n *node, rel relations) (string, error) {
	var all draft
	for _, data := range n.all("graphicData") {
		for _, k := range data.kids {
			part := ""
			switch k.name {
			case "relIds":
				part = rel.byID[k.attr("r:dm")]
			case "chart":
				part = rel.byID[k.attr("r:id")]
			default:
				continue
			}
			t, err := a.tree(part)
			if err != nil {
				return "", err
			}
			if k.name == "chart" {
				chart(&all, t)
			} else {
				all.block(strings.Join(diagram(t), "\n"))
			}
		}
	}
	return strings.TrimSpace(all.text.String()), nil
}

// diagram lists the texts in a diagram's data, nested ones indented.
func diagram(t *node) (lines []string) {
	texts, below, child := map[string]string{}, map[string][]*node{}, map[string]bool{}
	var ids []string
	model := t.kid("dataModel")
	for _, pt := range model.kid("ptLst").named("pt") {
		if kind := pt.attr("type"); kind != "" && kind != "node" && kind != "asst" && kind != "doc" {
			continue // layout elements
		}
		var words []string
		for _, p := range pt.kid("t").named("p") {
			words = append(words, slideText(p, relations{}))
		}
		id := pt.attr("modelId")
		texts[id] = oneLine(strings.Join(words, " "))
		ids = append(ids, id)
	}
	for _, c := range model.kid("cxnLst").named("cxn") {
		if kind := c.attr("type"); kind == "" || kind == "parOf" {
			below[c.attr("srcId")] = append(below[c.attr("srcId")], c)
			child[c.attr("destId")] = true
		}
	}
	for _, list := range below {
		slices.SortStableFunc(list, func(x, y *node) int { return number(x.attr("srcOrd")) - number(y.attr("srcOrd")) })
	}
	var write func(id string, level int)
	write = func(id string, level int) {
		text, known := texts[id]
		if !known {
			return
		}
		delete(texts, id) // connections may be cyclic
		if text != "" {
			lines = append(lines, strings.Repeat("  ", min(level, 8))+"- "+text)
			level++
		}
		for _, c := range below[id] {
			write(c.attr("destId"), level)
		}
	}
	for _, roots := range []bool{true, false} {
		for _, id := range ids {
			if child[id] != roots {
				write(id, 0)
			}
		}
	}
	return lines
}

// chartTitle returns a chart's title in brackets.
func chartTitle(t *node) string {
	var title []string
	for _, p := range t.kid("chartSpace", "chart", "title").all("p") {
		title = append(title, slideText(p, relations{}))
	}
	if text := oneLine(strings.Join(title, " ")); text != "" {
		return "[chart: " + text + "]"
	}
	return "[chart]"
}

// chart writes a chart's title, and the values of its series that the document keeps.
func chart(d *draft, t *node) {
	d.block(chartTitle(t))
	c := t.kid("chartSpace", "chart")
	rows := [][]string{{""}}
	put := func(row, column int, text string) {
		for len(rows) <= row {
			rows = append(rows, nil)
		}
		for len(rows[row]) <= column {
			rows[row] = append(rows[row], "")
		}
		rows[row][column] = text
	}
	series := c.kid("plotArea").all("ser")
	for i, s := range series[:min(len(series), maxSeries)] {
		for _, v := range s.kid("tx").all("v") {
			put(0, i+1, oneLine(v.content()))
		}
		for _, at := range []struct {
			column int
			names  []string
		}{{0, []string{"cat", "xVal"}}, {i + 1, []string{"val", "yVal"}}} {
			if at.column == 0 && i > 0 {
				continue // series share their categories
			}
			for _, name := range at.names {
				for _, pt := range s.kid(name).all("pt") {
					if row := number(pt.attr("idx")); row >= 0 && row < maxPoints {
						put(row+1, at.column, pt.kid("v").content())
					}
				}
			}
		}
	}
	if len(rows) > 1 {
		d.table(rows)
	}
}
