// Package i18n is the catalogue of every sentence the pages show. Texts for models and programs are not
// translated and not here.
//
// Each language has three text files of "key = sentence" lines with fmt verbs: for the
// conversation, for the pages around it, and for accounts. They are read on first use.
package i18n

import (
	"context"
	"embed"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/a-h/templ"
)

//go:embed *.txt
var files embed.FS

// English is the default language.
const English = "en"

// Languages lists the codes there are catalogues for.
func Languages() []string { return []string{English, "zh-CN"} }

// Known reports whether there is a catalogue for code.
func Known(code string) bool { return code == English || code == "zh-CN" }

// Match picks the best language for an Accept-Language header, English when
// nothing fits.
func Match(accept string) string {
	for part := range strings.SplitSeq(accept, ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		switch base, _, _ := strings.Cut(strings.ToLower(tag), "-"); base {
		case "en":
			return English
		case "zh":
			return "zh-CN"
		}
	}
	return English
}

// T returns the text for key in lang, formatted with args as fmt.Sprintf does. An unknown language uses English; an
// unknown key returns the key, so that a missing text is visible and nothing breaks.
func T(lang, key string, args ...any) string {
	s, ok := catalogue(lang)[key]
	if !ok {
		if s, ok = catalogue(English)[key]; !ok {
			return key
		}
	}
	if len(args) == 0 {
		return s
	}
	return fmt.Sprintf(s, args...)
}

// Count is T with a number: it uses key.one for one thing in languages with a singular, key.other otherwise. The number
// is the first argument.
func Count(lang, key string, n int, args ...any) string {
	all := append([]any{n}, args...)
	if n == 1 {
		if _, ok := catalogue(lang)[key+".one"]; ok {
			return T(lang, key+".one", all...)
		}
	}
	return T(lang, key+".other", all...)
}

// Keys lists all keys of a language; for tests.
func Keys(lang string) map[string]string { return catalogue(lang) }

func catalogue(lang string) map[string]string {
	if lang == "zh-CN" {
		return chinese()
	}
	return english()
}

var (
	english = sync.OnceValue(func() map[string]string { return load(English) })
	chinese = sync.OnceValue(func() map[string]string { return load("zh-CN") })
)

// load reads all sentences of a language.
func load(lang string) map[string]string {
	m := make(map[string]string, 512)
	for _, name := range []string{lang + ".txt", lang + ".pages.txt", lang + ".account.txt", lang + ".channels.txt"} {
		b, err := files.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(string(b), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			if k, v, ok := strings.Cut(line, "="); ok {
				m[strings.TrimSpace(k)] = strings.TrimSpace(v)
			}
		}
	}
	return m
}

type langKey struct{}

// With puts a language into the context components are rendered with.
func With(ctx context.Context, lang string) context.Context {
	return context.WithValue(ctx, langKey{}, lang)
}

// Lang returns the language of the context, English when none was set.
func Lang(ctx context.Context) string {
	if l, ok := ctx.Value(langKey{}).(string); ok && l != "" {
		return l
	}
	return English
}

// C is T in the language of the context.
func C(ctx context.Context, key string, args ...any) string { return T(Lang(ctx), key, args...) }

// N is Count in the language of the context.
func N(ctx context.Context, key string, n int, args ...any) string {
	return Count(Lang(ctx), key, n, args...)
}

// In renders a component in a language. Pages do it themselves; handlers that
// answer with a fragment wrap it in In.
func In(lang string, c templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return c.Render(With(ctx, lang), w)
	})
}
