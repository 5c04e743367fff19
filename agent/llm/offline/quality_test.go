package offline_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestDataQualityComesFirst gives a table with every fault an analyst looks for, and expects them
// by name, before any figure, in the answer and in the report.
func TestDataQualityComesFirst(t *testing.T) {
	var b strings.Builder
	b.WriteString("order_id,date,region,units,revenue\n")
	for i := range 60 {
		region := []string{"North", "South", "West"}[i%3]
		date := fmt.Sprintf("2024-01-%02d", i%28+1)
		units, revenue := fmt.Sprint(10+i%9), fmt.Sprintf("\"$1,%03d.50\"", i)
		switch i {
		case 7:
			region, units = "north", "9999"
		case 8:
			region, date = "SOUTH", "01/25/2024"
		case 9:
			units = "-4"
		case 10:
			revenue = "1200"
		}
		fmt.Fprintf(&b, "%d,%s,%s,%s,%s\n", 1000+i, date, region, units, revenue)
	}
	b.WriteString("1003,2024-01-04,North,13,\"$1,003.50\"\n1004,2024-01-30,West,12,\"$1,090.00\"\n")
	d := newDesk(t, nil)
	answer := d.say("analyse it", map[string]string{"orders.csv": b.String()})
	report := d.output("report.md")
	found := []string{
		"Exact copies of earlier rows: 1 row.",
		"`order_id`: duplicate ids: 1003 (2×), 1004 (2×)",
		"`region`: probably the same category, written differently: North (21) / north (1), South (19) / SOUTH (1)",
		"`date`: mixed date formats: 2024-01-01 (61), 01/25/2024 (1)",
		"`units`: 2 outliers, while half of all values lie between 12 and 16: 9,999, -4.",
		"`units`: 1 negative value (lowest -4)",
		"`revenue`: mixed number formats: $1,000.50 (61), 1200 (1). All are read as numbers.",
		"| date | date | 62 | 0 | 29 |", // 25 January is one day, however it is written
		"| revenue | 1,000.50 |",
	}
	holds(t, report, found...)
	holds(t, answer, found[:3]...)
	for name, text := range map[string]string{"report": report, "answer": answer} {
		quality, figures := strings.Index(text, "Data quality"), strings.Index(text, "1,000.50 |")
		if name == "answer" {
			figures = strings.Index(text, "standard deviation")
		}
		if quality < 0 || figures < quality {
			t.Errorf("%s: the quality stands at %d, the first figure at %d", name, quality, figures)
		}
	}
}

func TestCleanDataHasNoFindings(t *testing.T) {
	for name, file := range map[string]string{
		"plain": "id,day,city,amount\n" + lines(40, func(i int) string {
			return fmt.Sprintf("%d,2024-02-%02d,%s,%d", i, i%28+1, []string{"Rome", "Oslo"}[i%2], 50+i%17)
		}),
		"temperatures":   "day,celsius\n" + lines(40, func(i int) string { return fmt.Sprintf("2024-02-%02d,%d", i%28+1, i%21-9) }),
		"a long tail":    "k,size\n" + lines(60, func(i int) string { return fmt.Sprintf("f%d,%d", i, 1<<(i%16)) }),
		"foreign keys":   "customer_id,amount\n" + lines(40, func(i int) string { return fmt.Sprintf("%d,%d", 100+i%6, 5+i%9) }),
		"items by digit": "item,n\n" + lines(40, func(i int) string { return fmt.Sprintf("item %d,%d", i%4, i) }),
	} {
		d := newDesk(t, nil)
		d.say("analyse it", map[string]string{"t.csv": file})
		if report := d.output("report.md"); !strings.Contains(report, "No problems found.") {
			t.Errorf("%s: %s", name, report[:min(len(report), 600)])
		}
	}
}

func lines(n int, line func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}
