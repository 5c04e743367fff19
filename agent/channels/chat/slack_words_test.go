package chat

import "testing"

func TestSlackTextIsReadAsPeopleSeeIt(t *testing.T) {
	for _, c := range []struct {
		in, want  string
		mentioned bool
	}{
		{"a &lt;b&gt; &amp;amp;", "a <b> &amp;", false},
		{"<@U1> /new", "/new", true},
		{"hi <@U1|fawn> and <@U2>", "hi @fawn and @U2", true},
		{"<https://e.org|a page> <https://e.org> <http://e.org|e.org>", "a page (https://e.org) https://e.org http://e.org", false},
		{"<#C1|general> <!here> <!subteam^S1|@team>", "#general @here @team", false},
		{"open <b", "open <b", false},
	} {
		if got, mentioned := slackWords(c.in, "U1"); got != c.want || mentioned != c.mentioned {
			t.Errorf("%q became %q, %t", c.in, got, mentioned)
		}
	}
}

func FuzzSlackText(f *testing.F) {
	for _, s := range []string{"<@U1> x", "<a|b>", "<<>>", "&lt;", "<!", "<#|>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { slackWords(s, "U1") })
}
