package views_test

import (
	"testing"

	"fawn/views"
)

// TestTitlesLoseTheMarksOfModels and nothing else.
func TestTitlesLoseTheMarksOfModels(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"**Heat pumps** against gas": "Heat pumps against gas", "# A plan": "A plan", "`grep` in depth": "grep in depth",
		"*Very* good": "Very good", "_Very_ good": "Very good", "my_file_name": "my_file_name", "_private": "_private",
		"_foo_bar": "_foo_bar", "_x_.py": "_x_.py", "See [the docs](https://x.org/a)": "See the docs", "**关于**热泵": "关于热泵",
		"2*3*4": "2*3*4", "snake_case_names": "snake_case_names", "__init__.py": "__init__.py", "C# tips": "C# tips",
		"#5 of 10": "#5 of 10", "a * b * c": "a * b * c", "[x] done": "[x] done", "**open": "**open", "": "",
	} {
		if got := views.Unmarked(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}
