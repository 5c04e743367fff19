package views_test

import (
	"bytes"
	"strings"
	"testing"

	"fawn/views"
)

func TestAddressesStandBelowTheBase(t *testing.T) {
	for in, want := range map[string]string{
		`<a href="/workspace">x</a>`:                              `<a href="/b/workspace">x</a>`,
		`<a class="c" href='/w' title="/w">/w</a>`:                `<a class="c" href='/b/w' title="/w">/w</a>`,
		`<form action="/ui/x"><button formaction="/ui/y">`:        `<form action="/b/ui/x"><button formaction="/b/ui/y">`,
		`<i hx-get="/ui/a" hx-post="/ui/b" hx-push-url="/w">`:     `<i hx-get="/b/ui/a" hx-post="/b/ui/b" hx-push-url="/b/w">`,
		`<i data-stream="/ui/threads/1/stream">`:                  `<i data-stream="/b/ui/threads/1/stream">`,
		`<i data-file="/mnt/user-data/a" data-cmd="/ui">`:         `<i data-file="/mnt/user-data/a" data-cmd="/ui">`,
		`<i data-text="/ui/ is a path">`:                          `<i data-text="/ui/ is a path">`,
		`<a href="https://e.example/x" src="//e.example/y" cite>`: `<a href="https://e.example/x" src="//e.example/y" cite>`,
		`<a href="#top" src="rel/x" action="?a=/b">`:              `<a href="#top" src="rel/x" action="?a=/b">`,
		`<use href="/assets/1/img/sprite.svg#x"/>`:                `<use href="/b/assets/1/img/sprite.svg#x"/>`,
		`<input value="/ui/a" name="href">`:                       `<input value="/ui/a" name="href">`,
		`<p title="a > b" id="x"> href="/w" <b>`:                  `<p title="a > b" id="x"> href="/w" <b>`,
		`<!-- <a href="/w"> --><a href = "/w">`:                   `<!-- <a href="/w"> --><a href = "/b/w">`,
		`a < b href="/w"`:                                         `a < b href="/w"`,
		`<p title=' href="/w" '>`:                                 `<p title=' href="/w" '>`,
		`<a href="/`:                                              `<a href="/`,
	} {
		if got := string(views.Below("/b", []byte(in))); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		if got := string(views.Below("", []byte(in))); got != in {
			t.Errorf("without a base %s becomes %s", in, got)
		}
	}
}

// FuzzBelow: nothing but values of attributes changes, and only by the base.
func FuzzBelow(f *testing.F) {
	f.Add(`<p class="x">a<a href="/w?a=1&amp;b=2" data-x='/ui/y'>b</a><!-- c --><img src="/z"/>`)
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(in, "/base") {
			t.Skip()
		}
		got := views.Below("/base", []byte(in))
		if string(bytes.ReplaceAll(got, []byte("/base"), nil)) != in {
			t.Fatalf("%q became %q", in, got)
		}
	})
}
