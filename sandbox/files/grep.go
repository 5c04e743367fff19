package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"
)

// GrepQuery asks for the lines that match.
type GrepQuery struct {
	// Pattern is a regular expression in RE2 syntax, matched line by line.
	Pattern string
	// Path is the file or folder to search.
	Path string
	// Glob, when set, limits the search to files that match; see [GlobQuery].
	Glob string
	// Literal treats Pattern as plain text.
	Literal bool
	// CaseSensitive distinguishes upper and lower case.
	CaseSensitive bool
	// Max is the number of matches wanted, at least 1.
	Max int
}

// Match is one matching line.
type Match struct {
	Path string
	// Line counts from 1.
	Line int
	// Text is the line, at most 200 characters of it around the match.
	Text string
}

// GrepResult is the result of Grep, in the order of Walk.
type GrepResult struct {
	Matches []Match
	// More means that there are more matches than requested.
	More bool
	// Truncated means that a limit ended the search early.
	Truncated bool
	// Skipped counts text files that are too large to search.
	Skipped int
}

const (
	sniffBytes   = 8 << 10
	excerptRunes = 200
)

// Grep finds lines in regular text files. Files with a NUL byte in their first 8 KiB and links are skipped. It returns
// ErrRegexp or ErrGlob for invalid patterns and the errors of Walk and Open.
func (f *Files) Grep(ctx context.Context, q GrepQuery) (GrepResult, error) {
	base, err := Clean(q.Path)
	if err != nil {
		return GrepResult{}, err
	}
	re, err := q.compile()
	if err != nil {
		return GrepResult{}, err
	}
	var only *glob
	if q.Glob != "" {
		if only, err = parseGlob(q.Glob); err != nil {
			return GrepResult{}, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.limits.Time, ErrLimit)
	defer cancel()
	g := &grep{re: re, max: q.Max, fileSize: f.limits.FileSize}

	info, err := f.Stat(base)
	if err != nil {
		return GrepResult{}, err
	}
	if !info.IsDir() {
		file, _, err := f.Open(base)
		if err != nil {
			return GrepResult{}, err
		}
		defer file.Close()
		err = g.file(ctx, file, base)
		return g.finish(err)
	}
	err = f.walk(ctx, base, WalkOptions{}, func(at place, e Entry) error {
		if e.Dir || e.Link || only != nil && !only.match(base, e.Path) {
			return nil
		}
		file, _, err := openRegular(at.root, at.rel)
		if err != nil {
			return nil
		}
		defer file.Close()
		return g.file(ctx, file, e.Path)
	})
	return g.finish(err)
}

func (q GrepQuery) compile() (*regexp.Regexp, error) {
	if q.Pattern == "" {
		return nil, refuse(ErrRegexp, "the pattern is empty")
	}
	if len(q.Pattern) > maxPattern {
		return nil, refuse(ErrRegexp, "the pattern is longer than 1000 bytes")
	}
	expr := q.Pattern
	if q.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	re, err := regexp.Compile(expr)
	if err == nil && !q.CaseSensitive {
		re, err = regexp.Compile("(?i)" + expr)
	}
	if err != nil {
		return nil, refuse(ErrRegexp, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// grep is one search in progress.
type grep struct {
	re       *regexp.Regexp
	max      int
	fileSize int64
	buf      bytes.Buffer
	result   GrepResult
}

func (g *grep) finish(err error) (GrepResult, error) {
	switch {
	case errors.Is(err, ErrLimit):
		g.result.Truncated = true
	case errors.Is(err, fs.SkipAll):
	case err != nil:
		return GrepResult{}, err
	}
	return g.result, nil
}

// file searches one file; fs.SkipAll means that enough was found.
func (g *grep) file(ctx context.Context, r io.Reader, virtual string) error {
	g.buf.Reset()
	if _, err := io.CopyN(&g.buf, r, sniffBytes); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	if bytes.IndexByte(g.buf.Bytes(), 0) >= 0 {
		return nil
	}
	if _, err := io.CopyN(&g.buf, r, g.fileSize+1-int64(g.buf.Len())); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	if int64(g.buf.Len()) > g.fileSize {
		g.result.Skipped++
		return nil
	}
	n := 0
	for line := range bytes.Lines(g.buf.Bytes()) {
		if n++; n%512 == 1 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
		}
		line = bytes.TrimRight(line, "\r\n")
		at := g.re.FindIndex(line)
		if at == nil {
			continue
		}
		if len(g.result.Matches) >= g.max {
			g.result.More = true
			return fs.SkipAll
		}
		g.result.Matches = append(g.result.Matches, Match{Path: virtual, Line: n, Text: excerpt(line, at[0])})
	}
	return nil
}

// excerpt shows at most 200 characters of a line, the match among them.
func excerpt(line []byte, at int) string {
	if utf8.RuneCount(line) <= excerptRunes {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	// A line may have megabytes: decode only the shown part.
	before, after := []rune(string(line[max(0, at-excerptRunes*utf8.UTFMax):at])), line[at:]
	start, end := "", ""
	if len(before) > excerptRunes/2 {
		before, start = before[len(before)-excerptRunes/4:], "..."
	}
	room := excerptRunes - len(before)
	text := []rune(string(after[:min(len(after), room*utf8.UTFMax)]))
	if len(text) > room || len(after) > room*utf8.UTFMax {
		text, end = text[:min(len(text), room)], "..."
	}
	return start + string(before) + string(text) + end
}
