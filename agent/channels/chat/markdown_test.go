package chat

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
)

func dialects() map[string]*dialect {
	return map[string]*dialect{"entities": entitiesText(), "slack": slackText(), "discord": discordText(),
		"feishu": feishuText(), "simple": simpleText(), "plain": plainText()}
}

func TestEachPlatformGetsItsMarks(t *testing.T) {
	for _, c := range []struct{ name, dialect, in, want string }{
		{"Bold", "slack", "a **b** c", "a *b* c"},
		{"BoldInWords", "slack", "这是**重点**内容", "这是\u200b*重点*\u200b内容"},
		{"NestedMarks", "discord", "**a *b* c**", "**a *b* c**"},
		{"Strike", "slack", "~~x~~", "~x~"},
		{"Heading", "slack", "# Title\ntext", "*Title*\n\ntext"},
		{"BoldHeading", "discord", "## **Title**", "**Title**"},
		{"Link", "slack", "[a & b](https://e.org/?a=1&b=2)", "<https://e.org/?a=1&amp;b=2|a &amp; b>"},
		{"BareLink", "discord", "see https://e.org/a_b_c now", "see https://e.org/a_b_c now"},
		{"Image", "discord", "![cat](https://e.org/c.png)", "[cat](https://e.org/c.png)"},
		{"NoScript", "discord", "[x](javascript:alert(1))", "x"},
		{"Everyone", "slack", "hi <!channel> <@U1>", "hi &lt;!channel&gt; &lt;@U1&gt;"},
		{"UserOfDiscord", "discord", "hi <@123> *x", "hi \\<@123> \\*x"},
		{"AtOfFeishu", "feishu", "hi <at id=all></at>", "hi &lt;at id=all&gt;&lt;/at&gt;"},
		{"AtInCode", "feishu", "```\n<at id=all></at>\n```", "```\n<\u200bat id=all></at>\n```"},
		{"Code", "discord", "```go\na*b\n```", "```go\na*b\n```"},
		{"CodeOfSlack", "slack", "```go\na<b\n```", "```\na&lt;b\n```"},
		{"CodeCannotEnd", "discord", "~~~\na\n```\n@x\n~~~", "```\na\n`\u200b`\u200b`\n@x\n```"},
		{"List", "slack", "- a\n- b\n  - c\n\n1. x\n2. y", "• a\n• b\n  • c\n\n1. x\n2. y"},
		{"Tasks", "plain", "- [x] a\n- [ ] b", "• ☑ a\n• ☐ b"},
		{"Quote", "slack", "> a\n> b\n\nc", "> a\n> b\n\nc"},
		{"Escapes", "plain", "a \\* b &amp; c", "a * b & c"},
		{"HTML", "plain", "<b>x</b> and <script>", "<b>x</b> and <script>"},
		{"Table", "plain", "| a | bb |\n|--|--:|\n| 1 | 2 |", "```\na  bb\n─  ──\n1   2\n```"},
		{"WideTable", "plain", "| name | text |\n|--|--|\n| x | " + strings.Repeat("long ", 14) + "|\n",
			"• name: x\n  text: " + strings.TrimSpace(strings.Repeat("long ", 14))},
		{"StartOfLine", "discord", "\\# no\n\\> no", "\\# no\n\\> no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := dialects()[c.dialect].render(c.in); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestEntitiesOfTelegram(t *testing.T) {
	for _, c := range []struct{ name, in, text, entities string }{
		{"Units", "😀 **b😀** c", "😀 b😀 c", `[{"type":"bold","offset":3,"length":3}]`},
		{"Nested", "**a *b***", "a b", `[{"type":"bold","offset":0,"length":3},{"type":"italic","offset":2,"length":1}]`},
		{"Code", "`x` and\n\n```go\ny\n```", "x and\n\ny", `[{"type":"code","offset":0,"length":1},{"type":"pre","offset":7,"length":1,"language":"go"}]`},
		{"CodeInBold", "**a `b`**", "a b", `[{"type":"bold","offset":0,"length":3}]`},
		{"Link", "[a](https://e.org)", "a", `[{"type":"text_link","offset":0,"length":1,"url":"https://e.org"}]`},
		{"Quote", "> a **b**\n\nc", "a b\n\nc", `[{"type":"blockquote","offset":0,"length":3},{"type":"bold","offset":2,"length":1}]`},
		{"QuoteWithLink", "> [a](https://e.org)", "│ a", `[{"type":"text_link","offset":2,"length":1,"url":"https://e.org"}]`},
		{"Nothing", "```\n\n```", "", `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, entities := entitiesText().render(c.in)
			got, _ := json.Marshal(entities)
			if len(entities) == 0 {
				got = []byte("null")
			}
			if text != c.text || string(got) != c.entities {
				t.Errorf("got  %q %s\nwant %q %s", text, got, c.text, c.entities)
			}
		})
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"**a** _b_ `c`", "> - a\n>   1. b", "| a |\n|---|\n| b |", "![](https://e.org)",
		"<@1> <!here> <at id=all>", "a\n===",
		"```\n```\n~~~", "- > ```\n", "[**b**](https://e.org/(a))", "* * *\n+ x", "😀**😀**", "1. a\n\n   b",
		"<!-- x -->", "\\<@1>", "&lt;@1&gt;"} {
		f.Add(s)
	}
	address := regexp.MustCompile(`(?i)<(https?://|mailto:)[^<>|\s]+(\|[^<>|]*)?>`)
	ping := regexp.MustCompile(`(^|[^\\])(\\\\)*<[@#!]`)
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 5000 {
			return
		}
		in = strings.ToValidUTF8(in, "?")
		for name, d := range dialects() {
			text, entities := d.render(in)
			units := utf16.Encode([]rune(text))
			for _, e := range entities {
				end := e.Offset + e.Length
				if e.Offset < 0 || e.Length < 1 || end > len(units) {
					t.Fatalf("%q: %+v is not in %q", in, e, text)
				}
				for _, at := range []int{e.Offset, end} {
					if at < len(units) && units[at] >= 0xdc00 && units[at] < 0xe000 {
						t.Fatalf("%q: %+v begins or ends inside a character of %q", in, e, text)
					}
				}
			}
			switch name {
			case "slack":
				if rest := address.ReplaceAllString(text, ""); strings.ContainsAny(rest, "<") {
					t.Fatalf("%q: %q has a control sequence", in, text)
				}
			case "feishu":
				if strings.Contains(text, "<at") {
					t.Fatalf("%q: %q addresses somebody", in, text)
				}
			case "discord":
				if !strings.Contains(text, "`") && ping.MatchString(text) {
					t.Fatalf("%q: %q addresses somebody", in, text)
				}
			}
		}
	})
}
