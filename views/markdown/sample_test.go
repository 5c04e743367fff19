package markdown_test

import (
	"fmt"
	"strings"
)

// sample is an answer of about 9 KB with everything models write.
func sample() string {
	var b strings.Builder
	p := func(s string, a ...any) { fmt.Fprintf(&b, s, a...) }
	p("# Tides and harbours\n\nHow does a **small harbour** plan its week? *Slowly*, and with a [tide table](https://example.org/tides) [citation:Tide basics](https://www.example.com/basics). See `harbour.plan()` and the note[^1].\n\n")
	p("1. first the **pilot** reads the table;\n   - high water decides everything;\n   - low water decides the rest;\n2. then the _master_ writes the plan:\n\n   ```go\n   func plan() error {\n\n   \treturn nil\n   }\n   ```\n\n3. last, ~~nobody~~ everybody waits.\n\n- [ ] order ropes\n- [x] pay fees\n\n")
	p("## Code\n\n```go\n")
	for i := range 6 {
		p("// Berth%d holds one ship.\ntype Berth%d struct {\n\tname string // of the ship\n\tdraft float64\n}\n\n", i, i)
	}
	p("```\nText right after the code.\n\n~~~python\ndef tide(hour):\n    return 3.1 * sin(hour)  # metres\n~~~\n\n")
	p("| Harbour | Depth | Open |\n|:---|---:|:---:|\n")
	for i := range 12 {
		p("| Port %d with `code` | %d.5 m | **yes** |\n", i, i)
	}
	p("\n> A quote with **bold**\n> on two lines.\n>\n> - and a list\n\n---\n\n")
	for i := range 5 {
		p("### Part %d\n\nThe price is $%d and the sum $a_%d + b$ stays as it is. Two * three * four, snake_case_name and 2 < 3 > 1. Visit https://example.org/%d now, or <https://example.net>.\n\n", i, i, i, i)
	}
	p("Reference [one] and <b>bold html</b><br>next.\n\n<div>\nblock <script>alert(1)</script>\n</div>\n\nDone.\n\n[one]: https://example.com/one\n[^1]: The note, with `code`.\n")
	return b.String()
}
