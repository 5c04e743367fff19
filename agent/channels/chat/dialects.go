package chat

import "strings"

// entitiesText returns Telegram's format: plain text with a list of formatted ranges.
func entitiesText() *dialect {
	return &dialect{escape: same, verbatim: same, entities: true, bullet: "• "}
}

// slackText returns mrkdwn. Only & < > can be escaped in it, which is enough to prevent mentions.
func slackText() *dialect {
	esc := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	code := func(s string) string { return unfenced(esc(s)) }
	return &dialect{escape: esc, verbatim: code, bold: "*", italic: "_", strike: "~", bullet: "• ", border: true,
		link: func(label, address string) string {
			address = strings.ReplaceAll(address, "&", "&amp;")
			if label == address {
				return "<" + address + ">"
			}
			return "<" + address + "|" + esc(strings.ReplaceAll(label, "|", "¦")) + ">"
		}}
}

// discordText returns the dialect of Discord's Markdown.
func discordText() *dialect {
	esc := backslash("\\*_~`|<[]")
	return &dialect{escape: esc, verbatim: unfenced, lineStart: "#>-+", bold: "**", italic: "*", strike: "~~",
		bullet: "- ", languages: true, link: markdownLink(esc)}
}

// feishuText returns the Markdown of cards. Special characters are written as references, <at> among them.
func feishuText() *dialect {
	esc := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "&#42;", "_", "&#95;", "~", "&#126;",
		"`", "&#96;", "[", "&#91;", "]", "&#93;", "#", "&#35;").Replace
	code := strings.NewReplacer("```", "`\u200b`\u200b`", "<at", "<\u200bat").Replace
	return &dialect{escape: esc, verbatim: code, bold: "**", italic: "*", strike: "~~", bullet: "- ", languages: true,
		link: markdownLink(esc)}
}

// simpleText returns the Markdown that all clients of DingTalk and WeCom display.
func simpleText() *dialect {
	esc := backslash("\\*_`<[]")
	return &dialect{escape: esc, verbatim: unfenced, lineStart: "#>-+", bold: "**", italic: "*", bullet: "- ",
		languages: true, link: markdownLink(esc)}
}

// plainText returns a dialect without marks.
func plainText() *dialect {
	return &dialect{escape: same, verbatim: same, bullet: "• ", link: func(label, address string) string {
		if label == address {
			return address
		}
		return label + " (" + address + ")"
	}}
}

func same(s string) string { return s }

// backslash escapes the characters of set.
func backslash(set string) func(string) string {
	return func(s string) string {
		if !strings.ContainsAny(s, set) {
			return s
		}
		var b strings.Builder
		for _, r := range s {
			if strings.ContainsRune(set, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		return b.String()
	}
}

// unfenced keeps code from ending its block.
func unfenced(s string) string { return strings.ReplaceAll(s, "```", "`\u200b`\u200b`") }

func markdownLink(esc func(string) string) func(label, address string) string {
	clean := strings.NewReplacer("(", "%28", ")", "%29", "\\", "%5C")
	return func(label, address string) string {
		if label == address {
			return address
		}
		return "[" + esc(label) + "](" + clean.Replace(address) + ")"
	}
}

// count returns an upper bound for the rendered size of text: a message's capacity must be known while the text is split,
// at each of its lengths.
func (d *dialect) count(size func(rune) int) func(string) int {
	return func(text string) int {
		n := 0
		for _, r := range text {
			n += size(r)
			switch {
			case d.entities:
			case strings.ContainsRune("*_~", r) && d.border:
				n++
			default:
				if e := d.escape(string(r)); len(e) > 1 {
					n += len(e) - len(string(r))
				}
			}
		}
		return n
	}
}

func utf16Size(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}
