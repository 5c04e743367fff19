package offline

import (
	"encoding/csv"
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// FuzzAnalyse checks that any text becomes a report and a well-formed drawing, with
// figures that agree with each other.
func FuzzAnalyse(f *testing.F) {
	f.Add("a,b\n1,2\n", "analyse")
	f.Add("\ufeffk;v\r\n\"x;\"\"y\";1,5\r\n;\r\n", "chart")
	f.Add("d\tn\n2024-01-01\t3\n2024-02-01\t1e300\n2024-03-01\t-1e300\n", "line")
	f.Add("\"\n\"\"\",\"", "分布 v")
	f.Add("year,v\n1999,1\n2000,2\n2001,3\n", "compare a by b")
	f.Add("<x>&\x00\x01,\xff\n1,2\n3,4\n", "histogram")
	f.Add("t,v\n2024-01-01T10:00:00Z,1\n2024-01-01T11:00:00Z,2\n2024-01-01T15:00:00Z,0.00001\n", "")
	f.Fuzz(func(t *testing.T, text, words string) {
		if len(text) > 1<<15 {
			return
		}
		c := &conversation{text: words, zh: chinese(words)}
		a := analyse(c, document{path: "/x/a.csv", text: text, lines: 1})
		for i := range a.cols {
			k := &a.cols[i]
			if k.values+k.missing != len(a.table.rows) || k.distinct > k.values || k.odd > k.values {
				t.Fatalf("column %+v of %d rows", k, len(a.table.rows))
			}
			if k.kind == kindNumber && (k.min > k.median || k.median > k.max || k.stddev < 0) {
				t.Fatalf("figures %v %v %v %v", k.min, k.median, k.max, k.stddev)
			}
		}
		if s := report(c, []analysis{a}); len(s) > 81_920 {
			t.Fatalf("a report of %d bytes", len(s))
		}
		a.brief(c)
		if !a.drawn {
			return
		}
		s := svg(a.chart, a.source(c))
		if len(s) > 81_920 || strings.Contains(s, "NaN") && !strings.Contains(text+words, "NaN") {
			t.Fatalf("drawing of %d bytes: %s", len(s), s)
		}
		for d := xml.NewDecoder(strings.NewReader(s)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, s)
			}
		}
	})
}

// FuzzRows holds the parser to encoding/csv wherever that one accepts the text.
func FuzzRows(f *testing.F) {
	f.Add("a,b\n\"c,\n\"\"\",d\r\n\n,")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\r") { // encoding/csv keeps some and drops others
			return
		}
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord = -1
		want, err := r.ReadAll()
		if err != nil {
			return
		}
		var got [][]string
		p := parser{text: text, delimiter: ','}
		for {
			row, ok := p.row()
			if !ok {
				break
			}
			if len(row) == 1 && row[0] == "" { // encoding/csv passes over empty lines
				continue
			}
			got = append(got, row)
		}
		want = slices.DeleteFunc(want, func(row []string) bool { return len(row) == 1 && row[0] == "" })
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q\n got %q\nwant %q", text, got, want)
		}
	})
}

// FuzzDigest checks that quoted sentences stand in the line that is named.
func FuzzDigest(f *testing.F) {
	f.Add("# A\n\nOne two three four five six. Seven eight nine ten eleven!\n\n---\nb\n")
	f.Add("标题\n===\n\n这是一个测试句子。还有一句更长的话在这里！\n")
	f.Fuzz(func(t *testing.T, text string) {
		headings, sentences, _ := scanText(text)
		lines := strings.Split(text, "\n")
		for _, s := range sentences {
			if s.line < 1 || s.line > len(lines) {
				t.Fatalf("sentence %+v of %d lines", s, len(lines))
			}
		}
		for _, h := range headings {
			if h.line < 1 || h.line > len(lines) || h.level < 1 || h.level > 6 {
				t.Fatalf("heading %+v of %d lines", h, len(lines))
			}
		}
		digest(&conversation{}, document{path: "a.md", text: text})
	})
}

func TestNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	nan := math.NaN()
	for in, want := range map[string][2]float64{ // with decimal point, with decimal comma
		"1": {1, 1}, "-2.5": {-2.5, nan}, "1,5": {nan, 1.5}, "1,234": {1234, 1.234}, "1.234": {1.234, 1234},
		"1,234.56": {1234.56, nan}, "1.234,56": {nan, 1234.56}, "1 234 567": {1234567, 1234567},
		"1'234.5": {1234.5, nan}, "$1,000": {1000, 1}, "-€5": {-5, -5}, "€-5": {-5, -5}, "12%": {12, 12},
		"(7)": {-7, -7}, "1e3": {1000, 1000}, ".5": {0.5, nan}, "5.": {5, nan}, "12,34,56": {nan, nan},
		"1,23": {nan, 1.23}, "abc": {nan, nan}, "1-2": {nan, nan}, "0x10": {nan, nan}, "Infinity": {nan, nan},
		"": {nan, nan}, "e5": {nan, nan}, "1e999": {nan, nan}, "３": {nan, nan}, "--1": {nan, nan},
	} {
		for i, comma := range []bool{false, true} {
			got, ok := parseNumber(in, comma)
			if ok == math.IsNaN(want[i]) || ok && got != want[i] {
				t.Errorf("%q, comma %v: %v %v, want %v", in, comma, got, ok, want[i])
			}
		}
	}
}
