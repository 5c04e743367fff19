package ui

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the sample file
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
)

func (u *UI) root(c echo.Context) error { return c.Redirect(http.StatusFound, views.NewChatURL) }

// welcome handles GET /workspace/chats/new. The id of the thread is made here, so that files can be uploaded before the
// first message.
func (u *UI) welcome(c echo.Context) error {
	id := c.QueryParam("thread") // a draft that came back
	if u.FreeID(c.Request().Context(), id) != nil {
		id = uuid.Must(uuid.NewV7()).String()
	}
	if p := c.QueryParam("prompt"); p != "" { // its fields come first
		return c.Redirect(http.StatusSeeOther, views.FillPromptURL(id, p))
	}
	return u.welcomePage(c, id, boxDraft{text: page.Head(c.QueryParam("q"), page.MaxDraft),
		temporary: c.QueryParam("temporary") != ""})
}

func (u *UI) welcomePage(c echo.Context, thread string, d boxDraft) error {
	if d.temporary {
		page.ShowsTemporary(c, thread)
	}
	shell, err := u.Shell(c, views.NavNew, "")
	if err != nil {
		return err
	}
	if c.QueryParam("gone") != "" {
		shell.Toast = &views.Toast{Kind: views.NoticeInfo, Text: page.Say(c, "temporary.gone")}
	}
	p := views.WelcomePage{Shell: shell, Notice: u.ConfigNotice(c)}
	if p.Composer, err = u.composer(c, thread, nil, nil); err != nil {
		return err
	}
	p.Composer.New, p.Composer.Autofocus = true, true
	if p.Project = page.ProjectIn(shell, cmp.Or(d.project, c.QueryParam("project"))); p.Project != nil {
		p.Composer.Project, p.Shell.Project = p.Project.ID, p.Project.ID
	}
	if p.Composer.Temporary = d.temporary; d.temporary && p.Composer.Memory != views.MemoryNone {
		p.Composer.Memory = views.MemoryTemporary
	}
	p.Composer.Text, p.Composer.Problem = d.text, d.problem
	snap := u.Config.Current()
	connected := len(snap.UsableModels()) > 0
	if !connected {
		p.FirstRun = u.firstRun(c.Request().Context())
	}
	switch {
	case !connected: // the offline model can't do anything else
		p.Starters = []string{"file", "run"}
	case !snap.File.Web.Enabled: // nothing reads the web
		p.Starters = []string{"write", "analyse", "learn", "page"}
	}
	return page.HTML(c, max(d.status, http.StatusOK), chat.WelcomePage(p))
}

// firstRun returns the card about connecting a model.
func (u *UI) firstRun(ctx context.Context) *views.FirstRun {
	f := &views.FirstRun{ConfigPath: cmp.Or(u.Config.Current().ConfigPath, u.Config.Current().SettingsPath())}
	m := u.settings.Offered(ctx)
	f.Keys, f.Servers = m.Keys, m.Found
	return f
}

// sampleName is the sample file's name in the chat.
const sampleName = "sample-orders.csv"

// sampleOrders are invented orders with typical errors: mixed formats, an outlier, a negative amount, two spellings of
// regions and a repeated id.
//
//go:embed sample-orders.csv
var sampleOrders []byte

// sample handles POST /ui/sample: a new chat in which the sample file is analysed. It needs no script.
func (u *UI) sample(c echo.Context) error {
	thread := uuid.Must(uuid.NewV7()).String()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("files", sampleName)
	if err == nil {
		_, err = part.Write(sampleOrders)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	if _, err = u.files.Store(c.Request().Context(), thread, multipart.NewReader(&body, w.Boundary())); err == nil {
		_, err = u.start(c, thread, page.Say(c, "starter.sample.text", sampleName), url.Values{})
	}
	if err != nil {
		problem, status := u.refusal(c, err)
		if problem == "" {
			return err
		}
		return u.welcomePage(c, thread, boxDraft{problem: problem, status: status})
	}
	return c.Redirect(http.StatusSeeOther, views.ThreadURL(thread))
}
