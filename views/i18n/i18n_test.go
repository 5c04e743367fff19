package i18n_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/views/i18n"
)

func TestEveryLanguageHasEveryKey(t *testing.T) {
	en := i18n.Keys(i18n.English)
	for _, lang := range i18n.Languages() {
		have := i18n.Keys(lang)
		for k, v := range en {
			w, ok := have[k]
			if !ok {
				if !strings.HasSuffix(k, ".one") {
					t.Errorf("%s misses %s", lang, k)
				}
				continue
			}
			if verbs(v) != verbs(w) {
				t.Errorf("%s: %s has verbs %q, English has %q", lang, k, verbs(w), verbs(v))
			}
			if strings.TrimSpace(w) == "" {
				t.Errorf("%s: %s is empty", lang, k)
			}
		}
		for k := range have {
			if _, ok := en[k]; !ok {
				t.Errorf("%s has %s, English does not", lang, k)
			}
		}
	}
}

func TestNoKeyStandsTwice(t *testing.T) {
	for _, lang := range i18n.Languages() {
		names, err := filepath.Glob(lang + "*.txt")
		if err != nil || len(names) == 0 {
			t.Fatalf("catalogues of %s: %v, %v", lang, names, err)
		}
		where := map[string]string{}
		for _, name := range names {
			text := must.Get(os.ReadFile(name))(t)
			for line := range strings.Lines(string(text)) {
				key, _, ok := strings.Cut(line, " = ")
				if !ok || strings.HasPrefix(line, "#") {
					continue
				}
				if before := where[key]; before != "" {
					t.Errorf("%s: %s stands in %s, too", name, key, before)
				}
				where[key] = name
			}
		}
	}
}

// verbs tells what each argument of a sentence is printed as, in the order of the
// arguments: another language may name them in another order.
func verbs(s string) string {
	var kinds []string
	next := 0
	for _, m := range regexp.MustCompile(`%(?:\[(\d)\])?\d*([sd])`).FindAllStringSubmatch(s, -1) {
		if m[1] != "" {
			next = int(m[1][0] - '1')
		}
		for len(kinds) <= next {
			kinds = append(kinds, "")
		}
		kinds[next] = m[2]
		next++
	}
	return strings.Join(kinds, " ")
}

// sources are the components and the handlers, without generated code and tests.
func sources(t *testing.T) string {
	var b strings.Builder
	read := func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(p, "_test.go") || strings.HasSuffix(p, "_templ.go") {
			return err
		}
		if strings.HasSuffix(p, ".go") || strings.HasSuffix(p, ".templ") {
			src, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b.Write(src)
		}
		return nil
	}
	for _, root := range []string{"..", filepath.Join("..", "..", "web", "ui")} {
		must.Do(t, filepath.WalkDir(root, read))
	}
	return b.String()
}

func TestEveryKeyIsUsedAndEveryUsedKeyExists(t *testing.T) {
	src := sources(t)
	en := i18n.Keys(i18n.English)
	literals := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*\.?)"`).FindAllStringSubmatch(src, -1) {
		literals[m[1]] = true
	}
	// Keys put together at run time: a family and an ending.
	families := []string{"starter.", "step.state.", "thread.state.", "tool.", "fail.title.", "fail.advice.",
		"files.kind.", "files.document.", "changes.what.", "changes.why.", "settings.", "error.", "network.",
		"sandbox.", "ask.", "plan.", "mode.", "queue.", "undo.", "models.", "tasks.", "agents.", "skills.",
		"usage.for.", "inspect.kind.", "inspect.role.", "inspect.status.", "slash.", "grip.", "turn.", "notify.",
		"month.", "weekday.", "also.", "personal.", "memory.pick.", "memory.section.", "memory.category.", "memory.from.",
		"users.role.", "tokens.scope.", "channels.", "web.move.", "web.problem.", "groups.role.", "groups.may.", "media.",
		"access.kind.", "access.spent."}
	for k := range en {
		base := strings.TrimSuffix(strings.TrimSuffix(k, ".one"), ".other")
		used := literals[k] || literals[base] || literals[strings.TrimSuffix(k, ".text")]
		for _, f := range families {
			used = used || strings.HasPrefix(k, f)
		}
		if !used {
			t.Errorf("%s is in the catalogue and nowhere else", k)
		}
	}
	for _, m := range regexp.MustCompile(
		`(?:i18n\.C\(ctx, |i18n\.T\([a-zA-Z.]+, |w\.t\(|\bt\(|w\.note\()"([a-z0-9_.]+)"[,)]`).
		FindAllStringSubmatch(src, -1) {
		if _, ok := en[m[1]]; !ok {
			t.Errorf("%s is used and not in the catalogue", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`i18n\.(?:N\(ctx|Count\([a-z]+), "([a-z0-9_.]+)"[,)]`).
		FindAllStringSubmatch(src, -1) {
		if _, ok := en[m[1]+".other"]; !ok {
			t.Errorf("%s.other is used and not in the catalogue", m[1])
		}
	}
}

func TestFallbacksShowSomething(t *testing.T) {
	if got := i18n.T("xx", "nav.new"); got != "New chat" {
		t.Errorf("unknown language reads %q", got)
	}
	if got := i18n.T("en", "no.such.key"); got != "no.such.key" {
		t.Errorf("unknown key reads %q", got)
	}
	if got := i18n.Count("en", "turn.steps", 1); got != "1 step" {
		t.Errorf("one reads %q", got)
	}
	if got := i18n.Count("zh-CN", "turn.steps", 1); got != "1 步" {
		t.Errorf("one reads %q", got)
	}
}

func TestMatchPicksTheBrowsersLanguage(t *testing.T) {
	for accept, want := range map[string]string{"": "en", "zh-TW,zh;q=0.9": "zh-CN", "fr-FR,zh;q=0.5": "zh-CN",
		"de": "en", "en-GB,zh": "en"} {
		if got := i18n.Match(accept); got != want {
			t.Errorf("%q: got %s, want %s", accept, got, want)
		}
	}
}
