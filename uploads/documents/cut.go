package documents

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"fawn/uploads"
)

// Sizes of a passage in bytes. It ends at a heading unless it is very short, at an empty line once it
// is long enough, and anywhere if it is too long.
const (
	passageLeast  = 300
	passageEnough = 900
	passageMost   = 2000
	maxHeading    = 200
)

// cutter cuts a text into passages, none of which crosses the end of a page.
type cutter struct {
	file string
	take func(uploads.Passage) error

	kind    string
	page    int
	heading string
	fenced  bool

	b           strings.Builder
	first, last int
	above       string // heading at the passage's start
}

// Cut cuts the text of a file into passages, which have its name, and passes each to take.
func Cut(file string, text io.Reader, take func(uploads.Passage) error) error {
	c := cutter{file: file, take: take}
	return c.read(bufio.NewReaderSize(text, 64<<10))
}

// anchors matches the lines that begin pages.
var anchors = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^<!-- (page|slide|sheet|chapter) (\d{1,9}) -->`)
})

func (c *cutter) read(r *bufio.Reader) error {
	var rest []byte // the incomplete last character of a line read in pieces
	for n, begin := 1, true; ; {
		piece, err := r.ReadSlice('\n')
		whole := err == nil || errors.Is(err, io.EOF)
		if !whole && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		s := append(rest, piece...)
		rest = nil
		if i := lastStart(s); !whole && !utf8.FullRune(s[i:]) {
			s, rest = s[:i], s[i:]
		}
		if err := c.line(n, strings.ToValidUTF8(string(s), "\uFFFD"), begin); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if begin = whole; whole {
			n++
		}
	}
}

// lastStart returns where the last character of s begins.
func lastStart(s []byte) int {
	i := len(s) - 1
	for i > max(0, len(s)-utf8.UTFMax) && !utf8.RuneStart(s[i]) {
		i--
	}
	return max(i, 0)
}

// line adds a line or, unless begin is set, the continuation of one.
func (c *cutter) line(n int, s string, begin bool) error {
	trimmed := strings.TrimSpace(s)
	if begin {
		if m := anchors().FindStringSubmatch(s); m != nil {
			err := c.end()
			c.kind = m[1]
			c.page, _ = strconv.Atoi(m[2]) // a few digits
			return err
		}
		if strings.HasPrefix(trimmed, "```") {
			c.fenced = !c.fenced
		}
		if title, ok := heading(trimmed); ok && !c.fenced {
			if c.b.Len() >= passageLeast {
				if err := c.end(); err != nil {
					return err
				}
			}
			c.heading = title
		}
	}
	if trimmed == "" {
		if c.b.Len() >= passageEnough {
			return c.end()
		}
		if c.b.Len() > 0 {
			c.b.WriteByte('\n')
		}
		return nil
	}
	for s = strings.TrimRight(s, " \t\r\n"); s != ""; {
		part := s
		if len(part) > passageMost {
			part = cutText(part, passageMost)
		}
		if c.b.Len() > 0 && c.b.Len()+len(part) > passageMost {
			if err := c.end(); err != nil {
				return err
			}
		}
		if c.b.Len() == 0 {
			c.first, c.above = n, c.heading
		}
		c.last = n
		c.b.WriteString(part)
		c.b.WriteByte('\n')
		s = s[len(part):]
	}
	return nil
}

// cutText returns the beginning of a text up to n bytes, cut at a space if there is one near the end.
func cutText(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if i := strings.LastIndexByte(s[:n], ' '); i > n/2 {
		return s[:i+1]
	}
	return s[:n]
}

// heading returns the title of a heading line, and false for other lines.
func heading(line string) (string, bool) {
	title := strings.TrimLeft(line, "#")
	if depth := len(line) - len(title); depth < 1 || depth > 6 || !strings.HasPrefix(title, " ") {
		return "", false
	}
	if title = strings.TrimSpace(title); len(title) > maxHeading {
		title = cutText(title, maxHeading)
	}
	return title, title != ""
}

func (c *cutter) end() error {
	text := strings.TrimSpace(c.b.String())
	c.b.Reset()
	if text == "" {
		return nil
	}
	return c.take(uploads.Passage{File: c.file, Kind: c.kind, Page: c.page, First: c.first, Last: c.last,
		Heading: c.above, Text: text})
}
