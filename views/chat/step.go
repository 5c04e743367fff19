package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

const (
	previewLines = 8 // lines of a command's output shown initially
	shownSites   = 6 // sites of a search shown as separate chips
)

// line is a step in plain words.
type line struct {
	verb   string
	target string
	mono   bool // the target is a path, a pattern or a command
	meta   []string
}

// args are the arguments of tools with custom texts. Missing or mistyped fields stay empty, because models may send
// anything.
type args struct {
	Path, Command, Pattern, Query, URL, Description string
	Text                                            string // text to be read aloud
	Helper, Prompt                                  string // the kind of a helper, and its task
	Start, End                                      int
	Files                                           []string
	Name, Action                                    string // the name of a skill, and the operation on it
}

// growing returns the address of further steps of a working helper.
func growing(t views.HelperTrail) templ.Attributes {
	if !t.Running {
		return nil
	}
	return templ.Attributes{"data-again": views.TrailURL(t.Thread, t.Step)}
}

func readArgs(raw json.RawMessage) args {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return args{}
	}
	text := func(names ...string) string {
		for _, n := range names {
			var s string
			if v, ok := m[n]; ok && json.Unmarshal(v, &s) == nil && s != "" {
				return s
			}
		}
		return ""
	}
	number := func(names ...string) int {
		for _, n := range names {
			var f float64
			if v, ok := m[n]; ok && json.Unmarshal(v, &f) == nil {
				return int(f)
			}
		}
		return 0
	}
	a := args{
		Path: text("path", "file_path", "image_path", "filepath", "filename", "dir", "directory", "audio_path"), Command: text("command", "cmd"),
		Pattern: text("pattern", "regex", "glob"), Query: text("query", "q"), URL: text("url"),
		Description: text("description", "instruction", "title", "name"),
		Text:        text("text"), Helper: text("subagent_type"), Prompt: text("prompt"),
		Start: number("start_line", "offset"), End: number("end_line"), Name: text("name"), Action: text("action"),
	}
	for _, n := range []string{"filepaths", "file_paths", "files", "paths"} {
		if v, ok := m[n]; ok && json.Unmarshal(v, &a.Files) == nil {
			break
		}
	}
	return a
}

// describe describes a step. A tool with a custom text needs one case here and two keys in the catalogue.
func describe(ctx context.Context, s views.Step) line {
	t := func(key string, args ...any) string { return i18n.C(ctx, key, args...) }
	running := s.State == views.StepRun || s.State == views.StepWait
	if s.Kind == views.StepReasoning {
		if running {
			return line{verb: t("think.run")}
		}
		if s.State == views.StepStop {
			return line{verb: t("think.again")}
		}
		return line{verb: t("think.done")}
	}
	if s.Kind == views.StepRetry {
		return line{verb: retryReason(ctx, s.Retry), target: retryWait(ctx, s.Retry)}
	}
	verb := func(tool string) string {
		if running {
			return t("tool." + tool + ".run")
		}
		return t("tool." + tool)
	}
	a := readArgs(s.Args)
	l := line{verb: verb("other"), target: oneLine(s.Tool), mono: true}
	switch s.Tool {
	case "ask_clarification":
		return line{verb: verb("ask")}
	case "write_todos":
		return line{verb: verb("plan")}
	case "ls":
		l = line{verb: verb("ls"), target: shortPath(a.Path), mono: true, meta: count(ctx, s, "entries")}
	case "read_file":
		l = line{verb: verb("read_file"), target: shortPath(a.Path), mono: true}
		switch {
		case a.Start > 0 && a.End > 0:
			l.meta = []string{t("tool.lines", a.Start, a.End)}
		case a.Start > 1:
			l.meta = []string{t("tool.from", a.Start)}
		default:
			l.meta = count(ctx, s, "lines")
		}
	case "write_file":
		l = line{verb: verb("write_file"), target: shortPath(a.Path), mono: true}
		if appends(s.Args) {
			l.verb = verb("append_file")
		}
	case "str_replace":
		l = line{verb: verb("str_replace"), target: shortPath(a.Path), mono: true}
	case "glob":
		l = line{verb: verb("glob"), target: oneLine(a.Pattern), mono: true,
			meta: within(ctx, a.Path, count(ctx, s, "files"))}
	case "grep":
		l = line{verb: verb("grep"), target: oneLine(a.Pattern), mono: true,
			meta: within(ctx, a.Path, count(ctx, s, "found"))}
	case "present_files":
		l = line{verb: verb("present_files"), target: fileNames(a), mono: true}
	case "search_documents":
		l = line{verb: verb("search_documents"), target: oneLine(a.Query), mono: true}
	case "list_uploaded_files":
		return line{verb: verb("list_uploaded_files")}
	case "view_image":
		l = line{verb: verb("view_image"), target: shortPath(a.Path), mono: true}
	case "bash":
		l = line{verb: verb("bash"), target: oneLine(first(a.Command, a.Description)), mono: true}
	case "web_search":
		l = line{verb: verb("web_search"), target: oneLine(a.Query), mono: true}
	case "web_fetch":
		l = line{verb: verb("web_fetch"), target: shortURL(a.URL), mono: true}
	case "browser_navigate":
		l = line{verb: verb(s.Tool), target: shortURL(a.URL), mono: true}
	case "browser_click", "browser_type":
		l = line{verb: verb(s.Tool), target: element(ctx, s)}
	case "browser_read", "browser_back", "browser_screenshot", "browser_close":
		l = line{verb: verb(s.Tool)}
		if s.Browser != nil && s.Browser.Address != "" {
			l.target, l.mono = shortURL(s.Browser.Address), true
		}
	case "browser_download":
		l = line{verb: verb(s.Tool), target: shortURL(a.URL), mono: true}
		switch {
		case s.Browser != nil && len(s.Browser.Saved) > 0:
			l.target = oneLine(s.Browser.Names())
		case a.URL == "":
			l = line{verb: verb(s.Tool), target: element(ctx, s)}
		}
	case "image_search":
		l = line{verb: verb("image_search"), target: oneLine(a.Query), mono: true}
	case "generate_image", "edit_image":
		l = line{verb: verb(s.Tool), target: oneLine(a.Prompt)}
	case "generate_speech":
		l = line{verb: verb(s.Tool), target: oneLine(first(a.Name, a.Text))}
	case "transcribe_audio":
		l = line{verb: verb(s.Tool), target: shortPath(a.Path), mono: true}
	case "setup_agent", "update_agent":
		l = line{verb: verb(s.Tool), target: oneLine(a.Description)}
	case "skill_manage":
		l = line{verb: verb("skill_manage"), target: strings.TrimSpace(oneLine(a.Name + " " + a.Path)), mono: true}
		if a.Action == "delete" || a.Action == "remove_file" {
			l.verb = verb("skill_remove")
		}
	case "task":
		l = line{verb: verb("task"), target: oneLine(a.Description)}
	}
	return l
}

// element returns the quoted name of the element used by a browser step; "" while unknown.
func element(ctx context.Context, s views.Step) string {
	name := ""
	if s.Browser != nil {
		name = s.Browser.Target
	}
	var a struct {
		Element json.RawMessage `json:"element"`
	}
	if name == "" && json.Unmarshal(s.Args, &a) == nil && json.Unmarshal(a.Element, &name) == nil {
		name = strings.Trim(name, "[]0123456789 ")
	}
	if name = oneLine(name); name == "" {
		return ""
	}
	return i18n.C(ctx, "tool.quoted", name)
}

func pageName(b *views.Browsed) string {
	if t := oneLine(b.Title); t != "" {
		return t
	}
	return shortURL(b.Address)
}

// browsing reports whether a tool acts in the browser.
func browsing(tool string) bool { return strings.HasPrefix(tool, "browser_") }

// Saying describes a step in one phrase for screen readers.
func Saying(ctx context.Context, s views.Step) string {
	l := describe(ctx, s)
	return strings.TrimSpace(l.verb + " " + l.target)
}

// StepClass returns the class of a step's element; live, a how "class" swap sets it.
func StepClass(k views.StepKind, s views.StepState) string {
	if s == "" {
		s = views.StepDone
	}
	return "step " + string(k) + " " + string(s)
}

func stateOf(s views.Step) views.StepState {
	if s.State == "" {
		return views.StepDone
	}
	return s.State
}

func headID(s views.Step) string {
	if s.Kind == views.StepReasoning {
		return "rh-" + s.ID
	}
	return "sh-" + s.ID
}

// textID returns the element that holds the text of reasoning or of a note.
func textID(s views.Step) string {
	if s.Kind == views.StepNote {
		return "nt-" + s.ID
	}
	return "rt-" + s.ID
}

// count returns for example "12 entries", or nothing while the number is unknown.
func count(ctx context.Context, s views.Step, what string) []string {
	if stateOf(s) != views.StepDone || s.Lines == 0 {
		return nil
	}
	return []string{i18n.N(ctx, "tool.count."+what, s.Lines)}
}

func within(ctx context.Context, dir string, meta []string) []string {
	d := shortPath(dir)
	if d == "" || d == "." || d == "/" || d == "workspace" {
		return meta
	}
	return append([]string{i18n.C(ctx, "tool.in", d)}, meta...)
}

func appends(raw json.RawMessage) bool {
	var v struct {
		Append bool `json:"append"`
	}
	return json.Unmarshal(raw, &v) == nil && v.Append
}

func pageTitle(p views.WebPage) string {
	if t := oneLine(p.Title); t != "" {
		return t
	}
	return shortURL(p.URL)
}

func fileNames(a args) string {
	files := a.Files
	if len(files) == 0 && a.Path != "" {
		files = []string{a.Path}
	}
	names := make([]string, 0, min(len(files), 3))
	for i, f := range files {
		if i == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, oneLine(path.Base(f)))
	}
	return strings.Join(names, ", ")
}

func shortPath(p string) string { return oneLine(views.ShortPath(p)) }

func shortURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return oneLine(s)
	}
	return oneLine(strings.TrimPrefix(u.Host, "www.") + strings.TrimSuffix(u.Path, "/"))
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// oneLine prepares a text for the line of a step.
func oneLine(s string) string {
	const limit = 160
	if len(s) > 4*limit {
		s = s[:4*limit]
	}
	s = strings.Join(strings.Fields(views.Safe(s)), " ")
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit-1]) + "…"
	}
	return s
}

// preview returns the part of a command's output that is shown without opening the step: its last lines.
func preview(s views.Step) string {
	if browsing(s.Tool) {
		return ""
	}
	if s.Tool != "bash" || s.Output == "" {
		return ""
	}
	lines := strings.Split(strings.TrimRight(s.Output, "\n"), "\n")
	if len(lines) > previewLines {
		lines = append([]string{"…"}, lines[len(lines)-previewLines:]...)
	}
	return views.SafeLines(strings.Join(lines, "\n"))
}

// prettyArgs returns the raw input of a tool, indented when it is JSON.
func prettyArgs(s views.Step) string {
	if len(s.Args) == 0 || bytes.Equal(bytes.TrimSpace(s.Args), []byte("{}")) {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, s.Args, "", "  ") != nil {
		return views.SafeLines(string(s.Args))
	}
	return views.SafeLines(b.String())
}
