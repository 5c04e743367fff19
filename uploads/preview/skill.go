package preview

import (
	"archive/zip"
	"errors"
	"io"
	"path"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Limits of a skill's text.
const (
	maxSkill  = 256 << 10 // bytes of SKILL.md
	maxFront  = 16 << 10  // bytes of the front matter
	maxFields = 30
	maxField  = 1000 // bytes of a value
)

// Skill is the content of a .skill file: a text for the model, and the files it mentions.
type Skill struct {
	Archive
	Main   string      // name of the text in the archive; empty for none
	Fields [][2]string // front matter
	Text   string
	Long   bool // the end of the text is missing
}

// ReadSkill reads a .skill file.
func ReadSkill(f io.ReaderAt, size int64) (Skill, error) {
	z, err := openZip(f, size)
	if err != nil {
		return Skill{}, err
	}
	s := Skill{Archive: listZip(z)}
	var main *zip.File
	for _, m := range z.File {
		if path.Base(m.Name) == "SKILL.md" && m.Mode().IsRegular() &&
			(main == nil || depth(m.Name) < depth(main.Name)) {
			main = m
		}
	}
	if main == nil {
		return s, nil
	}
	r, err := main.Open()
	if err != nil {
		return Skill{}, errors.Join(ErrDamaged, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxSkill+1)) // the directory's size may be wrong
	if err != nil {
		return Skill{}, errors.Join(ErrDamaged, err)
	}
	if len(data) > maxSkill {
		data, s.Long = data[:maxSkill], true
	}
	s.Main = cut(main.Name, maxName)
	s.Fields, s.Text = frontMatter(strings.ToValidUTF8(string(data), "\uFFFD"))
	return s, nil
}

func depth(name string) int { return strings.Count(name, "/") }

// frontMatter splits the fields off the beginning of a text. Without valid YAML, they stay in the
// text.
func frontMatter(text string) (fields [][2]string, rest string) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	inside, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, text
	}
	front, rest, ok := strings.Cut(inside, "\n---\n")
	if !ok {
		front, ok = strings.CutSuffix(inside, "\n---")
		rest = ""
	}
	if !ok || len(front) > maxFront {
		return nil, text
	}
	var doc yaml.Node
	if yaml.Unmarshal([]byte(front), &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, "```\n" + front + "\n```\n\n" + rest
	}
	m := doc.Content[0].Content
	for i := 0; i+1 < len(m) && len(fields) < maxFields; i += 2 {
		fields = append(fields, [2]string{cut(m[i].Value, maxField), cut(words(m[i+1], 4), maxField)})
	}
	return fields, rest
}

// words returns a value in a line. Names of other values are not followed.
func words(n *yaml.Node, depth int) string {
	switch {
	case n.Kind == yaml.ScalarNode:
		return strings.TrimSpace(n.Value)
	case depth == 0 || n.Kind == yaml.AliasNode:
		return "…"
	}
	var parts []string
	for i := 0; i < len(n.Content); i++ {
		if n.Kind == yaml.MappingNode && i+1 < len(n.Content) {
			parts = append(parts, n.Content[i].Value+": "+words(n.Content[i+1], depth-1))
			i++
			continue
		}
		parts = append(parts, words(n.Content[i], depth-1))
	}
	return strings.Join(parts, ", ")
}
