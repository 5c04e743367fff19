package docker_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"fawn/sandbox/docker"
)

func frame(stream byte, text string) string {
	return string(binary.BigEndian.AppendUint32([]byte{stream, 0, 0, 0}, uint32(len(text)))) + text
}

func TestFramesAreTakenApart(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		err      error
	}{
		"nothing":         {"", "", nil},
		"one":             {frame(1, "hello"), "1hello", nil},
		"two streams":     {frame(1, "a") + frame(2, "b") + frame(1, "c"), "1a2b1c", nil},
		"empty":           {frame(1, "") + frame(1, "x"), "1x", nil},
		"long":            {frame(1, strings.Repeat("x", 100<<10)), "1" + strings.Repeat("x", 100<<10), nil},
		"cut in the head": {frame(1, "a") + "\x01\x00", "1a", io.ErrUnexpectedEOF},
		"cut in the text": {frame(1, "abc")[:9], "1a", io.EOF},
		"another stream":  {frame(7, "a"), "", docker.ErrFrame},
		"not frames":      {"HTTP/1.1 200 OK\r\n", "", docker.ErrFrame},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)),
				iotest.DataErrReader(strings.NewReader(c.in))} {
				var got bytes.Buffer
				last := byte(0)
				err := docker.ReadFrames(r, func(stream byte, p []byte) error {
					if stream != last {
						got.WriteByte('0' + stream)
						last = stream
					}
					got.Write(p)
					return nil
				})
				if got.String() != c.want || !errors.Is(err, c.err) {
					t.Errorf("%.100q, %v", got.String(), err)
				}
			}
		})
	}
	stop := errors.New("stop")
	err := docker.ReadFrames(strings.NewReader(frame(1, "a")), func(byte, []byte) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func FuzzFramesNeverBreak(f *testing.F) {
	f.Add([]byte(frame(1, "hello") + frame(2, "x")))
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255, 'x'})
	f.Fuzz(func(t *testing.T, in []byte) {
		n := 0
		err := docker.ReadFrames(bytes.NewReader(in), func(stream byte, p []byte) error {
			if stream > 2 || len(p) == 0 {
				t.Fatalf("stream %d, %d bytes", stream, len(p))
			}
			n += len(p)
			return nil
		})
		if n > len(in) || err == nil && len(in) > 0 && len(in) < 8 {
			t.Fatalf("%d bytes of %d, %v", n, len(in), err)
		}
	})
}

func TestReportIsFoundInOutput(t *testing.T) {
	const mark = "\x00MARK\x00"
	for name, c := range map[string]struct {
		in, out, report string
		reports         int
	}{
		"plain":             {"hello\n" + mark + "{}\nlate", "hello\nlate", "{}", 1},
		"no output":         {mark + "{}\n", "", "{}", 1},
		"no report":         {"hello\x00MAR", "hello\x00MAR", "", 0},
		"nearly":            {"\x00MARX\x00MARK\x00{}\n", "\x00MARX", "{}", 1},
		"twice the start":   {"\x00\x00MARK\x00{}\n", "\x00", "{}", 1},
		"another one later": {mark + "1\n" + mark + "2\n", mark + "2\n", "1", 1},
		"cut line":          {"x" + mark + "{", "x", "", 0},
		"nothing":           {"", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for cut := range len(c.in) + 1 {
				out, reports := docker.FindReport(mark, c.in[:cut], c.in[cut:])
				if out != c.out || len(reports) != c.reports || c.reports > 0 && reports[0] != c.report {
					t.Errorf("cut at %d: %q, %q", cut, out, reports)
				}
			}
		})
	}
}

// TestReportWaitsForBothOutputs: engines pass the two on in no order.
func TestReportWaitsForBothOutputs(t *testing.T) {
	const mark = "\x00MARK\x00"
	for name, c := range map[string]struct {
		in                []string
		out, errs, report string
	}{
		"in order":         {[]string{"1out", "2err", "1" + mark + "{}\n", "2" + mark + "\n"}, "out", "err", `{} after "out" and "err"`},
		"errors are late":  {[]string{"1out" + mark + "{}\n", "2err", "2or" + mark + "\n"}, "out", "error", `{} after "out" and "error"`},
		"output is late":   {[]string{"2err" + mark + "\n", "1out", "1" + mark + "{}\n"}, "out", "err", `{} after "out" and "err"`},
		"afterwards":       {[]string{"1" + mark + "{}\nlate", "2" + mark + "\n", "2later"}, "late", "later", `{} after "late" and ""`},
		"cut marks":        {[]string{"1out\x00MA", "2err\x00MARK", "1RK\x00{", "2\x00", "1}\n", "2\n"}, "out", "err", `{} after "out" and "err"`},
		"no mark in one":   {[]string{"1" + mark + "{}\n", "2err\x00MARK"}, "", "err\x00MARK", ""},
		"nothing":          {nil, "", "", ""},
		"frames of no one": {[]string{"0x", "1" + mark + "{}\n", "2" + mark + "\n"}, "x", "", `{} after "x" and ""`},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, reports := docker.FindReports(mark, c.in...)
			if out != c.out || errs != c.errs || strings.Join(reports, "|") != c.report {
				t.Errorf("%q, %q, %q", out, errs, reports)
			}
		})
	}
}

func FuzzReportIsFoundWhereverItIsCut(f *testing.F) {
	f.Add("output", "{}", "late", 3)
	f.Add("\x00MA", "", "\x00MARK\x00", 1)
	f.Fuzz(func(t *testing.T, before, line, after string, size int) {
		const mark = "\x00MARK\x00"
		if strings.Contains(before+mark[:len(mark)-1], mark) || strings.Contains(line, "\n") || len(line) > 1<<10 {
			return
		}
		size = 1 + int(uint(size)%20)
		var pieces []string
		for rest := before + mark + line + "\n" + after; rest != ""; {
			n := min(size, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		out, reports := docker.FindReport(mark, pieces...)
		if out != before+after || len(reports) != 1 || reports[0] != line {
			t.Fatalf("%q, %q", out, reports)
		}
	})
}
