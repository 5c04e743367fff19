package prompts

import (
	"strings"
	"unicode/utf8"
)

// Field is a named gap in the text of a prompt: {{topic}}, or {{language:English}} with a default.
type Field struct {
	Name     string
	Default  string
	Required bool // it has no default
}

// piece is a part of a text: a field, or with a nil field words as they are.
type piece struct {
	text  string
	field *Field
}

// pieces splits a text. Braces around an invalid field name are plain text.
func pieces(text string) (list []piece) {
	words := 0
	for at := 0; at < len(text); {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			break
		}
		open += at
		end := strings.Index(text[open:], "}}")
		if end < 0 {
			break
		}
		end += open
		f, ok := field(text[open+2 : end])
		if !ok {
			at = open + 1
			continue
		}
		if open > words {
			list = append(list, piece{text: text[words:open]})
		}
		list = append(list, piece{text: text[open : end+2], field: &f})
		at = end + 2
		words = at
	}
	if words < len(text) {
		list = append(list, piece{text: text[words:]})
	}
	return list
}

// field parses the text between braces. A default follows a colon, also a Chinese one.
func field(inside string) (f Field, ok bool) {
	if strings.ContainsAny(inside, "{}\r\n") {
		return f, false
	}
	f.Name, f.Required = inside, true
	if i := strings.IndexAny(inside, ":："); i >= 0 {
		_, width := utf8.DecodeRuneInString(inside[i:])
		f = Field{Name: inside[:i], Default: strings.TrimSpace(inside[i+width:])}
	}
	f.Name = strings.Join(strings.Fields(f.Name), " ")
	return f, f.Name != "" && utf8.RuneCountInString(f.Name) <= maxFieldName
}

// Fields returns the distinct fields of a text in order of appearance. The first default counts.
func Fields(text string) []Field {
	list := []Field{}
	at := map[string]int{}
	for _, p := range pieces(text) {
		if p.field == nil {
			continue
		}
		i, known := at[p.field.Name]
		switch {
		case !known:
			at[p.field.Name] = len(list)
			list = append(list, *p.field)
		case list[i].Required && !p.field.Required:
			list[i] = *p.field
		}
	}
	return list
}

// Fill inserts values into the fields of a text, with defaults for missing ones. missing names required fields without
// a value; their places stay empty. Values are literal: fields in them aren't filled.
func Fill(text string, values map[string]string) (filled string, missing []string) {
	given := map[string]string{}
	for _, f := range Fields(text) {
		v, said := values[f.Name]
		if !said {
			v = f.Default
		}
		if f.Required && strings.TrimSpace(v) == "" {
			missing = append(missing, f.Name)
		}
		given[f.Name] = v
	}
	var b strings.Builder
	for _, p := range pieces(text) {
		if p.field != nil {
			b.WriteString(given[p.field.Name])
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String(), missing
}
