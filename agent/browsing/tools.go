package browsing

import (
	"context"
	_ "embed" // the texts of the tools
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fawn/agent"
	"fawn/agent/tools"
	"fawn/sandbox/browser"
	"fawn/sandbox/files"
)

var (
	//go:embed navigate.md
	navigateText string
	//go:embed click.md
	clickText string
	//go:embed type.md
	typeText string
	//go:embed read.md
	readText string
	//go:embed back.md
	backText string
	//go:embed screenshot.md
	screenshotText string
	//go:embed download.md
	downloadText string
	//go:embed close.md
	closeText string
)

// Names of the tools.
const (
	Navigate   = "browser_navigate"
	Click      = "browser_click"
	Type       = "browser_type"
	Read       = "browser_read"
	Back       = "browser_back"
	Screenshot = "browser_screenshot"
	Download   = "browser_download"
	Close      = "browser_close"
)

// Group is the group of all of them.
const Group = "browser"

// Names returns the names of all tools.
func Names() []string {
	return []string{Navigate, Click, Type, Read, Back, Screenshot, Download, Close}
}

// Aliases returns DeerFlow's names for some of them.
func Aliases() []string { return []string{"browser_snapshot", "browser_get_text"} }

const (
	// Pictures is the folder of the steps' thumbnails.
	Pictures     = files.Outputs + "/.browser"
	maxPictures  = 200
	pictureBytes = 8 << 20
)

// Waiting is the output of a call while a person controls the browser.
const Waiting = "Waiting for you to hand the browser back"

// Artifact is the part of a result for clients, besides its text.
type Artifact struct {
	Address string   `json:"address,omitempty"`
	Title   string   `json:"title,omitempty"`
	Target  string   `json:"target,omitempty"`  // the name of the element that was used
	Picture string   `json:"picture,omitempty"` // path of a small picture of the page
	Saved   []string `json:"saved,omitempty"`   // paths of files
	Notes   []string `json:"notes,omitempty"`
}

type artifact struct {
	Browser *Artifact `json:"browser"`
}

// ReadArtifact returns the artifact of a result, nil for other tools.
func ReadArtifact(raw json.RawMessage) *Artifact {
	var a artifact
	if len(raw) == 0 || json.Unmarshal(raw, &a) != nil {
		return nil
	}
	return a.Browser
}

// Config configures a Service.
type Config struct {
	Browsers *browser.Browsers
	Files    tools.Files
	// Forget deletes the stored state of a thread's browser; nil stores nothing.
	Forget func(thread string) error
	Now    func() time.Time // nil is the system's clock
	Log    *slog.Logger
}

// Service gives agents a browser. It is safe for concurrent use.
type Service struct {
	Config
	count atomic.Uint64
}

// New returns a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Config: c}
}

type navigateArgs struct {
	URL string `json:"url" jsonschema:"the whole address, beginning with https:// or http://"`
}

type clickArgs struct {
	Element    element `json:"element" jsonschema:"the number of an element, or its visible name"`
	Dialog     string  `json:"dialog,omitempty" jsonschema:"accept answers a question of the page with yes; it is declined otherwise"`
	DialogText string  `json:"dialog_text,omitempty" jsonschema:"what is typed into a question that asks for text"`
}

type typeArgs struct {
	Element element `json:"element" jsonschema:"the number of a field, or its visible name"`
	Text    string  `json:"text" jsonschema:"the text, the name of an option, or the path of a file"`
	Submit  bool    `json:"submit,omitempty" jsonschema:"press Enter afterwards"`
}

type readArgs struct {
	Mode string `json:"mode,omitempty" jsonschema:"elements (the default) or text"`
	From int    `json:"from,omitempty" jsonschema:"the line to begin with"`
}

type screenshotArgs struct {
	FullPage bool   `json:"full_page,omitempty" jsonschema:"all of the page rather than what fits on the screen"`
	Name     string `json:"name,omitempty" jsonschema:"name of the file, without a path"`
}

type downloadArgs struct {
	Element element `json:"element,omitempty" jsonschema:"the number of a link or button, or its visible name"`
	URL     string  `json:"url,omitempty" jsonschema:"an address, in place of an element"`
}

type closeArgs struct {
	Forget bool `json:"forget,omitempty" jsonschema:"forget logins and the address, too"`
}

type noArgs struct{}

// element is a number or a name; models send both.
type element string

func (e *element) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*e = element(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return errors.New(`argument "element" must be a number or a name`)
	}
	*e = element(n.String())
	return nil
}

// Tools returns the browser tools. Calls of one answer run in order.
func (s *Service) Tools() []*agent.Tool {
	list := []*agent.Tool{
		tools.NewOfCall(Navigate, Group, navigateText, func(ctx context.Context, t *agent.Turn, c agent.ToolCall, a navigateArgs) (agent.Result, error) {
			return s.act(ctx, t, c, browser.Action{Kind: browser.Navigate, URL: a.URL})
		}),
		tools.NewOfCall(Click, Group, clickText, func(ctx context.Context, t *agent.Turn, c agent.ToolCall, a clickArgs) (agent.Result, error) {
			return s.act(ctx, t, c, browser.Action{Kind: browser.Click, Element: string(a.Element),
				Dialog: browser.Dialog{Accept: a.Dialog == "accept", Text: a.DialogText}})
		}),
		tools.NewOfCall(Type, Group, typeText, s.typed),
		tools.NewOfCall(Read, Group, readText, func(ctx context.Context, t *agent.Turn, c agent.ToolCall, a readArgs) (agent.Result, error) {
			return s.act(ctx, t, c, browser.Action{Kind: browser.Read, Words: a.Mode == "text", From: a.From, Quiet: a.From > 0})
		}),
		tools.NewOfCall(Back, Group, backText, func(ctx context.Context, t *agent.Turn, c agent.ToolCall, _ noArgs) (agent.Result, error) {
			return s.act(ctx, t, c, browser.Action{Kind: browser.Back})
		}),
		tools.NewOfCall(Screenshot, Group, screenshotText, s.screenshot),
		tools.NewOfCall(Download, Group, downloadText, func(ctx context.Context, t *agent.Turn, c agent.ToolCall, a downloadArgs) (agent.Result, error) {
			return s.act(ctx, t, c, browser.Action{Kind: browser.Save, Element: string(a.Element), URL: a.URL})
		}),
		tools.NewOfCall(Close, Group, closeText, s.close),
	}
	for _, t := range list {
		t.Access = func(agent.ToolCall) agent.Access { return agent.Access{Writes: []string{"/browser"}} }
		t.Resumes = t.Name == Read || t.Name == Navigate
	}
	return list
}

// act performs an action and describes the outcome.
func (s *Service) act(ctx context.Context, t *agent.Turn, c agent.ToolCall, a browser.Action) (agent.Result, error) {
	return s.finish(ctx, t, c, a, "")
}

// finish is act for pictures, which have a name.
func (s *Service) finish(ctx context.Context, t *agent.Turn, c agent.ToolCall, a browser.Action, name string) (agent.Result, error) {
	a.Waiting = func() {
		if data, err := agent.Encode(Waiting); err == nil {
			t.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, NS: t.NS, Call: c, Data: data})
		}
	}
	v, err := s.Browsers.Act(ctx, t.ThreadID, a)
	defer func() {
		if err := v.Discard(); err != nil { // downloads without a file
			s.Log.Warn("couldn't remove a download", "thread", t.ThreadID, "err", err)
		}
	}()
	var refused *browser.Refusal
	switch {
	case ctx.Err() != nil:
		return agent.Result{}, context.Cause(ctx)
	case err == nil || errors.As(err, &refused) && v != nil:
	case errors.As(err, &refused), errors.Is(err, browser.ErrFull), errors.Is(err, browser.ErrMemory),
		errors.Is(err, browser.ErrClosed):
		return agent.ErrorResult("Error: " + sentence(err)), nil
	case errors.Is(err, browser.ErrHeld):
		return agent.ErrorResult("Error: the user has taken over the browser and not handed it back yet. Ask them to hand it back, and wait for their answer."), nil
	case errors.Is(err, context.DeadlineExceeded):
		return agent.ErrorResult("Error: the page took too long"), nil
	default:
		s.Log.Warn("browser failed", "thread", t.ThreadID, "err", err)
		return agent.ErrorResult("Error: the browser doesn't work: " + clip(err.Error(), 300)), nil
	}
	art := &Artifact{Address: v.Address, Title: v.Title, Target: v.Target, Notes: v.Notes}
	var r agent.Result
	f, err := s.Files(t.ThreadID)
	if err != nil {
		return r, fmt.Errorf("open files of thread: %w", err)
	}
	defer f.Close()
	if art.Picture, err = s.picture(ctx, f, v.Picture); err != nil {
		s.Log.Warn("couldn't store a step's picture", "thread", t.ThreadID, "err", err)
	}
	for _, d := range v.Saved {
		at, err := save(ctx, f, d)
		if err != nil {
			if ctx.Err() != nil {
				return r, context.Cause(ctx)
			}
			v.Notes = append(v.Notes, fmt.Sprintf("%s was not downloaded: %s", d.Name, clip(err.Error(), 200)))
			continue
		}
		art.Saved = append(art.Saved, at)
		v.Notes = append(v.Notes, "downloaded "+at)
	}
	if len(v.Shot) > 0 {
		at, err := s.keepShot(ctx, f, v.Shot, name)
		if err != nil {
			return agent.ErrorResult("Error: the picture can't be saved: " + clip(err.Error(), 200)), nil
		}
		art.Saved = append(art.Saved, at)
		r.Content = agent.Text("Saved " + at + "\n" + head(v))
		if t.Options.Vision {
			r.Patch.ViewedImages = map[string]agent.Image{at: {MimeType: "image/png", Size: int64(len(v.Shot)), Path: at}}
		}
	} else {
		r.Content = agent.Text(head(v) + "\n\n" + v.Text)
	}
	if refused != nil {
		r.IsError = true
		r.Content = agent.Text("Error: " + refused.Text + "\n\n" + head(v) + "\n\n" + v.Text)
	}
	r.Artifact, err = agent.Encode(artifact{art})
	return r, err
}

// head describes the current page and the events since the last step.
func head(v *browser.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Page: %s\nAddress: %s", v.Title, v.Address)
	if v.Status >= 400 {
		fmt.Fprintf(&b, "\nHTTP status: %d", v.Status)
	}
	for _, n := range v.Notes {
		b.WriteString("\nNote: " + clip(n, 600))
	}
	return b.String()
}

func sentence(err error) string { return strings.TrimSuffix(clip(err.Error(), 400), ".") + "." }

func clip(s string, most int) string { return agent.Head(s, most) }

// typed returns the tool that fills fields.
func (s *Service) typed(ctx context.Context, t *agent.Turn, c agent.ToolCall, a typeArgs) (agent.Result, error) {
	act := browser.Action{Kind: browser.Type, Element: string(a.Element), Text: a.Text, Submit: a.Submit}
	if strings.HasPrefix(a.Text, files.UserData+"/") && !strings.Contains(a.Text, "\n") {
		f, err := s.Files(t.ThreadID)
		if err != nil {
			return agent.Result{}, fmt.Errorf("open files of thread: %w", err)
		}
		defer f.Close()
		if file, _, err := f.Open(a.Text); err == nil {
			defer file.Close()
			act.File, act.FileName = file, path.Base(a.Text)
		}
	}
	return s.act(ctx, t, c, act)
}

func (s *Service) screenshot(ctx context.Context, t *agent.Turn, c agent.ToolCall, a screenshotArgs) (agent.Result, error) {
	return s.finish(ctx, t, c, browser.Action{Kind: browser.Screenshot, Whole: a.FullPage}, a.Name)
}

func (s *Service) close(_ context.Context, t *agent.Turn, _ agent.ToolCall, a closeArgs) (agent.Result, error) {
	s.Browsers.End(t.ThreadID)
	if a.Forget && s.Forget != nil {
		if err := s.Forget(t.ThreadID); err != nil {
			return agent.Result{}, fmt.Errorf("delete browser state: %w", err)
		}
		return agent.TextResult("The browser is closed, and its logins are forgotten."), nil
	}
	return agent.TextResult("The browser is closed."), nil
}

// picture stores the small picture of a step, and removes the oldest if there are too many.
func (s *Service) picture(ctx context.Context, f *files.Files, data []byte) (string, error) {
	if len(data) == 0 {
		return "", nil
	}
	at := fmt.Sprintf("%s/%s-%04d.jpg", Pictures, s.Now().UTC().Format("20060102-150405.000"), s.count.Add(1)%10000)
	if err := f.WriteFile(ctx, at, data, false); err != nil {
		return "", err
	}
	all, _, err := f.ReadDir(Pictures)
	if err != nil {
		return at, nil //nolint:nilerr // they are looked through the next time
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return strings.Compare(b.Name(), a.Name()) })
	sum := int64(0)
	for i, one := range all {
		if sum += one.Size(); i >= maxPictures || sum > pictureBytes {
			if err := f.Remove(Pictures + "/" + one.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return at, err
			}
		}
	}
	return at, nil
}

// keepShot saves a picture of the page under a name that is free.
func (s *Service) keepShot(ctx context.Context, f *files.Files, data []byte, name string) (string, error) {
	name = strings.TrimSuffix(path.Base("/"+strings.ReplaceAll(name, "\\", "/")), path.Ext(name))
	if name == "" || name == "/" || name == "." || strings.HasPrefix(name, ".") {
		name = "screenshot"
	}
	out, at, err := create(f, clip(name, 80)+".png")
	if err != nil {
		return "", err
	}
	if err = f.Spend(ctx, int64(len(data))); err == nil {
		_, err = out.Write(data)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, f.Remove(at))
	}
	return at, nil
}

// create creates a file in the outputs, numbering a name that is taken.
func create(f *files.Files, name string) (io.WriteCloser, string, error) {
	ext := path.Ext(name)
	for i := range 1000 {
		at := files.Outputs + "/" + name
		if i > 0 {
			at = fmt.Sprintf("%s/%s-%d%s", files.Outputs, strings.TrimSuffix(name, ext), i+1, ext)
		}
		out, err := f.Create(at)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		return out, at, err
	}
	return nil, "", fmt.Errorf("there are too many files called %s", name)
}

// save moves a download into the files of the thread.
func save(ctx context.Context, f *files.Files, d *browser.Download) (at string, err error) {
	if d.Failed != "" {
		return "", errors.New(d.Failed)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	in, err := d.Open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", err
	}
	if err := f.Spend(ctx, info.Size()); err != nil {
		return "", err
	}
	out, at, err := create(f, d.Name)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, f.Remove(at))
	}
	return at, nil
}
