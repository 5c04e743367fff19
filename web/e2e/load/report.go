package load

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// Row is one line of the report. Inapplicable figures are NaN.
type Row struct {
	Name  string
	Unit  string
	Fawn  float64
	Relay float64
	Limit float64 // NaN = reported only
	Least bool    // the limit is a minimum
}

// Failed reports whether the figure exceeds its limit or, with a limit, couldn't be measured.
func (r Row) Failed() bool {
	if r.Least {
		return !(r.Fawn >= r.Limit)
	}
	return !math.IsNaN(r.Limit) && (math.IsNaN(r.Fawn) || r.Fawn > r.Limit)
}

// Report is the outcome of a measurement.
type Report struct {
	Machine   string
	Rows      []Row
	Sandboxes []Row // compared with bare bash instead of a relay
	Against   []Row // compared with an earlier binary
}

// Failed reports whether any row exceeds its limit.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(slices.Concat(r.Rows, r.Sandboxes, r.Against), Row.Failed)
}

// Write prints the report as Markdown tables.
func (r *Report) Write(w io.Writer) error {
	if _, err := fmt.Fprintln(w, r.Machine); err != nil {
		return err
	}
	if err := table(w, "Fawn | relay", r.Rows); err != nil {
		return err
	}
	if err := table(w, "sandbox | bare bash", r.Sandboxes); err != nil {
		return err
	}
	return table(w, "today | earlier", r.Against)
}

// table prints rows, if there are any.
func table(w io.Writer, columns string, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n| measure | unit | %s | ratio | limit | |\n|---|---|---:|---:|---:|---:|---|\n",
		columns); err != nil {
		return err
	}
	for _, row := range rows {
		verdict := ""
		switch {
		case row.Failed():
			verdict = "**FAIL**"
		case !math.IsNaN(row.Limit):
			verdict = "PASS"
		}
		limit := number(row.Limit)
		if row.Least {
			limit = "≥ " + limit
		}
		if _, err := fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", row.Name, row.Unit,
			number(row.Fawn), number(row.Relay), number(row.Fawn/row.Relay), limit, verdict); err != nil {
			return err
		}
	}
	return nil
}

func number(f float64) string {
	switch a := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return ""
	case a >= 100:
		return fmt.Sprintf("%.0f", f)
	case a >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}
