package convert

import (
	"strconv"
	"strings"
)

// slides reads a presentation of PowerPoint's kind in the order it is shown.
func slides(d *draft, a *archive, main string) error {
	show, err := a.tree(main)
	if err != nil {
		return err
	}
	rel, err := a.relations(main)
	if err != nil {
		return err
	}
	ids := show.all("sldId")
	for i, id := range ids {
		d.anchor("slide", i+1)
		if err := slide(d, a, rel.byID[id.attr("r:id")]); err != nil {
			return err
		}
		d.step(i+1, len(ids))
	}
	return nil
}

func slide(d *draft, a *archive, part string) error {
	t, err := a.tree(part)
	if err != nil {
		return err
	}
	rel, err := a.relations(part)
	if err != nil {
		return err
	}
	if err := shapes(d, a, t.kid("sld", "cSld", "spTree"), rel); err != nil {
		return err
	}
	notes := rel.byKind["notesSlide"]
	if notes == "" {
		return nil
	}
	if t, err = a.tree(notes); err != nil {
		return err
	}
	for _, sp := range t.all("sp") {
		if placeholder(sp) == "body" {
			if text := paragraphs(sp, rel); len(text) > 0 {
				d.block("Notes: " + strings.Join(text, "\n"))
			}
		}
	}
	return nil
}

func placeholder(sp *node) string {
	return sp.kid("nvSpPr", "nvPr", "ph").attr("type")
}

func shapes(d *draft, a *archive, n *node, rel relations) error {
	for _, k := range n.kids {
		switch k.name {
		case "sp":
			text := paragraphs(k, rel)
			switch kind := placeholder(k); {
			case len(text) == 0, kind == "sldNum", kind == "dt", kind == "ftr":
			case kind == "title" || kind == "ctrTitle":
				d.heading(1, strings.Join(text, " "))
			default:
				d.block(strings.Join(text, "\n"))
			}
		case "grpSp", "AlternateContent":
			if k.name == "AlternateContent" {
				k = k.kid("Choice")
			}
			if err := shapes(d, a, k, rel); err != nil {
				return err
			}
		case "graphicFrame":
			for _, t := range k.all("tbl") {
				d.table(slideTable(t, rel))
			}
			text, err := a.graphics(k, rel)
			if err != nil {
				return err
			}
			d.block(text)
		case "pic":
			if alt := oneLine(k.kid("nvPicPr", "cNvPr").attr("descr")); alt != "" {
				d.block("[image: " + alt + "]")
			} else {
				d.block("[image]")
			}
		}
	}
	return nil
}

// paragraphs returns the lines of a shape, as list items if there are several.
func paragraphs(sp *node, rel relations) (lines []string) {
	var levels []int
	for _, p := range sp.all("p") {
		text := oneLine(slideText(p, rel))
		if text == "" {
			continue
		}
		level, err := strconv.Atoi(p.kid("pPr").attr("lvl"))
		if err != nil {
			level = 0
		}
		lines, levels = append(lines, text), append(levels, min(max(level, 0), 8))
	}
	if kind := placeholder(sp); len(lines) > 1 && kind != "title" && kind != "ctrTitle" {
		for i, text := range lines {
			lines[i] = strings.Repeat("  ", levels[i]) + "- " + text
		}
	}
	return lines
}

func slideText(p *node, rel relations) string {
	var b strings.Builder
	for _, k := range p.kids {
		switch k.name {
		case "r", "fld":
			text := k.kid("t").content()
			to := rel.byID[k.kid("rPr", "hlinkClick").attr("r:id")]
			if strings.Contains(to, "://") && strings.TrimSpace(text) != "" {
				text = "[" + text + "](" + to + ")"
			}
			b.WriteString(text)
		case "br":
			b.WriteByte(' ')
		case "AlternateContent", "m":
			k = k.orChoice()
			formulas := k.all("oMath")
			for _, m := range formulas {
				if tex := formula(m); tex != "" {
					b.WriteString("$" + tex + "$")
				}
			}
			if len(formulas) == 0 {
				b.WriteString(k.content())
			}
		}
	}
	return b.String()
}

func slideTable(t *node, rel relations) (rows [][]string) {
	for _, tr := range t.all("tr") {
		var row []string
		for _, tc := range tr.all("tc") {
			var text []string
			for _, p := range tc.all("p") {
				text = append(text, slideText(p, rel))
			}
			row = append(row, strings.Join(text, " "))
		}
		rows = append(rows, row)
	}
	return rows
}
