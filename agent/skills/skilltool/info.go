package skilltool

import (
	"fmt"
	"slices"
	"strings"

	"fawn/uploads/charset"
)

// info describes tables.
func info(c call) error {
	for _, file := range c.args {
		list, err := load(file, c.sheet)
		if err != nil {
			return err
		}
		for _, g := range list {
			fmt.Fprintf(c.out, "%s", file)
			if g.name != "" {
				fmt.Fprintf(c.out, ", sheet %s", g.name)
			}
			if g.encoding != "" && g.encoding != charset.UTF8 {
				fmt.Fprintf(c.out, ", read as %s", g.encoding)
			}
			fmt.Fprintf(c.out, ": %d rows, %d columns; for sql it is %s\n", len(g.rows), len(g.head),
				tableName(file, g.name, len(list) > 1))
			for i, name := range g.head {
				fmt.Fprintf(c.out, "  %s: %s\n", name, g.describe(i))
			}
			fmt.Fprintln(c.out, "  first rows:")
			for _, row := range g.rows[:min(len(g.rows), 5)] {
				fmt.Fprintf(c.out, "    %s\n", strings.Join(row[:min(len(row), 30)], " | "))
			}
		}
	}
	return nil
}

// describe returns a line about a column.
func (g grid) describe(i int) string {
	values, all := g.numbers(i)
	empty, kinds := 0, map[string]int{}
	for _, row := range g.rows {
		if strings.TrimSpace(row[i]) == "" {
			empty++
		} else if len(kinds) < 10_000 {
			kinds[row[i]]++
		}
	}
	out := fmt.Sprintf("text, %d different", len(kinds))
	if all {
		slices.Sort(values)
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		out = fmt.Sprintf("numbers from %s to %s, mean %s, median %s, sum %s", format(values[0]),
			format(values[len(values)-1]), format(sum/float64(len(values))), format(median(values)), format(sum))
	} else if len(values) > 0 {
		out += fmt.Sprintf(", %d cells are numbers", len(values))
	}
	if !all && len(kinds) <= 8 {
		names := []string{}
		for k, n := range kinds {
			names = append(names, fmt.Sprintf("%.40q ×%d", k, n))
		}
		slices.Sort(names)
		out += " (" + strings.Join(names, ", ") + ")"
	}
	if empty > 0 {
		out += fmt.Sprintf(", %d empty", empty)
	}
	return out
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
