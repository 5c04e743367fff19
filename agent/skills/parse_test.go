package skills_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"fawn/agent/skills"
)

// read is a skill as one line for each finding.
func read(text, folder string) (skills.Skill, string) {
	s := skills.Parse([]byte(text), folder)
	var b strings.Builder
	for _, f := range s.Findings {
		b.WriteString(string(f.Severity) + " " + f.String() + "\n")
	}
	return s, b.String()
}

// wide is text in UTF-16.
func wide(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// TestFaultyFilesAreToldByLine: what is wrong is said where it is, and all that can be used is.
func TestFaultyFilesAreToldByLine(t *testing.T) {
	t.Parallel()
	const rest = "\n---\nDo it.\n"
	for _, c := range []struct {
		name, text, want string
		usable           bool
		field            string // name|description, when usable
	}{
		{"empty", "", "line 1: the file is empty", false, ""},
		{"blank", " \n\n\t\n", "line 1: the file is empty", false, ""},
		{"no front matter", "# A skill\n", "line 1: the file must begin with front matter", false, ""},
		{"text in front", "\n\nhello\n---\nname: a\n---\n", "line 3: the file must begin with front matter", false, ""},
		{"blank lines in front", "\n\n---\nname: a\ndescription: d" + rest, "note SKILL.md, line 1: there are blank lines", true, "a|d"},
		{"no end", "---\nname: a\ndescription: d\n", "line 1: the front matter has no end", false, ""},
		{"four dashes", "----\nname: a\n----\n", "line 1: the file must begin", false, ""},
		{"not UTF-8", "---\nname: a\ndescription: d\xff" + rest, "warning SKILL.md, line 3: the text is not valid UTF-8", true, "a|d"},
		{"quotes inside quotes", "---\nname: quotes\ndescription: \"says \"hello\" to you\"" + rest, "line 3: put the value in quotes", true, "quotes|says \"hello\" to you"},
		{"an apostrophe inside", "---\nname: apos\ndescription: 'it's for John's files'" + rest, "line 3: put the value in quotes", true, "apos|it's for John's files"},
		{"two lines", "---\nname: multi\ndescription: first line\n  second line: with colon" + rest, "line 3: put the value in quotes", true, "multi|first line second line: with colon"},
		{"two lines and a key", "---\ndescription: first\n  second: one\nname: multi" + rest, "line 2: put the value in quotes", true, "multi|first second: one"},
		{"a quote over lines", "---\nname: multi\ndescription: \"one: a\n  two: b\"" + rest, "", true, "multi|one: a two: b"},
		{"an at sign", "---\nname: box\ndescription: @file is read" + rest, "line 3: put the value in quotes", true, "box|@file is read"},
		{"a percent sign", "---\nname: box\ndescription: %d is shown" + rest, "line 3: put the value in quotes", true, "box|%d is shown"},
		{"a backtick", "---\nname: box\ndescription: `x` is run" + rest, "line 3: put the value in quotes", true, "box|`x` is run"},
		{"a Chinese name", "---\nname: 数据分析\ndescription: d" + rest, "box is used", true, "box|d"},
		{"a name in Cyrillic", "---\nname: Анализ\ndescription: d" + rest, "box is used", true, "box|d"},
		{"UTF-16", "\xff\xfe" + wide("---\r\nname: box\r\ndescription: dé\r\n---\r\nDo it.\r\n"), "note SKILL.md, line 1: the text is in UTF-16", true, "box|dé"},
		{"NUL", "---\nname: a\x00" + rest, "line 2: the text has a NUL byte", false, ""},
		{"a list", "---\n- name\n- description" + rest, "line 2: the front matter must hold keys and values", false, ""},
		{"a word", "---\nname" + rest, "line 2: the front matter must hold keys and values", false, ""},
		{"nothing in it", "---\n---\n# T\nFirst line.\n", "name is missing", true, "box|First line."},
		{"no name", "---\ndescription: d" + rest, "warning SKILL.md, line 1: name is missing", true, "box|d"},
		{"name is null", "---\nname: ~\ndescription: d" + rest, "name is missing", true, "box|d"},
		{"name is a list", "---\nname: [a]\ndescription: d" + rest, "line 2: name must be text", true, "box|d"},
		{"name is a number", "---\nname: 7\ndescription: d" + rest, "the folder is called box", true, "7|d"},
		{"name with capitals", "---\nname: My Skill!\ndescription: d" + rest, "my-skill is used", true, "my-skill|d"},
		{"name with two hyphens", "---\nname: a--b\ndescription: d" + rest, "a-b is used", true, "a-b|d"},
		{"name with a path", "---\nname: ../../etc\ndescription: d" + rest, "etc is used", true, "etc|d"},
		{"name of signs", "---\nname: '///'\ndescription: d" + rest, "box is used", true, "box|d"},
		{"name too long", "---\nname: " + strings.Repeat("a", 65) + "\ndescription: d" + rest, "is used", true, strings.Repeat("a", 64) + "|d"},
		{"no description", "---\nname: box\n---\n", "description is missing", false, ""},
		{"description from the text", "---\nname: box\n---\n# H\n\nWhat it does.\n", "the first line of the text is used", true, "box|What it does."},
		{"description is a map", "---\nname: box\ndescription: {a: b}\n---\n# H\n", "line 3: description must be text", false, ""},
		{"description with a colon", "---\nname: box\ndescription: Use this: when asked" + rest, "note SKILL.md, line 3: put the value in quotes", true, "box|Use this: when asked"},
		{"description with a quote", "---\nname: box\ndescription: It's: a \"thing\"" + rest, "line 3: put the value in quotes", true, "box|It's: a \"thing\""},
		{"description that begins with brackets", "---\nname: box\ndescription: [Beta] draws boxes" + rest, "line 3: put the value in quotes", true, "box|[Beta] draws boxes"},
		{"text behind a quote", "---\nname: box\ndescription: d\nargument-hint: \"[a] [b]\" [--fast]" + rest, "line 4: put the value in quotes", true, "box|d"},
		{"description with a tag", "---\nname: box\ndescription: a <b>" + rest, "angle brackets", true, "box|a <b>"},
		{"description too long", "---\nname: box\ndescription: " + strings.Repeat("é", 1025) + rest, "longer than 1024", true, "box|" + strings.Repeat("é", 1024)},
		{"a tab", "---\nname: box\n\tdescription: d" + rest, "not valid YAML", false, ""},
		{"an open quote", "---\nname: box\ndescription: \"d" + rest, "line 3: put the value in quotes", true, "box|d"},
		{"an open bracket", "---\nname: box\ndescription: d\nallowed-tools: [a" + rest, "line 4: put the value in quotes", true, "box|d"},
		{"a key twice", "---\nname: box\nname: two\ndescription: d" + rest, "line 3: the key name is there twice", true, "box|d"},
		{"a key nobody knows", "---\nname: box\ndescription: d\ncolour: red" + rest, "warning SKILL.md, line 4: the key colour means nothing here", true, "box|d"},
		{"a key of another program", "---\nname: box\ndescription: d\nargument-hint: x" + rest, "note SKILL.md, line 4: the key argument-hint", true, "box|d"},
		{"a key that is a list", "---\n? [a, b]\n: c\nname: box\ndescription: d" + rest, "line 2: a key must be a word", true, "box|d"},
		{"tools are a map", "---\nname: box\ndescription: d\nallowed-tools: {a: b}" + rest, "line 4: allowed-tools must be a list", true, "box|d"},
		{"tools with a null", "---\nname: box\ndescription: d\nallowed-tools:\n  - a\n  -" + rest, "line 6: allowed-tools must be a list", true, "box|d"},
		{"secrets are text", "---\nname: box\ndescription: d\nrequired-secrets: KEY" + rest, "line 4: required-secrets must be a list", true, "box|d"},
		{"a secret with a blank", "---\nname: box\ndescription: d\nrequired-secrets:\n  - A B" + rest, "line 5: required-secrets", true, "box|d"},
		{"autonomous is a word", "---\nname: box\ndescription: d\nsecrets-autonomous: maybe" + rest, "line 4: secrets-autonomous must be", true, "box|d"},
		{"metadata is text", "---\nname: box\ndescription: d\nmetadata: x" + rest, "line 4: metadata must hold", true, "box|d"},
		{"no instructions", "---\nname: box\ndescription: d\n---\n \n", "there are no instructions", true, "box|d"},
		{"an alias", "---\na: &x [1, 1]\nname: *x\ndescription: d" + rest, "name must be text", true, "box|d"},
		{"a large file", "---\nname: box\ndescription: d\n---\n" + strings.Repeat("x", skills.MaxText), "larger than 256 KiB", false, ""},
		{"large front matter", "---\nname: box\ndescription: d\n# " + strings.Repeat("x", 64<<10) + rest, "the front matter is larger than 64 KiB", false, ""},
	} {
		s, findings := read(c.text, "box")
		if s.Usable() != c.usable || !strings.Contains(findings, c.want) {
			t.Errorf("%s: usable %v, findings:\n%s want %q", c.name, s.Usable(), findings, c.want)
		}
		if got := s.Name + "|" + s.Description; c.usable && got != c.field {
			t.Errorf("%s: got %q, want %q", c.name, got, c.field)
		}
	}
}

// TestFormatsOfOthersAreRead: front matter as other programs document it.
func TestFormatsOfOthersAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		tools   []string
		secrets []skills.Secret
		license string
	}{
		{text: "---\nname: box\ndescription: >\n  Fill in\n  forms.\nlicense: Apache-2.0\n---\n# T\n", license: "Apache-2.0"},
		{text: "\ufeff---\r\nname: box\r\ndescription: |\r\n  Fill in\r\n  forms.\r\nmetadata:\r\n  version: 1.0\r\n---\r\n# T\r\n"},
		{text: "---\nname: box\ndescription: \"Fill in forms.\"\nallowed-tools: Bash(git:*, npm *), Read Grep\n---\nx", tools: []string{"Bash(git:*, npm *)", "Read", "Grep"}},
		{text: "---\nname: box\ndescription: Fill in forms.\nallowed-tools:\n  - bash\n  - read_file\n---\nx", tools: []string{"bash", "read_file"}},
		{text: "---\nname: box\ndescription: Fill in forms.\nallowed-tools: []\nversion: 1.2\nauthor: me\ncompatibility: any\n---\nx", tools: []string{}},
		{text: "---\nname: box\ndescription: Fill in forms.\nallowed_tools: null\nrequired-secrets: [KEY, {name: OTHER, optional: true}]\nsecrets-autonomous: false\n---\nx",
			secrets: []skills.Secret{{Name: "KEY"}, {Name: "OTHER", Optional: true}}},
	} {
		s, findings := read(c.text, "box")
		if findings != "" || s.Name != "box" || s.Description != "Fill in forms." || s.License != c.license {
			t.Errorf("%q:\n%+v\n%s", c.text, s, findings)
		}
		if !slices.Equal(s.AllowedTools, c.tools) || (s.AllowedTools == nil) != (c.tools == nil) ||
			!slices.Equal(s.Secrets, c.secrets) {
			t.Errorf("%q: tools %q, secrets %v", c.text, s.AllowedTools, s.Secrets)
		}
	}
}

// FuzzParse: whatever a file holds, a usable skill has a name for addresses and a description, and
// findings point into the file.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "---\nname: a\ndescription: b: c\n---\nx", "---\na: &x [*x]\n---\n",
		"\ufeff---\r\nname: 1\r\n---\r\n", "---\n? {a: b}\n: - c\n---\n", "---\nname: a\ndescription: 'x\n---\n",
		"---\nrequired-secrets: [{name: A}, B]\nallowed-tools: a(b, c\n---\nt"} {
		f.Add([]byte(s), "box")
	}
	f.Fuzz(func(t *testing.T, text []byte, folder string) {
		s := skills.Parse(text, folder)
		lines := strings.Count(string(text), "\n") + 1
		for _, found := range s.Findings {
			if found.Line < 0 || found.Line > lines+1 || found.Text == "" {
				t.Fatalf("%q of %d lines: %+v", text, lines, found)
			}
		}
		if !s.Usable() {
			return
		}
		if s.Name == "" || len(s.Name) > 64 || strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
			s.Description == "" {
			t.Fatalf("%q: name %q, description %q", text, s.Name, s.Description)
		}
	})
}
