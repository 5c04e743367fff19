package offline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// outlierReach is the factor of the interquartile range beyond which a value is an outlier. Three is the usual fence
// for extreme values.
const outlierReach = 3

const (
	maxFolded   = 2000 // limit of distinct texts compared in a column
	maxFindings = 30   // findings a report lists
	briefly     = 6    // findings an answer lists
)

// findings lists problems of the data before its figures, the most serious first.
func (a *analysis) findings(c *conversation) []string {
	var out []string
	if n := copies(a.table.rows); n > 0 && 10*n <= len(a.table.rows) { // more duplicates are normal for the table
		out = append(out, fmt.Sprintf(c.pick("Exact copies of earlier rows: %s.", "与前面完全相同的行：%s。"),
			c.number(n, "row", "行")))
	}
	for _, check := range []func(*column, *conversation) string{
		(*column).duplicateIDs, (*column).outliers, (*column).negatives, (*column).nearEqual, (*column).mixedDates,
		(*column).writtenNumbers,
	} {
		for i := range a.cols {
			if s := check(&a.cols[i], c); s != "" && len(out) < maxFindings {
				out = append(out, s)
			}
		}
	}
	return out
}

// copies counts rows that are equal to an earlier one.
func copies(rows [][]string) (n int) {
	seen := make(map[string]bool, len(rows))
	for _, row := range rows {
		key := strings.Join(row, "\x00")
		if seen[key] {
			n++
		}
		seen[key] = true
	}
	return n
}

// duplicateIDs reports duplicates among ids: in a column named like an id with nearly unique values.
func (k *column) duplicateIDs(c *conversation) string {
	if !namesRows(k.name) || k.values < 3 || k.values == len(k.repeated) || k.distinct == k.values ||
		10*k.distinct < 8*k.values {
		return ""
	}
	return fmt.Sprintf(c.pick("`%s`: duplicate ids: %s.", "`%s`：重复的编号：%s。"), code(k.name),
		some(k.repeated, func(v count) string {
			return fmt.Sprintf("%s (%d×)", cell(v.text), v.n)
		}))
}

// nearEqual reports categories that differ only in case, spaces or punctuation.
func (k *column) nearEqual(c *conversation) string {
	if k.kind != kindText || len(k.alike) == 0 {
		return ""
	}
	return fmt.Sprintf(c.pick("`%s`: probably the same category, written differently: %s.", "`%s`：可能是同一类别的不同写法：%s。"),
		code(k.name), some(k.alike, func(group []count) string {
			var names []string
			for _, v := range group {
				names = append(names, fmt.Sprintf("%s (%s)", cell(v.text), amount(v.n)))
			}
			return strings.Join(names, " / ")
		}))
}

// mixedDates reports a column with several date formats.
func (k *column) mixedDates(c *conversation) string {
	if k.kind != kindDate {
		return ""
	}
	forms := forms(k.texts, func(i int, s string) string {
		if k.times[i].IsZero() {
			return ""
		}
		return dateForm(s)
	})
	if len(forms) < 2 {
		return ""
	}
	return fmt.Sprintf(c.pick("`%s`: mixed date formats: %s.", "`%s`：日期格式不一致：%s。"), code(k.name), some(forms, example1))
}

// writtenNumbers reports numbers that aren't plain digits, and are text to most programs.
func (k *column) writtenNumbers(c *conversation) string {
	if k.kind != kindNumber {
		return ""
	}
	written, sample := 0, ""
	found := forms(k.texts, func(i int, s string) string {
		if math.IsNaN(k.numbers[i]) {
			return ""
		}
		form := numberForm(s)
		if form != plainForm {
			written++
			if sample == "" {
				sample = s
			}
		}
		return form
	})
	if written == 0 {
		return ""
	}
	if len(found) > 1 {
		return fmt.Sprintf(c.pick("`%s`: mixed number formats: %s. All are read as numbers.",
			"`%s`：数字格式不一致：%s。均按数值读取。"), code(k.name), some(found, example1))
	}
	return fmt.Sprintf(c.pick("`%s`: %s stored as text, such as %s, and read as numbers.",
		"`%s`：%s以文本形式保存，例如 %s，已按数值读取。"), code(k.name), c.number(written, "number", "个数字"), cell(sample))
}

// outliers reports values far outside of the middle half.
func (k *column) outliers(c *conversation) string {
	if k.kind != kindNumber || k.serial || k.year || k.values-k.odd < 8 {
		return ""
	}
	sorted := slices.DeleteFunc(slices.Clone(k.numbers), math.IsNaN)
	slices.Sort(sorted)
	n := len(sorted)
	low, high := sorted[n/4], sorted[n-1-n/4]
	reach := outlierReach * (high - low)
	far := slices.DeleteFunc(slices.Clone(sorted), func(v float64) bool { return v >= low-reach && v <= high+reach })
	if reach == 0 || len(far) == 0 || 20*len(far) > n { // many far values are a long tail, not outliers
		return ""
	}
	slices.SortFunc(far, func(a, b float64) int { return cmp.Compare(math.Abs(b-k.median), math.Abs(a-k.median)) })
	return fmt.Sprintf(c.pick("`%s`: %s, while half of all values lie between %s and %s: %s.",
		"`%s`：%s（半数的值在 %s 与 %s 之间）：%s。"),
		code(k.name), c.number(len(far), "outlier", "个离群值"), figure(low), figure(high), some(far, figure))
}

// negatives reports a few negative values where nearly all are positive.
func (k *column) negatives(c *conversation) string {
	if k.kind != kindNumber || k.serial || k.min >= 0 {
		return ""
	}
	n := 0
	for _, v := range k.numbers {
		if v < 0 {
			n++
		}
	}
	if total := k.values - k.odd; total < 4 || 4*n > total || !k.countsThings() && 20*n > total {
		return ""
	}
	return fmt.Sprintf(c.pick("`%s`: %s (lowest %s).", "`%s`：%s（最小为 %s）。"), code(k.name),
		c.number(n, "negative value", "个负值"), figure(k.min))
}

// countsThings reports whether a column's name suggests quantities or money, which are rarely negative.
func (k *column) countsThings() bool {
	lower := strings.ToLower(k.name)
	return slices.ContainsFunc([]string{"amount", "price", "unit", "quantity", "qty", "count", "revenue", "sales",
		"total", "cost", "age", "金额", "价格", "数量", "销量", "单价", "费用"},
		func(w string) bool { return strings.Contains(lower, w) })
}

// form is a way to write a value, with an example of it.
type form struct {
	name, sample string
	n            int
}

func example1(f form) string { return fmt.Sprintf("%s (%s)", cell(f.sample), amount(f.n)) }

// forms counts the formats of values, most common first; values without one are skipped.
func forms(texts []string, of func(int, string) string) (out []form) {
	for i, s := range texts {
		if s == "" {
			continue
		}
		name := of(i, s)
		if name == "" {
			continue
		}
		at := slices.IndexFunc(out, func(f form) bool { return f.name == name })
		if at < 0 {
			at = len(out)
			out = append(out, form{name: name, sample: s})
		}
		out[at].n++
	}
	slices.SortStableFunc(out, func(a, b form) int { return cmp.Compare(b.n, a.n) })
	return out
}

// dateForm returns the format of a date, regardless of its numbers.
func dateForm(s string) string {
	switch {
	case strings.Contains(s, "年"):
		return "年"
	case strings.ContainsFunc(s[:min(len(s), 4)], unicode.IsLetter) ||
		strings.ContainsFunc(s, unicode.IsLetter) && !strings.Contains(s, "T"):
		return "words"
	case len(s) > 4 && onlyDigits(s[:4]):
		return "year first " + s[4:5]
	}
	return string(s[strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })])
}

const plainForm = "plain"

// numberForm returns the signs around a number's digits. With a currency sign, grouped thousands count as plain, since
// short amounts have no groups.
func numberForm(s string) string {
	sign := ""
	for _, r := range s {
		if r == '%' || unicode.Is(unicode.Sc, r) || unicode.IsLetter(r) && r != 'e' && r != 'E' {
			sign += string(r)
		}
	}
	switch {
	case sign != "":
		return sign
	case strings.HasPrefix(s, "("):
		return "("
	}
	if strings.Count(s, ",")+strings.Count(s, "'")+strings.Count(s, " ") > 0 && len(s) > 4 {
		return "grouped"
	}
	return plainForm
}

// folded normalizes texts that differ only in case, spaces and punctuation.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// alike finds groups of texts that are the same when case, spaces and punctuation are left out, the largest first.
func alike(all []count) (groups [][]count) {
	if len(all) > maxFolded {
		return nil
	}
	by := map[string][]count{}
	for _, v := range all {
		if f := folded(v.text); f != "" {
			by[f] = append(by[f], v)
		}
	}
	for _, g := range by {
		if len(g) > 1 {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a,
		b []count) int {
		return cmp.Or(cmp.Compare(b[0].n, a[0].n), cmp.Compare(a[0].text, b[0].text))
	})
	return groups
}

// some writes the first few of a list.
func some[T any](list []T, write func(T) string) string {
	const most = 5
	var out []string
	for _, v := range list[:min(len(list), most)] {
		out = append(out, write(v))
	}
	if len(list) > most {
		out = append(out, fmt.Sprintf("… (+%d)", len(list)-most))
	}
	return strings.Join(out, ", ")
}
