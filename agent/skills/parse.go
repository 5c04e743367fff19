package skills

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Parse reads the text of a SKILL.md in a folder of that name. It is lenient and reports problems line by line; a Bad
// finding makes the skill unusable.
func Parse(text []byte, folder string) Skill {
	text, wide := narrow(text)
	p := parser{skill: Skill{text: text}}
	if wide {
		p.find(1, Hint, "the text is in UTF-16; save it in UTF-8")
	}
	p.read(text, folder)
	p.skill.Findings = p.findings
	return p.skill
}

// narrow converts text to UTF-8, including UTF-16 with a byte order mark from Windows editors.
func narrow(text []byte) (out []byte, wide bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return text, false
	}
	var units []uint16
	for rest := text[2:]; len(rest) >= 2; rest = rest[2:] {
		units = append(units, order.Uint16(rest))
	}
	return []byte(string(utf16.Decode(units))), true
}

type parser struct {
	skill    Skill
	findings []Finding
	offset   int // lines before the YAML
}

func (p *parser) find(line int, s Severity, text string, args ...any) {
	if len(p.findings) < maxFindings {
		p.findings = append(p.findings, Finding{File: File, Line: line, Severity: s, Text: fmt.Sprintf(text, args...)})
	}
}

func (p *parser) read(text []byte, folder string) {
	switch {
	case len(text) > MaxText:
		p.find(0, Bad, "the file is larger than %d KiB", MaxText>>10)
		return
	case bytes.IndexByte(text, 0) >= 0:
		p.find(1+bytes.Count(text[:bytes.IndexByte(text, 0)], []byte("\n")), Bad, "the text has a NUL byte")
		return
	}
	if !utf8.Valid(text) {
		p.find(1+bytes.Count(text[:invalidAt(text)], []byte("\n")), Warn, "the text is not valid UTF-8; odd characters are left out")
		text = bytes.ToValidUTF8(text, nil)
	}
	front, body, ok := p.split(strings.TrimPrefix(string(text), "\ufeff"))
	if !ok {
		return
	}
	if top := p.tree(front); top != nil {
		p.fields(top)
	}
	if has(p.findings, Bad) {
		return
	}
	p.name(folder)
	p.describe(body)
	if strings.TrimSpace(body) == "" {
		p.find(0, Warn, "there are no instructions below the front matter")
	}
}

func invalidAt(text []byte) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// breaks are characters that only YAML treats as line ends. Replaced by blanks, they leave line numbers intact.
var breaks = strings.NewReplacer("\r", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ")

// split finds the lines of three dashes.
func (p *parser) split(text string) (front, body string, ok bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(text, "\n")
	first := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) != "" })
	if first < 0 {
		p.find(1, Bad, "the file is empty")
		return "", "", false
	}
	if strings.TrimRight(lines[first], " \t") != "---" {
		p.find(first+1, Bad, "the file must begin with front matter between two lines of ---")
		return "", "", false
	}
	if first > 0 {
		p.find(1, Hint, "there are blank lines in front of the front matter")
	}
	p.offset = first + 1
	end := slices.IndexFunc(lines[first+1:], func(l string) bool { return strings.TrimRight(l, " \t") == "---" })
	if end < 0 {
		p.find(first+1, Bad, "the front matter has no end: a line of --- is missing")
		return "", "", false
	}
	front = breaks.Replace(strings.Join(lines[first+1:first+1+end], "\n"))
	if len(front) > maxFront {
		p.find(first+1, Bad, "the front matter is larger than %d KiB", maxFront>>10)
		return "", "", false
	}
	return front, strings.Join(lines[first+end+2:], "\n"), true
}

// tree returns the mapping of the front matter. Text that YAML takes for syntax is quoted and tried again, since people
// write descriptions with colons.
func (p *parser) tree(front string) *yaml.Node {
	top, line, why := load(front)
	if why == "" {
		return p.mapping(top)
	}
	mended, changed := quoteValues(front)
	if len(changed) > 0 {
		if top, _, again := load(mended); again == "" {
			for _, n := range changed {
				p.find(p.offset+n, Hint, "put the value in quotes: it has characters with a meaning in YAML")
			}
			return p.mapping(top)
		}
	}
	p.find(p.offset+line, Bad, "not valid YAML: %s", why)
	return nil
}

func (p *parser) mapping(top *yaml.Node) *yaml.Node {
	switch {
	case top == nil:
		return &yaml.Node{Kind: yaml.MappingNode}
	case top.Kind != yaml.MappingNode:
		p.find(p.offset+top.Line, Bad, "the front matter must hold keys and values, as in \"name: my-skill\"")
		return nil
	}
	return top
}

// load parses YAML; line and why describe an error.
func load(text string) (top *yaml.Node, line int, why string) {
	loader, err := yaml.NewLoader(strings.NewReader(text))
	if err != nil {
		return nil, 1, err.Error()
	}
	var doc yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, 0, ""
	case err != nil:
		var bad *yaml.LoadError
		if !errors.As(err, &bad) {
			return nil, 1, err.Error()
		}
		line := bad.Mark.Line
		if line == 0 {
			line = bad.ContextMark.Line
		}
		return nil, max(line, 1), bad.Message
	case len(doc.Content) == 0 || isNull(doc.Content[0]):
		return nil, 0, ""
	}
	return doc.Content[0], 0, ""
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// valueLine is a key at the margin with a value that opens no block.
var valueLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*):[ \t]+([^\s|>&].*)$`)
})

// knownLine is an indented line that has a key of skills.
var knownLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t]+(?:name|description|license|version|author|compatibility|metadata|allowed[-_]tools):(?:[ \t]|$)`)
})

// quoteValues quotes plain values and returns their lines.
func quoteValues(front string) (string, []int) {
	lines := strings.Split(front, "\n")
	var changed []int
	for i := 0; i < len(lines); i++ {
		m := valueLine().FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		end := i + 1 // indented lines below continue the value
		for end < len(lines) && strings.TrimLeft(lines[end], " \t") != lines[end] {
			end++
		}
		if _, _, why := load(strings.Join(lines[i:end], "\n")); why == "" {
			continue
		}
		if slices.ContainsFunc(lines[i+1:end], func(l string) bool { return knownLine().MatchString(l) }) {
			continue // a separate key, indented too far
		}
		var words []string
		for k, l := range lines[i:end] {
			if k == 0 {
				l = m[2]
			} else {
				lines[i+k] = ""
			}
			words = append(words, strings.TrimSpace(l))
		}
		v := strings.TrimSpace(strings.Join(words, " "))
		if q := v[0]; q == '"' || q == '\'' { // quotes around it, which hold others
			v = strings.TrimSuffix(v[1:], string(q))
		}
		lines[i] = m[1] + ": '" + strings.ReplaceAll(v, "'", "''") + "'"
		changed = append(changed, i+1)
	}
	return strings.Join(lines, "\n"), changed
}

// otherKeys are keys of other programs without effect here.
var otherKeys = []string{"model", "argument-hint", "disable-model-invocation", "user-invocable", "context", "agent",
	"hooks", "tags",
	"category", "homepage", "dependencies", "icon", "when_to_use", "paths", "effort"}

// fields reads the values.
func (p *parser) fields(top *yaml.Node) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		key, at := strings.ReplaceAll(k.Value, "_", "-"), p.offset+k.Line
		if k.Kind != yaml.ScalarNode {
			p.find(at, Warn, "a key must be a word")
			continue
		}
		if seen[key] {
			p.find(at, Warn, "the key %s is there twice; the first one counts", clip(k.Value))
			continue
		}
		seen[key] = true
		switch key {
		case "name":
			p.skill.Name = p.text(key, v)
		case "description":
			p.skill.Description = p.text(key, v)
		case "license":
			p.skill.License = p.text(key, v)
		case "version":
			p.skill.Version = p.text(key, v)
		case "author":
			p.skill.Author = p.text(key, v)
		case "compatibility":
			p.skill.Compatibility = p.text(key, v)
		case "allowed-tools":
			p.skill.AllowedTools = p.tools(v)
		case "required-secrets":
			p.skill.Secrets = p.secrets(v)
		case "secrets-autonomous":
			if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!bool" {
				p.find(p.offset+v.Line, Warn, "secrets-autonomous must be true or false")
			}
		case "metadata":
			if v.Kind != yaml.MappingNode && !isNull(v) {
				p.find(p.offset+v.Line, Warn, "metadata must hold keys and values")
			}
		default:
			sev := Warn
			if slices.Contains(otherKeys, key) {
				sev = Hint
			}
			p.find(at, sev, "the key %s means nothing here", clip(k.Value))
		}
	}
}

// text returns a value on one line.
func (p *parser) text(key string, n *yaml.Node) string {
	if isNull(n) {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		p.find(p.offset+n.Line, Warn, "%s must be text", key)
		return ""
	}
	return strings.Join(strings.FieldsFunc(n.Value, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}

// tools returns a list of names, also from text separated by commas or blanks. An unreadable list allows nothing: a
// skill must not get more tools than declared.
func (p *parser) tools(n *yaml.Node) []string {
	out := []string{}
	switch {
	case isNull(n):
		return nil
	case n.Kind == yaml.ScalarNode:
		return append(out, splitTools(n.Value)...)
	case n.Kind != yaml.SequenceNode:
		p.find(p.offset+n.Line, Warn, "allowed-tools must be a list of names")
		return out
	}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || isNull(item) {
			p.find(p.offset+item.Line, Warn, "allowed-tools must be a list of names")
			continue
		}
		out = append(out, splitTools(item.Value)...)
	}
	return out
}

// splitTools cuts at commas and blanks outside of parentheses.
func splitTools(s string) (out []string) {
	depth, from := 0, 0
	add := func(to int) {
		if name := strings.TrimSpace(s[from:to]); name != "" {
			out = append(out, name)
		}
		from = to + 1
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth = max(depth-1, 0)
		case depth == 0 && (c == ',' || c <= ' '):
			add(i)
		}
	}
	add(len(s))
	return out
}

// variable matches names of secrets.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`) })

func (p *parser) secrets(n *yaml.Node) (out []Secret) {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.find(p.offset+n.Line, Warn, "required-secrets must be a list of names")
		return nil
	}
	for _, item := range n.Content {
		var s Secret
		switch item.Kind {
		case yaml.ScalarNode:
			s.Name = item.Value
		case yaml.MappingNode:
			for i := 0; i+1 < len(item.Content); i += 2 {
				switch v := item.Content[i+1]; item.Content[i].Value {
				case "name":
					s.Name = v.Value
				case "optional":
					s.Optional = v.Value == "true"
				}
			}
		}
		if !variable().MatchString(s.Name) {
			p.find(p.offset+item.Line, Warn, "required-secrets must be a list of names of variables")
			continue
		}
		out = append(out, s)
	}
	return out
}

// name ensures a valid name.
func (p *parser) name(folder string) {
	asked := p.skill.Name
	p.skill.asked = asked
	switch {
	case asked == "":
		p.skill.Name = slug(folder)
		p.find(p.offset, Warn, "name is missing; the name of the folder is used")
	case !validName(asked):
		if p.skill.Name = slug(asked); p.skill.Name == "" {
			p.skill.Name = slug(folder) // no letter is valid in a name, as in Chinese
		}
		p.find(p.offset, Warn, "the name %q is not 1 to %d lower-case letters, digits and single hyphens; %s is used",
			clip(asked), maxName, clip(p.skill.Name))
	case asked != folder && folder != "":
		p.find(p.offset, Hint, "the folder is called %s, the skill %s; the skill's name counts", clip(folder), asked)
	}
	if p.skill.Name == "" {
		p.find(p.offset, Bad, "there is no name that can be used")
	}
}

// describe ensures a description, which models use to choose.
func (p *parser) describe(body string) {
	if p.skill.Description == "" {
		for line := range strings.Lines(body) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				p.skill.Description = line
				break
			}
		}
		if p.skill.Description == "" {
			p.find(p.offset, Bad, "description is missing")
			return
		}
		p.find(p.offset, Warn, "description is missing; the first line of the text is used")
	}
	if utf8.RuneCountInString(p.skill.Description) > maxDescription {
		p.skill.Description = string([]rune(p.skill.Description)[:maxDescription])
		p.find(p.offset, Warn, "the description is longer than %d characters; the rest is left out", maxDescription)
	}
	if strings.ContainsAny(p.skill.Description, "<>") {
		p.find(p.offset, Warn, "the description has angle brackets")
	}
}

// clip returns a text of others as a message can hold it.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
