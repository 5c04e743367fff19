package process

import "bytes"

// maxLine limits a line in bytes.
const maxLine = 2000

// lineWriter splits a stream into lines. Overlong lines are dropped.
type lineWriter struct {
	take func(string)
	buf  []byte
}

// Write takes more of the stream; it never fails.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, end := bytes.Cut(p, []byte("\n"))
		w.buf = append(w.buf, line[:min(len(line), maxLine-min(len(w.buf), maxLine))]...)
		if end {
			w.take(string(w.buf))
			w.buf = w.buf[:0]
		}
		p = rest
	}
	return n, nil
}

// flush ends the last line.
func (w *lineWriter) flush() {
	if len(w.buf) > 0 {
		w.take(string(w.buf))
		w.buf = nil
	}
}
