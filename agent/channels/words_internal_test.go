package channels

import "testing"

func TestSentencesEndAsTheirLanguageHasIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"it broke": {"it broke.", "it broke。"}, "出错": {"出错.", "出错。"}, "why?": {"why?", "why?"}, "糟糕！": {"糟糕！", "糟糕！"}, "a…": {"a….", "a…。"},
	} {
		if en, zh := english().ended(text), chinese().ended(text); en != want[0] || zh != want[1] {
			t.Errorf("%q: %q and %q, want %q", text, en, zh, want)
		}
	}
}
