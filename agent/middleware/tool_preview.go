package middleware

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"fawn/agent"
)

const (
	maxListedNames = 15
	maxNotable     = 5
	maxLineShown   = 160
	maxParsed      = 4 << 20 // bytes of a result that are read as JSON
)

// preview describes a result moved to a file, and shows both its ends.
func preview(tool, at, text string, head, tail int) string {
	chars, lines := utf8.RuneCountInString(text), strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		lines++
	}
	s := shapeOf(text)
	var b strings.Builder
	fmt.Fprintf(&b, "[The output of %s is too long to show: %d characters, about %d tokens. All of it is in %s]\n",
		fileName(tool), chars, chars/4, at)
	fmt.Fprintf(&b, "Kind: %s\nSummary: %d lines, the longest with %d characters\n", s.kind, lines, s.longest)
	list(&b, "Structure:", s.structure)
	if s.notableLines > len(s.notable) {
		s.notable = append(s.notable, fmt.Sprintf("and %d more lines like these", s.notableLines-len(s.notable)))
	}
	list(&b, "Notable:", s.notable)
	bothEnds(&b, at, text, head, tail)
	return b.String()
}

// wholePreview describes a result that lacks its middle, which a file has.
func wholePreview(tool string, w *agent.Whole, text string, head, tail int) string {
	text = strings.Replace(text, w.Note()+"\n", "", 1)
	text = strings.TrimSuffix(text, "\n"+w.Note())
	var b strings.Builder
	fmt.Fprintf(&b, "[The output of %s is too long to show: %d bytes, about %d tokens, in %d lines.]\n%s\n",
		fileName(tool), w.Bytes, w.Bytes/4, w.Lines, w.Note())
	kind, structure := kindOf(firstLines(text, len(text)/3)) // the middle is missing after it
	fmt.Fprintf(&b, "Kind: %s\n", kind)
	list(&b, "Structure:", structure)
	bothEnds(&b, w.Path, text, head, tail)
	return b.String()
}

func bothEnds(b *strings.Builder, at, text string, head, tail int) {
	start, end := firstLines(text, head), lastLines(text, tail)
	if start != "" {
		fmt.Fprintf(b, "\n--- start ---\n%s\n", strings.TrimSuffix(start, "\n"))
	}
	if end != "" {
		fmt.Fprintf(b, "--- end ---\n%s\n", strings.TrimSuffix(end, "\n"))
	}
	fmt.Fprintf(b, "\nThe rest was left out. Read what you need with read_file, path %s, with start_line and end_line; grep with this path finds single lines.", at)
}

func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	b.WriteString(title + "\n")
	for _, item := range items {
		b.WriteString("- " + item + "\n")
	}
}

// shape is a text's structure at a glance.
type shape struct {
	kind         string
	longest      int // characters of the longest line
	structure    []string
	notable      []string
	notableLines int
}

func shapeOf(text string) shape {
	var s shape
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		s.longest = max(s.longest, utf8.RuneCountInString(line))
		if notable(line) {
			if s.notableLines++; len(s.notable) < maxNotable {
				s.notable = append(s.notable, fmt.Sprintf("line %d: %s", n, oneLine(line)))
			}
		}
	}
	s.kind, s.structure = kindOf(text)
	return s
}

// notable reports whether a line mentions an error.
func notable(line string) bool {
	line = strings.ToLower(line[:min(len(line), 400)])
	for _, w := range []string{"error", "exception", "traceback", "fatal", "panic:", "failed", "warning"} {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// oneLine prepares a piece of text for a list.
func oneLine(text string) string {
	text = first(text, 4*maxLineShown)
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}),
		" ")
	if short := first(text, maxLineShown); len(short) < len(text) {
		return short + "..."
	}
	return text
}

// kindOf names a text's type and describes its structure.
func kindOf(text string) (kind string, structure []string) {
	top := text[:min(len(text), 8<<10)]
	if strings.IndexByte(top, 0) >= 0 || strings.Count(strings.ToValidUTF8(top, "\uFFFD"), "\uFFFD") > len(top)/10 {
		return "binary", nil
	}
	trimmed := strings.TrimSpace(text)
	lower := strings.ToLower(strings.TrimSpace(top))
	lines := strings.SplitN(text, "\n", 60)
	if len(lines) == 60 {
		lines = lines[:59]
	}
	switch {
	case len(trimmed) <= maxParsed && strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)):
		return "json", []string{"object " + keys([]byte(trimmed))}
	case len(trimmed) <= maxParsed && strings.HasPrefix(trimmed, "[") && json.Valid([]byte(trimmed)):
		return "json", array([]byte(trimmed))
	case strings.HasPrefix(trimmed, "{") && len(lines) > 1 && json.Valid([]byte(lines[0])) &&
		json.Valid([]byte(lines[1])):
		return "json lines", []string{"first record: object " + keys([]byte(lines[0]))}
	case strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "--- ") && strings.Contains(top, "\n+++ "):
		return "diff", prefixed(text, "+++ ")
	case strings.HasPrefix(lower, "<!doctype html") || strings.HasPrefix(lower, "<html"):
		return "html", nil
	case strings.HasPrefix(lower, "<?xml"):
		return "xml", nil
	}
	if columns := table(lines); columns != nil {
		return "table", []string{fmt.Sprintf("%d columns: %s", len(columns), names(columns))}
	}
	if headings, nested := outline(text); nested {
		return "markdown", headings
	}
	if dated(lines) {
		return "log", nil
	}
	return "text", nil
}

// keys lists the keys of a JSON object in order.
func keys(object []byte) string {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return ""
	}
	var all []string
	for d.More() {
		key, err := d.Token()
		var skip json.RawMessage
		if err != nil || d.Decode(&skip) != nil {
			break
		}
		all = append(all, fmt.Sprint(key))
	}
	return fmt.Sprintf("with %d keys: %s", len(all), names(all))
}

func array(raw []byte) []string {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil || len(items) == 0 {
		return []string{"empty list"}
	}
	out := []string{fmt.Sprintf("list of %d items", len(items))}
	if bytes.HasPrefix(items[0], []byte("{")) {
		out = append(out, "first item: object "+keys(items[0]))
	}
	return out
}

func names(all []string) string {
	out := make([]string, 0, maxListedNames)
	for _, n := range all[:min(len(all), maxListedNames)] {
		out = append(out, first(oneLine(n), 40))
	}
	if len(all) > maxListedNames {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// table returns the first row of a text whose lines have equal columns, or nil.
func table(lines []string) []string {
	lines = lines[:min(len(lines), 10)]
	if len(lines) < 3 {
		return nil
	}
	for _, sep := range []string{"\t", ",", ";", "|"} {
		n := strings.Count(lines[0], sep)
		same := n > 0
		for _, l := range lines[1:] {
			same = same && (strings.Count(l, sep) == n || l == "")
		}
		if same {
			return strings.Split(strings.TrimSpace(lines[0]), sep)
		}
	}
	return nil
}

// outline lists the headings of Markdown with their lines. nested reports whether there are some below others; comments
// of scripts look like headings too, but all of one level.
func outline(text string) (headings []string, nested bool) {
	n, fenced := 0, false
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		level := len(line) - len(title)
		if fenced || level == 0 || level > 6 || !strings.HasPrefix(title, " ") {
			continue
		}
		nested = nested || level > 1
		if len(headings) == maxListedNames {
			headings = append(headings, "…")
			break
		}
		headings = append(headings, fmt.Sprintf("L%d: %s", n, oneLine(title)))
	}
	return headings, nested
}

func prefixed(text, prefix string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			if len(out) == maxListedNames {
				return append(out, "…")
			}
			out = append(out, oneLine(rest))
		}
	}
	return out
}

// dated reports whether most lines begin with a time or name a level, as logs do.
func dated(lines []string) bool {
	hits := 0
	for _, l := range lines {
		l = strings.TrimLeft(l, "[(")
		digits := len(l) > 9 && l[0] >= '0' && l[0] <= '9' && (l[4] == '-' || l[4] == '/' || l[2] == ':')
		if digits || strings.Contains(l, " INFO") || strings.Contains(l, "DEBUG") || strings.Contains(l, "level=") {
			hits++
		}
	}
	return len(lines) > 3 && hits*2 > len(lines)
}
