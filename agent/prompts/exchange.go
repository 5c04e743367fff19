package prompts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"fawn/store"
)

// MaxExport limits the JSON of prompts that are brought in, in bytes: a person's own export fits.
const MaxExport = 20 << 20

// Export is prompts as JSON.
type Export struct {
	Version int        `json:"version"`
	Prompts []Exported `json:"prompts"`
}

// Exported is a prompt in an Export.
type Exported struct {
	Name  string `json:"name"`
	About string `json:"description"`
	Text  string `json:"text"`
}

// Imported is the result of an import.
type Imported struct {
	Added   int      `json:"added"`
	Same    int      `json:"unchanged"` // existed already
	Renamed []string `json:"renamed"`   // new names of prompts with taken names
}

// Export returns a user's own prompts.
func (s *Service) Export(ctx context.Context, by Who) (Export, error) {
	out := Export{Version: 1, Prompts: []Exported{}}
	list, err := s.List(ctx, by, false)
	for _, p := range list {
		if p.Mine {
			out.Prompts = append(out.Prompts, Exported{p.Name, p.About, p.Text})
		}
	}
	return out, err
}

// Read takes the JSON of an Export, or of Open WebUI, which has a list of commands. The error is an *Invalid.
func Read(data []byte) ([]Exported, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) > 0 && data[0] == '[' {
		var list []struct {
			Exported
			Command string `json:"command"`
			Title   string `json:"title"`
			Content string `json:"content"`
		}
		if json.Unmarshal(data, &list) != nil {
			return nil, errFormat()
		}
		var out []Exported
		for _, p := range list {
			one := Exported{cmp.Or(p.Command, p.Name), cmp.Or(p.About, p.Title), cmp.Or(p.Content, p.Text)}
			if p.Command != "" && p.About == "" && p.Title == "" { // its name is a title there
				one.About = p.Name
			}
			out = append(out, one)
		}
		return out, nil
	}
	var e Export
	if json.Unmarshal(data, &e) != nil || e.Prompts == nil {
		return nil, errFormat()
	}
	return e.Prompts, nil
}

func errFormat() error {
	return &Invalid{"prompts", `want {"prompts": [{"name", "description", "text"}]} or the prompts of Open WebUI`}
}

// Import stores prompts atomically. A prompt with a taken name is renamed; an identical one is skipped. Errors:
// *Invalid, which names the prompt.
func (s *Service) Import(ctx context.Context, by Who, list []Exported) (Imported, error) {
	done := Imported{Renamed: []string{}}
	have, err := s.own(ctx, by)
	if err != nil {
		return done, err
	}
	var rows []store.SavedPrompt
	for i, one := range list {
		d := Draft{Name: spelled(one.Name), About: one.About, Text: one.Text}
		if err := d.check(); err != nil {
			bad := err.(*Invalid)
			return done, &Invalid{fmt.Sprintf("prompts[%d].%s", i, bad.Field), bad.Why}
		}
		if text, there := have[d.Name]; there && text == d.Text {
			done.Same++
			continue
		}
		name := freeName(d.Name, have)
		if name != d.Name {
			done.Renamed = append(done.Renamed, name)
		}
		have[name] = d.Text
		if len(have) > MaxPrompts {
			return done, errFull()
		}
		rows = append(rows, store.SavedPrompt{ID: uuid.Must(uuid.NewV7()).String(), Owner: by.owner(), Name: name, About: d.About,
			Text: d.Text})
		done.Added++
	}
	if len(rows) == 0 {
		return done, nil
	}
	return done, s.DB.AddPrompts(ctx, rows...)
}

// spelled replaces characters that other programs allow in names with hyphens.
func spelled(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '.' || r == ':' || r == '/' {
			return '-'
		}
		return r
	}, strings.TrimLeft(strings.TrimSpace(name), "/"))
}
