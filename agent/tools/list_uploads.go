package tools

import (
	"context"
	_ "embed" // the text of the tool
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/sandbox/files"
	"fawn/uploads"
)

//go:embed list_uploads.md
var listUploadsText string

type listUploadsArgs struct {
	Description    string `json:"description" jsonschema:"why you list them, in a few words"`
	IncludeOutline bool   `json:"include_outline,omitempty" jsonschema:"also give the headings of documents, with their lines"`
	MaxResults     int    `json:"max_results,omitempty" jsonschema:"how many files to list, 1 to 100; 20 if left out"`
}

// listedUpload is a file as the model sees it.
type listedUpload struct {
	Filename  string   `json:"filename"`
	Size      int64    `json:"size"`
	Path      string   `json:"path"`
	Extension string   `json:"extension,omitempty"`
	Markdown  string   `json:"markdown_path,omitempty"`
	State     string   `json:"state,omitempty"`
	Problem   string   `json:"problem,omitempty"`
	Encoding  string   `json:"encoding,omitempty"`
	Outline   []string `json:"outline,omitempty"`
	Preview   []string `json:"outline_preview,omitempty"`
}

func (s *set) listUploads(ctx context.Context, t *agent.Turn, a listUploadsArgs) (agent.Result, error) {
	if a.MaxResults == 0 {
		a.MaxResults = 20
	}
	if a.MaxResults < 1 || a.MaxResults > 100 {
		return failed("max_results must be from 1 to 100")
	}
	return s.with(t, func(f *files.Files) (agent.Result, error) {
		list, err := s.documents.Files(ctx, f, t.ThreadID)
		if err != nil {
			return agent.Result{}, fmt.Errorf("list uploads: %w", err)
		}
		all := list.Files
		slices.SortStableFunc(all, func(x, y uploads.File) int { return strings.Compare(y.Modified, x.Modified) })
		out := struct {
			Files     []listedUpload `json:"files"`
			Total     int            `json:"total_count"`
			Truncated bool           `json:"truncated,omitempty"`
		}{Files: []listedUpload{}, Total: len(all), Truncated: len(all) > a.MaxResults}
		for _, u := range all[:min(len(all), a.MaxResults)] {
			out.Files = append(out.Files, describeUpload(f, u, a.IncludeOutline))
		}
		b, err := json.Marshal(out)
		return agent.TextResult(string(b)), err
	})
}

func describeUpload(f *files.Files, u uploads.File, outline bool) listedUpload {
	l := listedUpload{Filename: u.Filename, Size: u.Size, Path: u.VirtualPath, Extension: u.Extension,
		Markdown: u.MarkdownVirtualPath}
	if u.Conversion != nil {
		l.State, l.Problem, l.Encoding = u.Conversion.State, u.Conversion.Why(), u.Conversion.Encoding
	}
	if !outline || l.Markdown == "" {
		return l
	}
	file, _, err := f.Open(l.Markdown)
	if err != nil {
		return l // just deleted
	}
	defer file.Close()
	o, err := uploads.ReadOutline(file)
	if err != nil {
		return l
	}
	for _, h := range o.Headings {
		l.Outline = append(l.Outline, fmt.Sprintf("L%d: %s", h.Line, h.Title))
	}
	if len(l.Outline) == 0 {
		l.Preview = o.Preview
	}
	return l
}
