package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"
)

// Tools of the editor's folder.
const (
	toolRead   = "editor_read_file"
	toolWrite  = "editor_write_file"
	toolEdit   = "editor_edit_file"
	toolList   = "editor_list_files"
	toolSearch = "editor_search"
	toolRun    = "editor_run_command"
)

// Limits of these tools' results.
const (
	maxText     = 512 << 10 // bytes of a file that is read
	maxEntries  = 1000
	maxMatches  = 200
	maxLine     = 300      // bytes of a line that matches
	maxSearched = 1 << 20  // bytes of a file that is searched
	maxOutput   = 64 << 10 // bytes of a command
	commandTime = 2 * time.Minute
	longestTime = 30 * time.Minute
	releaseTime = 10 * time.Second
)

// clientTool is a tool in the form of the API.
type clientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// arguments are the arguments of all these tools.
type arguments struct {
	Path       string `json:"path"`
	Line       int    `json:"line"`
	Limit      int    `json:"limit"`
	Content    string `json:"content"`
	Old        string `json:"old_text"`
	New        string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all"`
	Pattern    string `json:"pattern"`
	Glob       string `json:"glob"`
	Command    string `json:"command"`
	Seconds    int    `json:"timeout_seconds"`
}

// tools returns the tools of a session.
func (e *editor) tools(s *session, mode sdk.SessionModeId) []clientTool {
	can := e.capabilities()
	where := "the user's project in their editor, " + strings.Join(s.roots, " and ")
	const field = `{"type":"string","description":%q}`
	file := fmt.Sprintf(field, "absolute, or relative to "+s.folder)
	make := func(name, about, required string, properties ...string) clientTool {
		return clientTool{name, about, json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") +
			`},"required":[` + required + `]}`)}
	}
	list := []clientTool{
		make(toolRead, "Reads a text file of "+where+", as the user sees it there: with changes that are not saved yet. "+
			"The tools read_file, ls, grep and bash do not see this folder.", `"path"`, `"path":`+file,
			`"line":{"type":"integer","description":"first line, from 1"}`,
			`"limit":{"type":"integer","description":"number of lines"}`),
		make(toolList, "Lists files of "+where+". .git and folders of installed packages are left out.", "",
			`"path":`+fmt.Sprintf(field, "a folder in it; default: the project"),
			`"glob":`+fmt.Sprintf(field, "names to list, such as *.go")),
		make(toolSearch, "Searches the saved files of "+where+" for a regular expression (RE2), line by line.", `"pattern"`,
			`"pattern":{"type":"string"}`, `"path":`+fmt.Sprintf(field, "a folder or file in it; default: the project"),
			`"glob":`+fmt.Sprintf(field, "names of files to search, such as *.go")),
	}
	if mode == modeRead {
		return list
	}
	list = append(list,
		make(toolEdit, "Replaces a piece of text in a file of "+where+". old_text must be there exactly once, unless "+
			"replace_all is true. Read the file first.", `"path","old_text","new_text"`, `"path":`+file,
			`"old_text":{"type":"string"}`, `"new_text":{"type":"string"}`, `"replace_all":{"type":"boolean"}`),
		make(toolWrite, "Writes a whole text file of "+where+". To change part of one, use "+toolEdit+".", `"path","content"`,
			`"path":`+file, `"content":{"type":"string"}`))
	if can.Terminal {
		list = append(list, make(toolRun, "Runs a shell command in "+where+", in a terminal that the user sees. "+
			"Your tool bash runs elsewhere, in a sandbox without this folder.", `"command"`, `"command":{"type":"string"}`,
			`"path":`+fmt.Sprintf(field, "the folder to run it in; default: the project"),
			`"timeout_seconds":{"type":"integer","description":"default: 120"}`))
	}
	return list
}

// place makes a path absolute and rejects paths outside of the session's folders, also through links.
func (s *session) place(name string) (string, error) {
	if name == "" {
		return s.folder, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.folder, name)
	}
	name = filepath.Clean(name)
	for _, root := range s.roots {
		if within(root, name) && within(real(root), real(name)) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s is outside of the project, %s", name, strings.Join(s.roots, " and "))
}

func within(root, name string) bool {
	rel, err := filepath.Rel(root, name)
	return err == nil && filepath.IsLocal(rel)
}

// real resolves the links in the existing part of a path.
func real(name string) string {
	rest := ""
	for at := name; ; {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest)
		} else if _, err := os.Lstat(at); err == nil {
			return "" // a dangling link
		}
		up := filepath.Dir(at)
		if up == at {
			return name
		}
		rest, at = filepath.Join(filepath.Base(at), rest), up
	}
}

// errRefused means that the person refused.
var errRefused = errors.New("the user has refused this; ask what they want instead")

// perform carries a call out.
func (t *teller) perform(ctx context.Context, c calling) (string, error) {
	var a arguments
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return "", fmt.Errorf("the arguments do not fit: %w", err)
	}
	at, err := t.s.place(a.Path)
	if err != nil {
		return "", err
	}
	mode, _ := t.s.choices()
	switch c.Name {
	case toolRead:
		return t.e.read(ctx, t.s, at, a.Line, a.Limit)
	case toolList:
		return list(ctx, t.s, at, a.Glob)
	case toolSearch:
		return search(ctx, t.s, at, a.Pattern, a.Glob)
	case toolWrite, toolEdit, toolRun:
		if mode == modeRead {
			return "", errors.New("the user has switched to reading only")
		}
	default:
		return "", fmt.Errorf("the editor has no tool %q", c.Name)
	}
	if c.Name == toolRun {
		return t.command(ctx, c, at, a)
	}
	if a.Path == "" {
		return "", errors.New("path is missing")
	}
	return t.change(ctx, c, at, a)
}

// read returns a file's content in the editor.
func (e *editor) read(ctx context.Context, s *session, at string, line, limit int) (string, error) {
	text := ""
	if e.capabilities().Fs.ReadTextFile {
		r := sdk.ReadTextFileRequest{SessionId: s.id, Path: at}
		if line > 0 {
			r.Line = &line
		}
		if limit > 0 {
			r.Limit = &limit
		}
		got, err := e.conn.ReadTextFile(ctx, r)
		if err != nil {
			return "", fmt.Errorf("read %s: %s", at, reason(err))
		}
		text = got.Content
	} else {
		whole, err := fromDisk(at, maxText+1)
		if err != nil {
			return "", err
		}
		text = lines(whole, line, limit)
	}
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") +
			fmt.Sprintf("\n[cut after %d bytes: read the rest with line and limit]", maxText)
	}
	return text, nil
}

// whole returns the content of a file to be changed.
func (e *editor) whole(ctx context.Context, s *session, at string) (string, error) {
	if !e.capabilities().Fs.ReadTextFile {
		return fromDisk(at, maxSearched)
	}
	got, err := e.conn.ReadTextFile(ctx, sdk.ReadTextFileRequest{SessionId: s.id, Path: at})
	if err != nil {
		return "", fmt.Errorf("read %s: %s", at, reason(err))
	}
	return got.Content, nil
}

// reason returns the editor's error message.
func reason(err error) string {
	var r *sdk.RequestError
	if !errors.As(err, &r) {
		return err.Error()
	}
	if data, ok := r.Data.(map[string]any); ok {
		for _, key := range []string{"details", "error"} {
			if text, ok := data[key].(string); ok {
				return text
			}
		}
	}
	return r.Message
}

func fromDisk(at string, most int64) (_ string, err error) {
	f, err := os.Open(at)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(fmt.Errorf("%s isn't a file", at), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return "", fmt.Errorf("%s isn't text", at)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

// lines returns n lines of a text, beginning with line from, counted from 1.
func lines(text string, from, n int) string {
	if from <= 1 && n <= 0 {
		return text
	}
	all := strings.SplitAfter(text, "\n")
	from = min(max(from, 1)-1, len(all))
	to := len(all)
	if n > 0 {
		to = min(from+n, to)
	}
	return strings.Join(all[from:to], "")
}

// edited returns the text of a file after a call.
func edited(c calling, a arguments, before string) (string, error) {
	if c.Name == toolWrite {
		return a.Content, nil
	}
	switch n := strings.Count(before, a.Old); {
	case a.Old == "":
		return "", errors.New("old_text is empty")
	case n == 0:
		return "", errors.New("old_text is not in the file; read it again")
	case n > 1 && !a.ReplaceAll:
		return "", fmt.Errorf("old_text is in the file %d times: give more of the text around it, or set replace_all", n)
	}
	return strings.ReplaceAll(before, a.Old, a.New), nil
}

// change writes or edits a file, once a person allows it. While they are asked the file may change.
func (t *teller) change(ctx context.Context, c calling, at string, a arguments) (string, error) {
	t.s.writes.Lock()
	defer t.s.writes.Unlock()
	before, known := "", true
	look := func() error {
		text, err := t.e.whole(ctx, t.s, at)
		if err != nil && c.Name == toolEdit {
			return err
		}
		before, known = text, err == nil
		return nil
	}
	if err := look(); err != nil {
		return "", err
	}
	after, err := edited(c, a, before)
	if err != nil {
		return "", err
	}
	diff := sdk.ToolDiffContent(at, after)
	if known {
		diff = sdk.ToolDiffContent(at, after, before)
	}
	shown := []sdk.ToolCallContent{diff}
	t.tell(sdk.UpdateToolCall(c.ID, sdk.WithUpdateContent(shown)))
	t.shown(c.ID)
	if mode, _ := t.s.choices(); mode != modeEdit {
		if err := t.allow(ctx, c, "edit", sdk.ToolKindEdit, shown); err != nil {
			return "", err
		}
		if c.Name == toolEdit {
			if err := look(); err != nil {
				return "", err
			}
			if after, err = edited(c, a, before); err != nil {
				return "", err
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return "", err
	}
	if t.e.capabilities().Fs.WriteTextFile {
		_, err = t.e.conn.WriteTextFile(ctx, sdk.WriteTextFileRequest{SessionId: t.s.id, Path: at, Content: after})
		if err != nil {
			return "", fmt.Errorf("write %s: %s", at, reason(err))
		}
	} else if err := os.WriteFile(at, []byte(after), 0o644); err != nil {
		return "", err
	}
	return "Written: " + at, nil
}

// command runs one in a terminal of the editor.
func (t *teller) command(ctx context.Context, c calling, at string, a arguments) (_ string, err error) {
	if strings.TrimSpace(a.Command) == "" {
		return "", errors.New("command is empty")
	}
	if err := t.allow(ctx, c, "run", sdk.ToolKindExecute, nil); err != nil {
		return "", err
	}
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	made, err := t.e.conn.CreateTerminal(ctx, sdk.CreateTerminalRequest{SessionId: t.s.id, Command: shell,
		Args: []string{flag, a.Command}, Cwd: &at, OutputByteLimit: sdk.Ptr(maxOutput)})
	if err != nil {
		return "", fmt.Errorf("open a terminal: %s", reason(err))
	}
	id := made.TerminalId
	defer func() {
		after, done := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer done()
		if _, failed := t.e.conn.ReleaseTerminal(after, sdk.ReleaseTerminalRequest{SessionId: t.s.id,
			TerminalId: id}); failed != nil && err == nil {
			err = fmt.Errorf("close the terminal: %s", reason(failed))
		}
	}()
	t.tell(sdk.UpdateToolCall(c.ID, sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolTerminalRef(id)})))
	t.shown(c.ID)
	limit := commandTime
	if a.Seconds > 0 {
		limit = min(time.Duration(a.Seconds)*time.Second, longestTime)
	}
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	end, err := t.e.conn.WaitForTerminalExit(waiting, sdk.WaitForTerminalExitRequest{SessionId: t.s.id, TerminalId: id})
	how := ""
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case waiting.Err() != nil:
		how = fmt.Sprintf("ended after %v", limit)
		if _, err := t.e.conn.KillTerminal(ctx, sdk.KillTerminalRequest{SessionId: t.s.id, TerminalId: id}); err != nil {
			return "", fmt.Errorf("end the command: %s", reason(err))
		}
	case err != nil:
		return "", fmt.Errorf("wait for the command: %s", reason(err))
	case end.ExitCode != nil:
		how = fmt.Sprintf("exit code %d", *end.ExitCode)
	case end.Signal != nil:
		how = "ended by " + *end.Signal
	}
	out, err := t.e.conn.TerminalOutput(ctx, sdk.TerminalOutputRequest{SessionId: t.s.id, TerminalId: id})
	if err != nil {
		return "", fmt.Errorf("read the command's output: %s", reason(err))
	}
	text := out.Output
	if len(text) > maxOutput {
		text, out.Truncated = strings.ToValidUTF8(text[len(text)-maxOutput:], ""), true
	}
	if out.Truncated {
		text = "[the beginning is cut]\n" + text
	}
	return strings.TrimRight(text, "\n") + "\n[" + how + "]", nil
}

// leftOut reports whether reading skips a folder.
func leftOut(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__":
		return true
	}
	return false
}

// errEnough ends a walk that has found enough.
var errEnough = errors.New("enough")

// walk visits the files below a folder that have a name of a glob. Links are not followed.
func walk(ctx context.Context, s *session, at, glob string, visit func(at, shown string) error) error {
	if _, err := path.Match(glob, ""); err != nil {
		return fmt.Errorf("glob: %w", err)
	}
	err := filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == at:
			return err
		case err != nil:
			return nil // an unreadable folder
		case d.IsDir() && name != at && leftOut(d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		shown, err := filepath.Rel(s.folder, name)
		if err != nil || !filepath.IsLocal(shown) {
			shown = name
		}
		shown = filepath.ToSlash(shown)
		if glob != "" {
			byName, _ := path.Match(glob, d.Name()) // the pattern is valid, as checked above
			byPath, _ := path.Match(glob, shown)
			if !byName && !byPath {
				return nil
			}
		}
		return visit(name, shown)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func list(ctx context.Context, s *session, at, glob string) (string, error) {
	var b strings.Builder
	n := 0
	err := walk(ctx, s, at, glob, func(_, shown string) error {
		if n++; n > maxEntries {
			fmt.Fprintf(&b, "[there are more than %d: name a folder or a glob]\n", maxEntries)
			return errEnough
		}
		b.WriteString(shown + "\n")
		return nil
	})
	if n == 0 && err == nil {
		return "No files", nil
	}
	return b.String(), err
}

func search(ctx context.Context, s *session, at, pattern, glob string) (string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil || pattern == "" {
		return "", errors.Join(errors.New("pattern isn't a valid regular expression"), err)
	}
	var b strings.Builder
	n := 0
	err = walk(ctx, s, at, glob, func(name, shown string) error {
		info, err := os.Stat(name)
		if err != nil || info.Size() > maxSearched {
			return nil // not a source file
		}
		text, err := os.ReadFile(name)
		if err != nil || bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			return nil
		}
		line := 0
		for one := range strings.Lines(string(text)) {
			if line++; !re.MatchString(strings.TrimRight(one, "\r\n")) {
				continue
			}
			if n++; n > maxMatches {
				fmt.Fprintf(&b, "[there are more than %d: be more exact]\n", maxMatches)
				return errEnough
			}
			one = strings.TrimRight(one, "\r\n")
			if len(one) > maxLine {
				one = strings.ToValidUTF8(one[:maxLine], "") + "…"
			}
			fmt.Fprintf(&b, "%s:%d: %s\n", shown, line, one)
		}
		return nil
	})
	if n == 0 && err == nil {
		return "No matches", nil
	}
	return b.String(), err
}
