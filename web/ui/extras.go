package ui

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/httpx"
	fileui "fawn/web/ui/files"
	"fawn/web/ui/page"
)

// maxExtraForm limits the form of a prompt, a resource or the tools of a chat, in bytes.
const maxExtraForm = 256 << 10

// inserted is the script's addition to the message box: text, and chips of files.
type inserted struct {
	Text  string `json:"text,omitempty"`
	Chip  string `json:"chip,omitempty"`
	Error string `json:"error,omitempty"`
}

// errNoPrompt and errNoResource mean that no server of the chat has the requested item any more.
var (
	errNoPrompt   = errors.New("the prompt no longer exists")
	errNoResource = errors.New("the resource no longer exists")
	errNoArgument = errors.New("an argument of a prompt is missing")
)

// offIn lists the tools switched off in a chat.
func (u *UI) offIn(ctx context.Context, thread string) (switches.Off, error) {
	if u.MCP == nil || u.Switches == nil {
		return switches.Off{}, nil
	}
	return u.Switches.Off(ctx, thread)
}

// promptsOf returns the prompts of MCP servers that are on in a chat. It waits for no server.
func (u *UI) promptsOf(ctx context.Context, thread string) (list []views.Prompt, err error) {
	off, err := u.offIn(ctx, thread)
	if err != nil || u.MCP == nil {
		return nil, err
	}
	may := u.Rights(ctx)
	for _, p := range u.MCP.Prompts() {
		if off.HasServer(p.Server) || !may.May(access.Server, p.Server) {
			continue
		}
		one := views.Prompt{Server: p.Server, Name: p.Name, Text: page.OneLine(p.Description)}
		for _, a := range p.Arguments {
			one.Args = append(one.Args, views.PromptArg{Name: a.Name, Text: page.OneLine(a.Description),
				Required: a.Required})
		}
		list = append(list, one)
	}
	return list, nil
}

// resourcesOf returns the resources of MCP servers that are on in a chat. It waits for no server.
func (u *UI) resourcesOf(ctx context.Context, thread string) (list []views.Resource, err error) {
	off, err := u.offIn(ctx, thread)
	if err != nil || u.MCP == nil {
		return nil, err
	}
	may := u.Rights(ctx)
	for _, r := range u.MCP.Resources() {
		if !off.HasServer(r.Server) && may.May(access.Server, r.Server) {
			list = append(list, views.Resource{Server: r.Server, URI: r.URI, Name: cmp.Or(page.OneLine(r.Name), r.URI),
				Text: page.OneLine(cmp.Or(r.Description, r.URI))})
		}
	}
	return list, nil
}

// promptCalled finds a prompt by server and name.
func (u *UI) promptCalled(ctx context.Context, thread, called string) (views.Prompt, error) {
	list, err := u.promptsOf(ctx, thread)
	if err != nil {
		return views.Prompt{}, err
	}
	i := slices.IndexFunc(list, func(p views.Prompt) bool { return p.Called() == called })
	if i < 0 {
		return views.Prompt{}, errNoPrompt
	}
	return list[i], nil
}

// promptIn returns the address of the form of the prompt that a message is about; "" for any other message.
func (u *UI) promptIn(ctx context.Context, thread, text string) string {
	if at := u.promptNamed(ctx, thread, text); at != "" {
		return at
	}
	called, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok || !strings.Contains(called, ":") {
		return ""
	}
	if _, err := u.promptCalled(ctx, thread, called); err != nil {
		return ""
	}
	return views.PromptURL(thread, called)
}

// prompt handles GET /ui/threads/:id/prompt: the form of a prompt.
func (u *UI) prompt(c echo.Context, id string) error {
	name := c.QueryParam("name")
	if name == "" && page.WantsFragment(c.Request()) {
		return httpx.Errorf(http.StatusBadRequest, "the address doesn't name a prompt")
	}
	p, err := u.promptCalled(c.Request().Context(), id, name)
	if errors.Is(err, errNoPrompt) && !page.WantsFragment(c.Request()) { // it was removed since it was listed
		return u.backToBox(c, id, "")
	}
	if errors.Is(err, errNoPrompt) {
		return store.ErrNotFound
	}
	if err != nil {
		return err
	}
	return u.promptForm(c, id, http.StatusOK, p, "")
}

func (u *UI) promptForm(c echo.Context, id string, status int, prompt views.Prompt, problem string) (err error) {
	p := views.PromptPage{Modal: page.WantsFragment(c.Request()), ThreadID: id, Prompt: prompt, Problem: problem}
	if p.Shell, p.New, err = u.besideBox(c, id); err != nil {
		return err
	}
	return page.HTML(c, status, chat.PromptForm(p))
}

// besideBox returns the data of a page that leads back to a message box.
func (u *UI) besideBox(c echo.Context, id string) (shell views.Shell, fresh bool, err error) {
	if _, err = u.OwnThread(c.Request().Context(), id); errors.Is(err, store.ErrNotFound) {
		fresh = true
	} else if err != nil {
		return shell, false, err
	}
	shell, err = u.Shell(c, views.NavNone, id)
	return shell, fresh, err
}

// usePrompt handles POST /ui/threads/:id/prompt: it requests a prompt from the server and puts it into the message box.
func (u *UI) usePrompt(c echo.Context, id string) error {
	form, err := page.ReadForm(c.Request(), maxExtraForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p, err := u.promptCalled(ctx, id, form.Get("name"))
	var args map[string]string
	if err == nil {
		args, err = arguments(&p, form)
	}
	var told mcp.Told
	if err == nil {
		told, err = u.MCP.Prompt(ctx, id, p.Server, p.Name, args)
	}
	var kept []uploads.File
	if err == nil {
		kept, err = u.keepFiles(ctx, id, told.Files)
	}
	if err == nil {
		return u.insert(c, id, page.PlainText(told.Text), kept)
	}
	problem, status := u.extraProblem(c, err)
	switch {
	case problem == "":
		return err
	case page.Scripted(c.Request()):
		return httpx.JSON(c, status, inserted{Error: problem})
	}
	if errors.Is(err, errNoPrompt) {
		return u.backToBox(c, id, "")
	}
	return u.promptForm(c, id, status, p, problem)
}

// arguments returns a prompt's arguments from a form, which also keeps them.
func arguments(p *views.Prompt, form url.Values) (map[string]string, error) {
	args := map[string]string{}
	var err error
	p.Args = slices.Clone(p.Args)
	for i := range p.Args {
		a := &p.Args[i]
		if a.Value = page.PlainText(form.Get("a:" + a.Name)); a.Value != "" {
			args[a.Name] = a.Value
		} else if a.Required {
			err = errNoArgument
		}
	}
	return args, err
}

// resources handles GET /ui/threads/:id/resources.
func (u *UI) resources(c echo.Context, id string) error {
	return u.resourceList(c, id, http.StatusOK, page.PlainText(c.QueryParam("text")), "")
}

func (u *UI) resourceList(c echo.Context, id string, status int, text, problem string) (err error) {
	p := views.ResourcesPage{Modal: page.WantsFragment(c.Request()), ThreadID: id, Text: text, Problem: problem}
	if p.Shell, p.New, err = u.besideBox(c, id); err != nil {
		return err
	}
	if p.Resources, err = u.resourcesOf(c.Request().Context(), id); err != nil {
		return err
	}
	return page.HTML(c, status, chat.Resources(p))
}

// attachResource handles POST /ui/threads/:id/resources: a resource is read and becomes an upload.
func (u *UI) attachResource(c echo.Context, id string) error {
	form, err := page.ReadForm(c.Request(), maxExtraForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	kept, err := u.readResource(ctx, id, form.Get("server"), form.Get("uri"))
	text := page.PlainText(form.Get("text"))
	if err == nil {
		if page.Scripted(c.Request()) {
			text = ""
		}
		return u.insert(c, id, text, kept)
	}
	problem, status := u.extraProblem(c, err)
	switch {
	case problem == "":
		return err
	case page.Scripted(c.Request()):
		return httpx.JSON(c, status, inserted{Error: problem})
	}
	return u.resourceList(c, id, status, text, problem)
}

func (u *UI) readResource(ctx context.Context, id, server, uri string) ([]uploads.File, error) {
	list, err := u.resourcesOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(r views.Resource) bool { return r.Server == server && r.URI == uri }) {
		return nil, errNoResource
	}
	files, err := u.MCP.Read(ctx, id, server, uri)
	if err != nil {
		return nil, err
	}
	return u.keepFiles(ctx, id, files)
}

// keepFiles stores files from a server among a chat's uploads, by the rules for all uploads.
func (u *UI) keepFiles(ctx context.Context, id string, files []mcp.File) ([]uploads.File, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, f := range files {
		part, err := w.CreateFormFile("files", f.Name)
		if err == nil {
			_, err = part.Write(f.Data)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	result, err := u.files.Store(ctx, id, multipart.NewReader(&body, w.Boundary()))
	if err == nil && len(result.Files) == 0 {
		err = uploads.ErrName
	}
	return result.Files, err
}

// insert answers with an addition to the message box.
func (u *UI) insert(c echo.Context, id, text string, files []uploads.File) error {
	if !page.Scripted(c.Request()) {
		return u.backToBox(c, id, text)
	}
	out := inserted{Text: text}
	for _, f := range files {
		one, err := views.Render(page.Localized(c), chat.UploadChip(id, fileui.Attachment(f)))
		if err != nil {
			return err
		}
		out.Chip += string(one)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// extraProblem returns the message for an unavailable prompt or resource; "" for other errors.
func (u *UI) extraProblem(c echo.Context, err error) (string, int) {
	var refused *mcp.RefusedError
	switch {
	case errors.As(err, &refused):
		return page.Say(c, "extras.refused", views.Safe(page.OneLine(refused.Why))), http.StatusUnprocessableEntity
	case errors.Is(err, errNoArgument):
		return page.Say(c, "prompt.missing"), http.StatusUnprocessableEntity
	case errors.Is(err, errNoPrompt), errors.Is(err, errNoResource), errors.Is(err, mcp.ErrGone),
		errors.Is(err, mcp.ErrUnknown):
		return page.Say(c, "extras.gone"), http.StatusNotFound
	}
	if status, _ := httpx.StatusOf(err); status < http.StatusInternalServerError ||
		status == http.StatusInsufficientStorage {
		return fileui.UploadProblem(c, err), status
	}
	return "", 0
}
