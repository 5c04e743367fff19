package sandbox

import "strings"

var (
	ReadFrames = readFrames
	ErrFrame   = errFrame
)

// FindReport passes output that comes in pieces through the search for a report.
func FindReport(mark string, pieces ...string) (out string, reports []string) {
	var b strings.Builder
	m := &markedOutput{mark: []byte(mark), out: &b, report: func(line []byte) { reports = append(reports, string(line)) }}
	for _, p := range pieces {
		if _, err := m.Write([]byte(p)); err != nil {
			return b.String(), []string{err.Error()}
		}
	}
	if err := m.flush(); err != nil {
		return b.String(), []string{err.Error()}
	}
	return b.String(), reports
}
