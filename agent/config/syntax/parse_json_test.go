package syntax_test

import (
	"strings"
	"testing"

	"fawn/agent/config/syntax"
)

func TestParseJSONReadsWhatYAMLDoesNot(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"\ud83d\ude00"}`:                "😀",
		`{"a":"\/x"}`:                         "/x",
		"{\"a\":\"x\u0085y\"}":                "x\u0085y",
		"\uFEFF{\n\t\"a\":\n\t\t1e400\n}":     "1e400",
		`{"a":123456789012345678901234567}`:   "123456789012345678901234567",
		`{"a":"yes"}`:                         "yes",
		`{"b":{"a":1,"c":[{"a":2}]},"a":"3"}`: "3",
	} {
		n, err := syntax.ParseJSON(&syntax.Source{Name: "x.json", Data: []byte(text)})
		if err != nil || n.Get("a").Text != want {
			t.Errorf("%s: %+v, %v", text, n, err)
		}
	}
}

func TestParseJSONReportsWhereAFileIsInvalid(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": tru\n}":      "x.json:2:11: not valid JSON: invalid character",
		`{"ä":1,}`:                "x.json:1:8: not valid JSON: invalid character '}'",
		`{a:1}`:                   "x.json:1:2: not valid JSON: invalid character 'a'",
		`{"a":01}`:                "x.json:1:7: not valid JSON: invalid character '1'",
		`{"a" 1}`:                 "x.json:1:6: not valid JSON: invalid character '1'",
		"{\"a\":1}\n# more":       "x.json:2:1: not valid JSON: invalid character '#'",
		"{\"a\":1,\n\"b":          "x.json:2:2: not valid JSON: unexpected end",
		"{\"a\":1,\n \"a\":2}":    `x.json:2:2: the key "a" is already given on line 1`,
		"\n [1]":                  "x.json:2:2: the file must hold one JSON object, not a list",
		strings.Repeat("[", 9999): "x.json:1:9999: not valid JSON: unexpected end",
		`{"a":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + "}": "x.json:1:70: values are nested more",
		`{"a":[` + strings.Repeat("0,", 200_000) + "0]}":                  "x.json:1:400003: the file holds more",
	} {
		_, err := syntax.ParseJSON(&syntax.Source{Name: "x.json", Data: []byte(text)})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %.200v, want %s", text, err, want)
		}
	}
}
