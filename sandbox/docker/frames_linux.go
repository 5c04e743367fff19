package docker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Streams of a connection to a container.
const (
	frameOutput = 1
	frameErrors = 2
)

// errFrame means that a connection doesn't follow the engine's protocol.
var errFrame = errors.New("the engine sent unframed data")

// readFrames passes on the content of frames: 8 bytes with the stream and the length, followed by the content. It
// returns nil if the connection ends between two frames.
func readFrames(r io.Reader, take func(stream byte, p []byte) error) error {
	var head [8]byte
	buf := make([]byte, 32<<10)
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read frame: %w", err)
		}
		if head[0] > frameErrors || head[1]|head[2]|head[3] != 0 {
			return errFrame
		}
		for n := int(binary.BigEndian.Uint32(head[4:])); n > 0; {
			k, err := r.Read(buf[:min(n, len(buf))])
			if k > 0 {
				if err := take(head[0], buf[:k]); err != nil {
					return err
				}
				n -= k
			}
			if err != nil && n > 0 {
				return fmt.Errorf("read frame: %w", err)
			}
		}
	}
}

// maxReport limits the line that follows the mark, in bytes.
const maxReport = 64 << 10

// markedOutputs finds the report of a command in its outputs. It calls report once both have reached their mark: all of
// the command's output was passed on then.
type markedOutputs struct {
	out, errs *markedOutput
	line      []byte
	missing   int // marks still expected
}

func newMarkedOutputs(mark []byte, out, errs io.Writer, report func(line []byte)) *markedOutputs {
	m := &markedOutputs{missing: 2}
	reached := func() {
		if m.missing--; m.missing == 0 {
			report(m.line)
		}
	}
	m.out = &markedOutput{mark: mark, out: out, report: func(line []byte) { m.line = bytes.Clone(line); reached() }}
	m.errs = &markedOutput{mark: mark, out: errs, report: func([]byte) { reached() }}
	return m
}

// take handles the data of readFrames.
func (m *markedOutputs) take(stream byte, p []byte) error {
	to := m.out
	if stream == frameErrors {
		to = m.errs
	}
	_, err := to.Write(p)
	return err
}

// flush passes on bytes that can't be part of a mark.
func (m *markedOutputs) flush() error { return errors.Join(m.out.flush(), m.errs.flush()) }

// markedOutput finds a command's report in one output: the bytes before the mark are the command's, a line with the
// report follows, and the rest comes from background processes.
type markedOutput struct {
	mark    []byte
	out     io.Writer
	report  func(line []byte) // called once with the line after the mark
	pending []byte            // may be the start of the mark, or is the start of the line
	found   bool              // the mark was found
	over    bool              // the line is complete, too
}

// Write passes on output as soon as it can't be part of the mark. It returns out's error.
func (m *markedOutput) Write(p []byte) (int, error) {
	n := len(p)
	if m.over {
		_, err := m.out.Write(p)
		return n, err
	}
	p = append(m.pending, p...)
	m.pending = nil
	if !m.found {
		before, after, found := bytes.Cut(p, m.mark)
		if !found {
			keep := m.partial(p)
			m.pending = bytes.Clone(p[len(p)-keep:])
			_, err := m.out.Write(p[:len(p)-keep])
			return n, err
		}
		if _, err := m.out.Write(before); err != nil {
			return n, err
		}
		m.found, p = true, after
	}
	line, rest, ended := bytes.Cut(p, []byte{'\n'})
	switch {
	case !ended && len(line) > maxReport:
		return n, errFrame
	case !ended:
		m.pending = bytes.Clone(line)
		return n, nil
	}
	m.over = true
	m.report(line)
	_, err := m.out.Write(rest)
	return n, err
}

// flush passes on bytes that can't be part of a mark.
func (m *markedOutput) flush() error {
	if m.found {
		return nil
	}
	_, err := m.out.Write(m.pending)
	m.pending = nil
	return err
}

// partial returns how many bytes at the end may be the start of the mark.
func (m *markedOutput) partial(p []byte) int {
	for k := min(len(p), len(m.mark)-1); k > 0; k-- {
		if bytes.HasPrefix(m.mark, p[len(p)-k:]) {
			return k
		}
	}
	return 0
}
