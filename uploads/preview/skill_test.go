package preview_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/uploads/preview"
)

func skill(t *testing.T, files ...string) (preview.Skill, error) {
	t.Helper()
	data := zipped(t, files...)
	return preview.ReadSkill(bytes.NewReader(data), int64(len(data)))
}

func TestASkillIsItsTextAndItsFiles(t *testing.T) {
	s := must.Get(skill(t, "deep/er/SKILL.md", "no", "maps/SKILL.md",
		"---\r\nname: maps\r\ndescription: >\r\n  Draws\r\n  maps.\r\ntools: [a, b]\nmeta: {x: 1}\n---\r\n# Maps\r\n", "maps/draw.py", "pass"))(t)
	want := [][2]string{{"name", "maps"}, {"description", "Draws maps."}, {"tools", "a, b"}, {"meta", "x: 1"}}
	if !reflect.DeepEqual(s.Fields, want) {
		t.Errorf("fields %q, want %q", s.Fields, want)
	}
	if s.Main != "maps/SKILL.md" || s.Text != "# Maps\n" || s.Files != 3 {
		t.Errorf("%+v", s)
	}
}

func TestSkillsThatAreNone(t *testing.T) {
	if s, err := skill(t, "a.txt", "x"); err != nil || s.Main != "" || s.Files != 1 {
		t.Errorf("no text: %+v, %v", s, err)
	}
	if _, err := preview.ReadSkill(strings.NewReader("none"), 4); !errors.Is(err, preview.ErrDamaged) {
		t.Errorf("no archive: %v", err)
	}
	s, err := skill(t, "SKILL.md", "---\n: [\n---\ntext")
	if err != nil || s.Fields != nil || !strings.Contains(s.Text, ": [") || !strings.Contains(s.Text, "text") {
		t.Errorf("no YAML: %+v, %v", s, err)
	}
	if s, err := skill(t, "SKILL.md", "plain"); err != nil || s.Text != "plain" {
		t.Errorf("no fields: %+v, %v", s, err)
	}
	if s, err := skill(t, "SKILL.md", strings.Repeat("x", 10<<20)); err != nil || !s.Long || len(s.Text) > 300<<10 {
		t.Errorf("a long text: %d bytes, %v", len(s.Text), err)
	}
	laughs := "---\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n---\n"
	if s, err := skill(t, "SKILL.md", laughs); err != nil || len(s.Fields) != 4 || s.Fields[3][1] != "…, …" {
		t.Errorf("laughs: %q, %v", s.Fields, err)
	}
}
