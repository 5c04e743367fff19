package mathml_test

import (
	"errors"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/views/mathml"
)

func TestFormulasBecomeMathML(t *testing.T) {
	for _, c := range []struct {
		tex     string
		display bool
		want    string
	}{
		{`\frac{a}{b}`, false, `<math alttext="\frac{a}{b}"><mfrac><mi>a</mi><mi>b</mi></mfrac></math>`},
		{`x^2`, true, `<math alttext="x^2" display="block"><msup><mi>x</mi><mn>2</mn></msup></math>`},
		{`\textcolor{#00f}{y}`, false, `mathcolor="#00f"`},
		{`\boxed{x}`, false, `class="boxed"`},
		{`\cancel{x}`, false, `<mrow class="struck"><mi>x</mi>`},
		{`\begin{aligned}a&=b\\&=c\end{aligned}`, true, `<mtd class="nl nr r"><mi>a</mi></mtd><mtd class="l nl nr">`},
		{`a<b`, false, `<mo>&lt;</mo>`},
	} {
		got, err := mathml.Render(c.tex, c.display)
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v\n got %s\nwant %s", c.tex, err, got, c.want)
		}
		if again, _ := mathml.Render(c.tex, c.display); again != got {
			t.Errorf("%s: the second time %s", c.tex, again)
		}
	}
}

func TestWhatPeopleWriteIsUnderstood(t *testing.T) {
	for _, tex := range []string{
		`E = mc^2`, `\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}`, `\sum_{i=1}^{n} i = \frac{n(n+1)}{2}`,
		`\begin{pmatrix}1 & 2\\3 & 4\end{pmatrix}`, `f(x)=\begin{cases}1 & x>0\\0 & \text{otherwise}\end{cases}`,
		`\lim_{x\to 0}\frac{\sin x}{x}=1`, `\mathbb{R}^n \to \mathcal{L}`, `\hat{\beta} = (X^\top X)^{-1}X^\top y`,
		`\left(\frac{a}{b}\right)^{2}`, `\nabla \cdot \vec{E} = \frac{\rho}{\varepsilon_0}`,
		`\operatorname*{arg\,max}_\theta L(\theta)`, `P(A \mid B) = \frac{P(B \mid A)\,P(A)}{P(B)}`,
		`a \equiv b \pmod{n}`, `\underbrace{x+y}_{n}`, `E=mc^2 \tag{1}`, `\begin{align} a &= b + c \\ &= d \end{align}`,
		`\overline{AB} \perp \overrightarrow{CD}`, `\binom{n}{k}`, `中文 = x`,
	} {
		if _, err := mathml.Render(tex, true); err != nil {
			t.Errorf("%s: %v", tex, err)
		}
	}
}

func TestHostileFormulasAreRefusedOrInert(t *testing.T) {
	for _, tex := range []string{
		`\def\a{xx}\a`, `\gdef\a{}`, `\newcommand{\a}{b}`, `\let\a=b`, `\begingroup\expandafter\a`,
		strings.Repeat("{", 400) + "x" + strings.Repeat("}", 400),
		strings.Repeat(`\left(`, 300) + "x" + strings.Repeat(`\right)`, 300),
		strings.Repeat("x", mathml.MaxSource+1),
	} {
		if out, err := mathml.Render(tex, false); !errors.Is(err, mathml.ErrRefused) {
			t.Errorf("%.40s: %v %.200s", tex, err, out)
		}
	}
	for _, tex := range []string{`\frac{`, `\nosuchcommand`, `}`, `&`, `\begin{nothing}x\end{nothing}`} {
		if out, err := mathml.Render(tex, false); err == nil {
			t.Errorf("%s: no error but %s", tex, out)
		}
	}
	for _, tex := range []string{
		`\href{javascript:alert(1)}{x}`, `\url{https://example.org}`, `\includegraphics{https://example.org/x.png}`,
		`\style{color:red}{x}`, `\class{btn}{x}`, `\id{q}{x}`, `\text{<img src=x onerror=alert(1)>}`,
		`\hspace{-500em}x`, `\rule{9999em}{9999em}`, `\raisebox{90000em}{x}`, `\colorbox{red}{x}`, `{\Huge x}`,
		`\htmlData{a=b}{x}`, `x" onclick="alert(1)`, `</math><script>alert(1)</script>`, `\char"3C`,
	} {
		out, err := mathml.Render(tex, false)
		if err != nil {
			continue
		}
		markup := strings.ReplaceAll(out, `alttext="`+attr(tex)+`"`, "")
		for _, bad := range []string{"<a", "<img", "<script", ` style="`, ` href="`, ` src="`, ` onclick="`, "500em",
			"9999", "90000", ` id="`, `btn"`} {
			if strings.Contains(markup, bad) {
				t.Errorf("%s: %q in %s", tex, bad, out)
			}
		}
	}
}

func attr(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&#34;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func TestLongFormulasAreTranslated(t *testing.T) {
	long := strings.Repeat(`x_{1}+\frac{a}{b}-`, mathml.MaxSource/19) + "1"
	must.Get(mathml.Render(long, true))(t)
}

func BenchmarkLong(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		_, _ = mathml.Render(strings.Repeat(`x_{1}+\frac{a}{b}-`, mathml.MaxSource/19)+strings.Repeat("a", i%40), true)
	}
}

func BenchmarkRender(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		_, _ = mathml.Render(`\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2} + `+strings.Repeat("x", i%50)+
			string(rune('a'+i/50%26)), true)
	}
}
