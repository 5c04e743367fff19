package prompts_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent/prompts"
)

// TestFieldsAreFoundAndFilled: names and defaults are read as people write them, and values are taken as they are.
func TestFieldsAreFoundAndFilled(t *testing.T) {
	for _, c := range []struct {
		text, fields string
		values       map[string]string
		want         string
		missing      int
	}{
		{"plain", "", nil, "plain", 0},
		{"On {{topic}}.", "topic!", map[string]string{"topic": "bees"}, "On bees.", 0},
		{"On {{ topic }}.", "topic!", nil, "On .", 1},
		{"In {{language:English}}", "language=English", nil, "In English", 0},
		{"In {{language: }}", "language=", nil, "In ", 0},
		{"In {{language:English}}", "language=English", map[string]string{"language": ""}, "In ", 0},
		{"用{{语言：英文}}写", "语言=英文", map[string]string{"语言": "法文"}, "用法文写", 0},
		{"{{a}} {{a:x}} {{a}}", "a=x", nil, "x x x", 0},
		{"{{a}}{{b}}", "a! b!", map[string]string{"a": "{{b}}", "b": "c"}, "{{b}}c", 0},
		{"{{a:https://x.org}}", "a=https://x.org", nil, "https://x.org", 0},
		{"{{}} {{ }} {{a\nb}} {{a{b}} {{x", "", nil, "{{}} {{ }} {{a\nb}} {{a{b}} {{x", 0},
		{"{{{a}}}", "a!", map[string]string{"a": "1"}, "{1}", 0},
		{"{{" + strings.Repeat("a", 61) + "}}", "", nil, "{{" + strings.Repeat("a", 61) + "}}", 0},
	} {
		var found []string
		for _, f := range prompts.Fields(c.text) {
			end := "!"
			if !f.Required {
				end = "=" + f.Default
			}
			found = append(found, f.Name+end)
		}
		if got := strings.Join(found, " "); got != c.fields {
			t.Errorf("%q has fields %q, want %q", c.text, got, c.fields)
		}
		got, missing := prompts.Fill(c.text, c.values)
		if got != c.want || len(missing) != c.missing {
			t.Errorf("%q becomes %q without %v, want %q", c.text, got, missing, c.want)
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, s := range []string{"{{a}}", "{{a:b}} {{{", "{{a}}{{b：c}}", "}}{{"} {
		f.Add(s, "{{a}}")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		values := map[string]string{}
		for _, one := range prompts.Fields(text) {
			if one.Name == "" || strings.ContainsAny(one.Name, "{}\r\n") {
				t.Errorf("a field is called %q", one.Name)
			}
			values[one.Name] = value
		}
		filled, missing := prompts.Fill(text, values)
		if len(values) == 0 && (filled != text || missing != nil) {
			t.Errorf("%q without fields becomes %q", text, filled)
		}
	})
}

// TestExportsOfOthersAreRead: Fawn's own form and the list of Open WebUI.
func TestExportsOfOthersAreRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":1,"prompts":[{"name":"a","description":"b","text":"c"}]}`:      "[{a b c}]",
		"\xef\xbb\xbf" + ` [{"command":"/a","title":"b","content":"c"}]`:           "[{/a b c}]",
		`[{"command":"a","name":"A long title","content":"c","access_grants":[]}]`: "[{a A long title c}]",
		`[{"name":"a","description":"b","text":"c"}]`:                              "[{a b c}]",
		`{"prompts":[]}`: "[]",
	} {
		got, err := prompts.Read([]byte(text))
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s is %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "null", "{}", "[1]", "a,b", `{"prompts":"x"}`} {
		if got, err := prompts.Read([]byte(text)); err == nil {
			t.Errorf("%s is %v", text, got)
		}
	}
}
