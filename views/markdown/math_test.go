package markdown_test

import (
	"strings"
	"testing"

	"fawn/views/markdown"
)

const box = ` aria-label="Formula" class="tex" role="group" tabindex="0">`

func TestFormulas(t *testing.T) {
	line := func(tex string) string { return `<math alttext="` + tex + `"><mi>` + tex + `</mi></math>` }
	wide := func(tag, tex string) string {
		return `<` + tag + box + `<math alttext="` + tex + `" display="block"><mi>` + tex + `</mi></math></` + tag + `>`
	}
	for name, c := range map[string]struct{ src, want string }{
		"dollars":                      {"so $x$.", "<p>so " + line("x") + ".</p>"},
		"brackets":                     {`so \(x\).`, "<p>so " + line("x") + ".</p>"},
		"two dollars":                  {"$$x$$", wide("div", "x")},
		"square brackets":              {`\[x\]`, wide("div", "x")},
		"over lines":                   {"so\n$$\nx\n$$\nthen", "<p>so</p>" + wide("div", "x") + "<p>then</p>"},
		"brackets over lines":          {"\\[\nx\n\\]", wide("div", "x")},
		"display in a line":            {"so $$x$$ then", "<p>so " + wide("span", "x") + " then</p>"},
		"in a list":                    {"- a\n  $$\n  x\n  $$\n- $y$", "<ul dir=\"auto\"><li>a" + wide("div", "x") + "</li><li>" + line("y") + "</li></ul>"},
		"in a quote":                   {"> $$\n> x\n> $$", "<blockquote dir=\"auto\">" + wide("div", "x") + "</blockquote>"},
		"lines that look like a list":  {"$$\nx\n+ 1\n$$", `<div` + box + "<math alttext=\"x\n+ 1\" display=\"block\"><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow></math></div>"},
		"marks inside":                 {`$a_1*b_2*c$`, `<p><math alttext="a_1*b_2*c"><mrow><msub><mi>a</mi><mn>1</mn></msub><mo>∗</mo><msub><mi>b</mi><mn>2</mn></msub><mo>∗</mo><mi>c</mi></mrow></math></p>`},
		"code stays":                   {"`$x$`", "<p><code>$x$</code></p>"},
		"escaped":                      {`\$x\$`, "<p>$x$</p>"},
		"money":                        {"it was $5, now it is $6.", "<p>it was $5, now it is $6.</p>"},
		"money and words":              {"$5 million and 6$", "<p>$5 million and 6$</p>"},
		"names":                        {"set $HOME before $PATH", "<p>set $HOME before $PATH</p>"},
		"not tight":                    {"a $ b $ c", "<p>a $ b $ c</p>"},
		"what TeX does not understand": {`$\nosuch{x}$`, `<p><code>\nosuch{x}</code></p>`},
		"never closed":                 {"$$\nx\n\ny", "<p>$$\nx</p><p>y</p>"},
		"markup inside":                {`$<b onclick=x>$`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := markdown.Render(c.src, opts)
			if c.want == "" {
				if strings.Contains(got, "<b") {
					t.Error(got)
				}
			} else if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// maths is an answer full of formulas.
const maths = "The *area* is $\\pi r^2$ for $5, and \\(a_1 + b_1\\) **so**:\n\n$$\n\\begin{aligned}\na &= b \\\\\n  &= c_1\n+ d\n\\end{aligned}\n$$\n\n" +
	"1. first \\[x^2\\]\n2. then\n   $$y_1$$\n   and $z$.\n\n| a | b |\n|---|---|\n| $x_1$ | *y* |\n\nText $$\\frac{1}{2}$$ in $a*b*c$ a line.\n\n\\[\n\\sum_{i=1}^n i\n\\]\n\nAt last `$code$` and $\\alpha$."

func TestFormulasStreamWithoutRawMarks(t *testing.T) {
	d, page := markdown.NewDiffer(opts), newDOM()
	for i := range len(maths) {
		page.apply(t, d.Patch(maths[:i+1], false))
		words := visibleText(t, page.html())
		for _, raw := range []string{`\`, "$$", "begin", "frac", "_1", "^", "$c", "$\\", "$x", "$z"} {
			if strings.Contains(words, raw) {
				t.Fatalf("after %q: %q is visible in %q", maths[:i+1], raw, words)
			}
		}
	}
	page.apply(t, d.Patch(maths, true))
	if got, want := page.html(), markdown.Render(maths, opts); got != want {
		t.Fatalf("\n got %s\nwant %s", got, want)
	}
	if n := strings.Count(page.html(), "<math"); n != 11 {
		t.Errorf("%d formulas", n)
	}
}

func TestFormulasStreamInAnyCuts(t *testing.T) {
	for step := 1; step < 40; step++ {
		var cuts []int
		for i := step; i < len(maths); i += step {
			cuts = append(cuts, i)
		}
		play(t, maths, cuts, true)
	}
}

func TestManyFormulasAreBounded(t *testing.T) {
	src := strings.Repeat("so $x_1$ is\n\n", 2000)
	if n := strings.Count(markdown.Render(src, opts), "<math"); n == 0 || n > 400 {
		t.Fatalf("%d formulas", n)
	}
}
