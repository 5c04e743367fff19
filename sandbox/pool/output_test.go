package pool_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/pool"
)

func TestOutputKeepsBeginningAndEnd(t *testing.T) {
	for name, c := range map[string]struct {
		chars     int
		in        []string
		want      string
		truncated bool
	}{
		"nothing":                {10, nil, "", false},
		"fits":                   {10, []string{"01234", "56789"}, "0123456789", false},
		"one too many":           {10, []string{"0123456789a"}, "01234\n... [middle truncated: 1 chars skipped] ...\n6789a", true},
		"in single bytes":        {4, strings.Split("abcdefgh", ""), "ab\n... [middle truncated: 4 chars skipped] ...\ngh", true},
		"odd":                    {5, []string{"abcdefgh"}, "ab\n... [middle truncated: 3 chars skipped] ...\nfgh", true},
		"wide characters":        {4, []string{"äöüßéèê"}, "äö\n... [middle truncated: 3 chars skipped] ...\nèê", true},
		"wide characters fit":    {7, []string{"äöüßéèê"}, "äöüßéèê", false},
		"cut in a character":     {4, []string{"ab\xe6", "\x97", "\xa5cd"}, "ab\n... [middle truncated: 1 chars skipped] ...\ncd", true},
		"cut in the last head":   {2, []string{"\xe6", "\x97\xa5", "b"}, "日b", false},
		"no text":                {10, []string{"a\xff\xfeb"}, "a\ufffd\ufffdb", false},
		"longest characters":     {4, []string{"😀😁😂😃"}, "😀😁😂😃", false},
		"all":                    {0, []string{strings.Repeat("x", 30000)}, strings.Repeat("x", 30000), false},
		"as large as the window": {2, []string{"a", "bcdefgh", "i"}, "a\n... [middle truncated: 7 chars skipped] ...\ni", true},
	} {
		t.Run(name, func(t *testing.T) {
			var pieces [][]byte
			for _, p := range c.in {
				pieces = append(pieces, []byte(p))
			}
			got, truncated := pool.Keep(c.chars, pieces...)
			if string(got) != c.want || truncated != c.truncated {
				t.Errorf("%q, %v; want %q", got, truncated, c.want)
			}
		})
	}
}

func FuzzOutputKeepsBeginningAndEnd(f *testing.F) {
	f.Add([]byte("hello wörld, 日本語"), 6, 3)
	f.Add([]byte("a\xff\xfe\xe6\x97"), 2, 1)
	f.Fuzz(func(t *testing.T, in []byte, chars, piece int) {
		chars, piece = 1+abs(chars)%50, 1+abs(piece)%20
		var pieces [][]byte
		for rest := in; len(rest) > 0; {
			n := min(piece, len(rest))
			pieces = append(pieces, bytes.Clone(rest[:n]))
			rest = rest[n:]
		}
		got, truncated := pool.Keep(chars, pieces...)
		whole, wholeTruncated := pool.Keep(chars, in)
		if !bytes.Equal(got, whole) || truncated != wholeTruncated {
			t.Fatalf("in pieces of %d: %q, at once %q", piece, got, whole)
		}
		if !utf8.Valid(got) {
			t.Fatalf("not valid: %q", got)
		}
		if !utf8.Valid(in) {
			return
		}
		n := utf8.RuneCount(in)
		want := string(in)
		if n > chars {
			runes := []rune(want)
			want = fmt.Sprintf("%s\n... [middle truncated: %d chars skipped] ...\n%s", string(runes[:chars/2]), n-chars,
				string(runes[n-(chars-chars/2):]))
		}
		if string(got) != want || truncated != (n > chars) {
			t.Fatalf("%q of %q, want %q", got, in, want)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func TestSecretsAreMaskedWhereverTheyAreCut(t *testing.T) {
	secrets := map[string]string{"A": "secret-one", "B": "secret", "SHORT": "abc", "TWICE": "aabaab"}
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"whole":            {[]string{"x secret-one y"}, "x **** y"},
		"cut":              {[]string{"x sec", "ret-", "one y"}, "x **** y"},
		"shorter one":      {[]string{"secret-two"}, "****-two"},
		"shorter, cut":     {[]string{"secret-", "two"}, "****-two"},
		"start only":       {[]string{"x secre"}, "x secre"},
		"short values":     {[]string{"abcabc"}, "abcabc"},
		"overlapping self": {[]string{"aabaabaab"}, "****aab"},
		"false start":      {[]string{"aabaaabaab"}, "aaba****"},
	} {
		var pieces [][]byte
		for _, p := range c.in {
			pieces = append(pieces, []byte(p))
		}
		if got := pool.Mask(secrets, pieces...); string(got) != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestOutputsAreShownAsOne in the order of arrival, without half characters, and without a
// secret that one begins and the other ends.
func TestOutputsAreShownAsOne(t *testing.T) {
	secrets := map[string]string{"A": "s3cret-value"}
	for name, c := range map[string]struct {
		in               []string
		shown, out, errs string
	}{
		"nothing":                {[]string{"0", "1"}, "", "", ""},
		"in turn":                {[]string{"0a", "1b", "0c", "0", "1"}, "abc", "ac", "b"},
		"a cut character":        {[]string{"0\xe6\x97", "1x", "0\xa5", "0", "1"}, "x日", "日", "x"},
		"cut for good":           {[]string{"0\xe6\x97", "1x", "1", "0"}, "x\ufffd\ufffd", "\ufffd\ufffd", "x"},
		"a secret":               {[]string{"0s3cret-", "1x", "0value", "0", "1"}, "x****", "****", "x"},
		"a secret of two":        {[]string{"0s3cret-", "0", "1value", "1"}, "****", "s3cret-", "value"},
		"the start of a secret":  {[]string{"0s3cret-", "0", "1vale", "1"}, "s3cret-vale", "s3cret-", "vale"},
		"the end is the first's": {[]string{"1s3cret-", "1", "0value", "0"}, "****", "value", "s3cret-"},
	} {
		t.Run(name, func(t *testing.T) {
			shown, out, errs := pool.Merge(secrets, c.in...)
			if shown != c.shown || out != c.out || errs != c.errs {
				t.Errorf("shown %q, kept %q and %q", shown, out, errs)
			}
		})
	}
}

func FuzzSecretsAreMasked(f *testing.F) {
	f.Add([]byte("the password1 is password"), "password", "password1", 3)
	f.Fuzz(func(t *testing.T, in []byte, a, b string, piece int) {
		piece = 1 + abs(piece)%10
		secrets := map[string]string{"A": a, "B": b}
		whole := pool.Mask(secrets, bytes.Clone(in))
		var pieces [][]byte
		for rest := in; len(rest) > 0; {
			n := min(piece, len(rest))
			pieces = append(pieces, bytes.Clone(rest[:n]))
			rest = rest[n:]
		}
		if got := pool.Mask(secrets, pieces...); !bytes.Equal(got, whole) {
			t.Fatalf("in pieces of %d: %q, at once %q", piece, got, whole)
		}
		for _, s := range secrets {
			if len(s) >= 4 && !strings.Contains(s, "*") && bytes.Contains(whole, []byte(s)) &&
				!strings.Contains("****", s) && !spansMask(whole, s) {
				t.Fatalf("%q is visible in %q", s, whole)
			}
		}
	})
}

// spansMask says that a secret only appears because of what masks left.
func spansMask(out []byte, secret string) bool {
	for _, part := range bytes.Split(out, []byte("****")) {
		if bytes.Contains(part, []byte(secret)) {
			return false
		}
	}
	return true
}

func FuzzPathsTranslateBack(f *testing.F) {
	f.Add("cat /mnt/user-data/workspace/a /mnt/skills/x")
	f.Add("//mnt/user-data /mnt/user-data-2 x/mnt/skills")
	f.Fuzz(func(t *testing.T, text string) {
		m := pool.NewTranslator(map[string]string{files.UserData: "/srv/fawn/threads/a/user-data",
			files.Skills: "/srv/skills"})
		if strings.Contains(text, "/srv/") {
			return
		}
		in := m.In(text)
		if back := m.Out(in); back != text {
			t.Fatalf("%q became %q and then %q", text, in, back)
		}
	})
}

func FuzzVariablesAreChecked(f *testing.F) {
	for _, name := range []string{"PATH", "LD_PRELOAD", "A=B", "", "a\x00", "BASH_FUNC_x%%"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if sandbox.ValidVariable(name) != nil {
			return
		}
		if name == "" || strings.ContainsAny(name, "=%\x00 \n()") || strings.HasPrefix(name, "LD_") ||
			name[0] >= '0' && name[0] <= '9' {
			t.Fatalf("%q is allowed", name)
		}
	})
}
