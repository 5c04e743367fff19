package docker

import (
	"fmt"
	"strings"
)

var (
	ReadFrames = readFrames
	ErrFrame   = errFrame
)

// FindReports passes what engines send, pieces that begin with the number of their stream,
// through the search for a report.
func FindReports(mark string, pieces ...string) (out, errs string, reports []string) {
	var b, e strings.Builder
	m := newMarkedOutputs([]byte(mark), &b, &e, func(line []byte) {
		reports = append(reports, fmt.Sprintf("%s after %q and %q", line, b.String(), e.String()))
	})
	for _, p := range pieces {
		if err := m.take(p[0]-'0', []byte(p[1:])); err != nil {
			return b.String(), e.String(), []string{err.Error()}
		}
	}
	if err := m.flush(); err != nil {
		return b.String(), e.String(), []string{err.Error()}
	}
	return b.String(), e.String(), reports
}

// FindReport passes output that comes in pieces through the search for a report.
func FindReport(mark string, pieces ...string) (out string, reports []string) {
	var b strings.Builder
	m := &markedOutput{mark: []byte(mark), out: &b, report: func(line []byte) {
		reports = append(reports, string(line))
	}}
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
