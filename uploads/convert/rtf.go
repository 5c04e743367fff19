package convert

import (
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// rtfState is the inherited state of a group in rich text.
type rtfState struct {
	skip    bool // not text of the document
	unicode int  // number of fallback characters per Unicode one
}

// rtfReader walks over control words.
type rtfReader struct {
	in     []byte
	at     int
	state  rtfState
	stack  []rtfState
	out    strings.Builder
	bytes  []byte // bytes of the code page, not yet decoded
	page   string
	ignore int // fallback characters still to skip
}

// richText reads the words of an RTF file: paragraphs and the cells of tables.
func richText(d *draft, data []byte) error {
	r := &rtfReader{in: data, page: "windows-1252", state: rtfState{unicode: 1}}
	for r.at < len(r.in) && r.out.Len() <= maxText {
		if len(r.stack) > 1000 {
			return Limits
		}
		r.next()
	}
	r.flush()
	for p := range strings.SplitSeq(r.out.String(), "\n") {
		d.block(strings.TrimSuffix(strings.TrimSpace(p), "|"))
	}
	return nil
}

func (r *rtfReader) next() {
	c := r.in[r.at]
	r.at++
	switch c {
	case '{':
		r.flush()
		r.stack = append(r.stack, r.state)
	case '}':
		r.flush()
		if n := len(r.stack); n > 0 {
			r.state, r.stack = r.stack[n-1], r.stack[:n-1]
		}
	case '\\':
		r.control()
	case '\r', '\n':
	default:
		r.put(c)
	}
}

// put takes one byte of text.
func (r *rtfReader) put(c byte) {
	switch {
	case r.ignore > 0:
		r.ignore--
	case !r.state.skip:
		r.bytes = append(r.bytes, c)
	}
}

func (r *rtfReader) flush() {
	if len(r.bytes) == 0 {
		return
	}
	dec := charmap.Windows1252.NewDecoder()
	if e, err := htmlindex.Get(r.page); err == nil {
		dec = e.NewDecoder()
	}
	if b, err := dec.Bytes(r.bytes); err == nil {
		r.out.Write(b)
	}
	r.bytes = r.bytes[:0]
}

func (r *rtfReader) write(s string) {
	r.flush()
	if !r.state.skip {
		r.out.WriteString(s)
	}
}

func (r *rtfReader) control() {
	if r.at >= len(r.in) {
		return
	}
	c := r.in[r.at]
	if c < 'A' || c > 'z' || c > 'Z' && c < 'a' {
		r.at++
		r.symbol(c)
		return
	}
	start := r.at
	for r.at < len(r.in) && (r.in[r.at] >= 'a' && r.in[r.at] <= 'z' || r.in[r.at] >= 'A' && r.in[r.at] <= 'Z') {
		r.at++
	}
	word := string(r.in[start:r.at])
	start = r.at
	for r.at < len(r.in) && r.at-start < 12 &&
		(r.in[r.at] >= '0' && r.in[r.at] <= '9' || r.at == start && r.in[r.at] == '-') {
		r.at++
	}
	n, err := strconv.Atoi(string(r.in[start:r.at]))
	if r.at < len(r.in) && r.in[r.at] == ' ' {
		r.at++
	}
	r.word(word, n, err == nil)
}

func (r *rtfReader) symbol(c byte) {
	switch c {
	case '\'':
		if r.at+2 > len(r.in) {
			return
		}
		v, err := strconv.ParseUint(string(r.in[r.at:r.at+2]), 16, 8)
		r.at += 2
		if err == nil {
			r.put(byte(v))
		}
	case '\\', '{', '}':
		r.put(c)
	case '~':
		r.write(" ")
	case '_':
		r.write("-")
	case '*':
		r.flush()
		r.state.skip = true
	case '\r', '\n':
		r.write("\n")
	}
}

func (r *rtfReader) word(word string, n int, given bool) {
	switch word {
	case "par", "sect", "page", "row":
		r.write("\n")
	case "line", "tab":
		r.write(" ")
	case "cell":
		r.write(" | ")
	case "emdash":
		r.write("—")
	case "endash":
		r.write("–")
	case "bullet":
		r.write("•")
	case "lquote", "rquote":
		r.write("’")
	case "ldblquote":
		r.write("“")
	case "rdblquote":
		r.write("”")
	case "uc":
		r.state.unicode = min(max(n, 0), 8)
	case "u":
		if n < 0 {
			n += 1 << 16
		}
		r.write(string(rune(n)))
		r.ignore = r.state.unicode
	case "ansicpg":
		r.page = codePage(n)
	case "bin":
		if given && n > 0 {
			r.at = min(r.at+n, len(r.in))
		}
	case "fonttbl", "colortbl", "stylesheet", "info", "pict", "header", "footer", "headerl", "headerr", "headerf",
		"footerl", "footerr", "footerf", "themedata", "datastore", "object", "listtable", "listoverridetable",
		"fldinst", "xmlnstbl":
		r.flush()
		r.state.skip = true
	}
}

// codePage returns the name of a code page of Windows.
func codePage(n int) string {
	switch n {
	case 932:
		return "shift_jis"
	case 936:
		return "gb18030"
	case 949:
		return "euc-kr"
	case 950:
		return "big5"
	}
	return "windows-" + strconv.Itoa(n)
}
