package chattest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// Elements of a rich message: blocks, inline elements, and elements without an end tag.
var (
	richBlocks = strings.Fields("h1 h2 h3 h4 h5 h6 p pre ul ol li blockquote table tr hr")
	richInline = strings.Fields("b i s code a th td")
	richVoid   = strings.Fields("br hr input")
)

// checkRich finds content that the Bot API refuses in a rich message, and extracts its text.
func (f *Telegram) checkRich(method string, c *telegramCall, fault Fault) string {
	switch {
	case method != "editMessageText" || c.Text != "" || len(c.Entities) > 0:
		f.state.errorf("%s with a rich message and a text", method)
		return "message text must be empty"
	case fault.Kind == Unformatted:
		return "can't parse rich message: unsupported tag"
	case !c.Rich.Skip:
		f.state.errorf("a rich message that may address people")
	}
	var text strings.Builder
	var open []string
	blocks, cells := 0, 0
	for z := html.NewTokenizer(strings.NewReader(c.Rich.HTML)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		tok := z.Token()
		name := tok.Data
		switch kind {
		case html.TextToken:
			text.WriteString(tok.Data)
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != name {
				f.state.errorf("a rich message with an end of %s: %s", name, c.Rich.HTML)
				return "can't parse rich message: unexpected end tag"
			}
			open = open[:len(open)-1]
		default:
			if !slices.Contains(slices.Concat(richBlocks, richInline, richVoid), name) {
				f.state.errorf("a rich message with %s: %s", name, c.Rich.HTML)
				return "can't parse rich message: unsupported tag " + name
			}
			for _, a := range tok.Attr {
				if a.Key == "href" && !strings.HasPrefix(a.Val, "http") && !strings.HasPrefix(a.Val, "mailto:") {
					f.state.errorf("a link to %q", a.Val)
				}
			}
			switch {
			case name == "br":
				text.WriteString("\n")
			case name == "tr":
				cells = 0
			case name == "td" || name == "th":
				cells++
				text.WriteString("\t")
			}
			if slices.Contains(richBlocks, name) {
				blocks++
				text.WriteString("\n")
			}
			if !slices.Contains(richVoid, name) {
				open = append(open, name)
			}
			if len(open) > 16 || blocks > 500 || cells > 20 {
				f.state.errorf("a rich message of %d levels, %d blocks, %d columns", len(open), blocks, cells)
				return "rich message is too complex"
			}
		}
	}
	if c.Text = strings.TrimSpace(text.String()); len(open) > 0 || c.Text == "" {
		return "can't parse rich message"
	}
	if utf8.RuneCountInString(c.Text) > 32768 {
		f.state.errorf("a rich message of %d characters", utf8.RuneCountInString(c.Text))
		return "message is too long"
	}
	return ""
}
