package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fawn/agent"
	"fawn/sandbox/files"
)

// OutputBudget limits the part of a tool's result that a model reads. Lengths are characters; 0 disables a limit.
type OutputBudget struct {
	Enabled   bool           `yaml:"enabled"`
	FileChars int            `yaml:"externalize_min_chars" min:"0"` // longer results become a file and a preview
	HeadChars int            `yaml:"preview_head_chars" min:"0"`
	TailChars int            `yaml:"preview_tail_chars" min:"0"`
	CutChars  int            `yaml:"fallback_max_chars" min:"0"` // longer results are cut when no file can be written
	CutHead   int            `yaml:"fallback_head_chars" min:"0"`
	CutTail   int            `yaml:"fallback_tail_chars" min:"0"`
	Folder    string         `yaml:"storage_subdir"`         // one name, below the thread's outputs
	Exempt    []string       `yaml:"exempt_tools"`           // tools with unlimited results
	Tools     map[string]int `yaml:"tool_overrides" min:"0"` // FileChars of single tools
}

// DefaultOutputBudget returns 12,000 characters, with a preview of 2,000 and 1,000, and 30,000 if no
// file can be written.
func DefaultOutputBudget() OutputBudget {
	return OutputBudget{Enabled: true, FileChars: 12_000, HeadChars: 2000, TailChars: 1000,
		CutChars: 30_000, CutHead: 8000, CutTail: 3000,
		Folder: ".tool-results", Exempt: []string{"read_file", "read_file_tool"}}
}

// ToolBudget moves long results into files of the thread and leaves a preview with the file's path. Results added to
// the thread in other ways are only shortened in requests.
func ToolBudget(open Files, b OutputBudget) agent.Middleware {
	b.Folder = ResultFolder(b.Folder)
	return agent.Middleware{
		Name: "tool_budget",
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				r, err := next(ctx, t, c)
				if err != nil || r.Content.Blocks != nil || slices.Contains(b.Exempt, c.Name) {
					return r, err
				}
				r.Content.Text = b.fit(ctx, t, open, c.Name, r)
				return r, nil
			}
		},
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				for i, m := range req.Messages {
					if m.Type != agent.TypeTool || m.Content.Blocks != nil || slices.Contains(b.Exempt, m.Name) ||
						!longer(m.Content.Text, b.CutChars) {
						continue
					}
					short := *m
					short.Content.Text = b.cut(m.Name, m.Content.Text)
					req.Messages[i] = &short
				}
				return next(ctx, t, req)
			}
		},
	}
}

// ResultFolder returns the name of the folder for long results: the given one if it is a plain name.
func ResultFolder(name string) string {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return DefaultOutputBudget().Folder
	}
	return name
}

// fit returns the text itself, a preview of its file, or a cut version.
func (b OutputBudget) fit(ctx context.Context, t *agent.Turn, open Files, tool string, r agent.Result) string {
	text := r.Content.Text
	limit, ok := b.Tools[tool]
	if !ok {
		limit = b.FileChars
	}
	if !longer(text, limit) {
		return b.cut(tool, text)
	}
	head, tail := min(b.HeadChars, limit*2/3), min(b.TailChars, limit/3)
	if r.Whole != nil {
		return wholePreview(tool, r.Whole, text, head, tail)
	}
	at, err := b.store(ctx, t.ThreadID, open, tool, text)
	if err != nil {
		t.Log.Warn("couldn't write a long result to a file", "tool", tool, "err", err)
		return b.cut(tool, text)
	}
	return preview(tool, at, text, head, tail)
}

// store writes the text and returns its path. Equal texts share a file.
func (b OutputBudget) store(ctx context.Context, thread string, open Files, tool, text string) (string, error) {
	f, err := open(thread)
	if err != nil {
		return "", fmt.Errorf("open files of thread: %w", err)
	}
	defer f.Close()
	ext := ".txt"
	if tool == "bash" || tool == "web_fetch" {
		ext = ".log"
	}
	sum := sha256.Sum256([]byte(text))
	at := files.Outputs + "/" + b.Folder + "/" + fileName(tool) + "-" + hex.EncodeToString(sum[:6]) + ext
	if err := f.WriteFile(ctx, at, []byte(text), false); err != nil {
		return "", fmt.Errorf("write the result: %w", err)
	}
	return at, nil
}

// fileName drops unsafe characters of a file name.
func fileName(tool string) string {
	tool = tool[strings.LastIndexAny(tool, `/\`)+1:]
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, tool)
	if name == "" {
		return "tool"
	}
	return name[:min(len(name), 64)]
}

// cut keeps the two ends of a text that is too long for a request.
func (b OutputBudget) cut(tool, text string) string {
	if !longer(text, b.CutChars) {
		return text
	}
	total := utf8.RuneCountInString(text)
	marker := func(kept int) string {
		return fmt.Sprintf("\n[... %d chars omitted from %s output; call it again for less at a time ...]\n",
			total-kept, fileName(tool))
	}
	head, tail := b.CutHead, b.CutTail
	if room := b.CutChars - len(marker(0)); head+tail > room {
		head = max(0, room) * 2 / 3
		tail = max(0, room) - head
	}
	start, end := firstLines(text, head), lastLines(text, tail)
	short := start + marker(utf8.RuneCountInString(start)+utf8.RuneCountInString(end)) + end
	return first(short, b.CutChars)
}

// longer reports whether a text has more than limit characters; 0 is no limit.
func longer(text string, limit int) bool {
	return limit > 0 && len(text) > limit && utf8.RuneCountInString(text) > limit
}

// firstLines returns the start of a text, at most n characters, up to a line end if one is near.
func firstLines(text string, n int) string {
	part := first(text, n)
	if i := strings.LastIndexByte(part, '\n'); len(part) < len(text) && i >= len(part)/2 {
		part = part[:i+1]
	}
	return part
}

// lastLines returns the end of a text, at most n characters, from a line start if one is near.
func lastLines(text string, n int) string {
	from := len(text)
	for ; n > 0 && from > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	part := text[from:]
	if i := strings.IndexByte(part, '\n'); from > 0 && i >= 0 && i <= len(part)/2 {
		part = part[i+1:]
	}
	return part
}
