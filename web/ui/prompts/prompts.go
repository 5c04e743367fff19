// Package prompts serves the pages of saved prompts.
package prompts

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"fawn/agent/prompts"
	"fawn/store"
	"fawn/views"
	"fawn/views/i18n"
	view "fawn/views/prompts"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Handlers serve the pages of prompts.
type Handlers struct {
	*page.Site
	Prompts *prompts.Service
}

// Routes returns the pages of prompts, and their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/prompts", page.User, h.list),
		page.Get("/workspace/prompts/new", page.User, h.blank),
		page.Get("/workspace/prompts/:prompt", page.User, h.prompt),
		page.Get("/ui/prompts/export", page.User, h.export),
		page.Post("/ui/prompts", page.User, h.create),
		page.Post("/ui/prompts/import", page.User, h.bring),
		page.Post("/ui/prompts/:prompt/save", page.User, h.save),
		page.Post("/ui/prompts/:prompt/duplicate", page.User, h.duplicate),
		page.Post("/ui/prompts/:prompt/delete", page.User, h.remove),
	}
}

// maxForm limits the form of a prompt, in bytes: letters may be written as three.
const maxForm = 4 * prompts.MaxText

// Reader returns the user of a request.
func Reader(ctx context.Context) prompts.Who {
	return prompts.Who{Owner: principal.Owner(ctx), Operator: principal.Of(ctx).Operator()}
}

// list handles GET /workspace/prompts.
func (h *Handlers) list(c echo.Context) error {
	var notice *views.Notice
	say := func(kind views.NoticeKind, text string) { notice = &views.Notice{Kind: kind, Text: text} }
	switch n, err := strconv.Atoi(c.QueryParam("added")); {
	case c.QueryParam("deleted") != "":
		say(views.NoticeInfo, page.Say(c, "prompts.deleted"))
	case err == nil && n >= 0:
		say(views.NoticeInfo, i18n.Count(page.ReadPrefs(c.Request()).Lang, "prompts.imported", n))
	}
	return h.listPage(c, http.StatusOK, notice)
}

func (h *Handlers) listPage(c echo.Context, status int, notice *views.Notice) (err error) {
	p := views.PromptsPage{Notice: notice}
	if p.Shell, err = h.Shell(c, views.NavPrompts, ""); err != nil {
		return err
	}
	ctx := c.Request().Context()
	by := Reader(ctx)
	list, err := h.Prompts.List(ctx, by, true)
	if err != nil {
		return err
	}
	groups, err := h.groups(ctx)
	if err != nil {
		return err
	}
	for _, one := range list {
		v := shown(one)
		v.Group = groups[one.Shared]
		p.Own = p.Own || v.Mine
		p.Prompts = append(p.Prompts, v)
	}
	return page.HTML(c, status, view.ListPage(p))
}

// groups returns the names of all groups by id.
func (h *Handlers) groups(ctx context.Context) (map[string]string, error) {
	names := map[string]string{}
	if !h.Guarded() {
		return names, nil
	}
	teams, err := h.DB.Teams(ctx)
	for _, t := range teams {
		names[t.ID] = t.Name
	}
	return names, err
}

func shown(p prompts.Prompt) views.SavedPrompt {
	return views.SavedPrompt{ID: p.ID, Name: p.Name, About: p.About, Text: p.Text, Fields: len(prompts.Fields(p.Text)),
		Mine: p.Mine, Editable: p.Editable, Everybody: p.Shared == store.SharedWithAll}
}

// blank handles GET /workspace/prompts/new; text is a chat's proposal.
func (h *Handlers) blank(c echo.Context) error {
	return h.formPage(c, http.StatusOK, views.PromptForm{Prompt: views.SavedPrompt{Editable: true, Mine: true,
		Text: page.Head(page.PlainText(c.QueryParam("text")), page.MaxDraft)}})
}

// prompt handles GET /workspace/prompts/:prompt.
func (h *Handlers) prompt(c echo.Context) error {
	ctx := c.Request().Context()
	p, err := h.Prompts.Get(ctx, Reader(ctx), page.Param(c, "prompt"))
	if err != nil {
		return err
	}
	return h.formPage(c, http.StatusOK, views.PromptForm{ID: p.ID, Prompt: shown(p), Shared: p.Shared,
		Saved: c.QueryParam("saved") != ""})
}

func (h *Handlers) formPage(c echo.Context, status int, f views.PromptForm) (err error) {
	if f.Shell, err = h.Shell(c, views.NavPrompts, ""); err != nil {
		return err
	}
	ctx := c.Request().Context()
	groups, everybody, err := h.Prompts.Audiences(ctx, Reader(ctx))
	if err != nil {
		return err
	}
	names, err := h.groups(ctx)
	if err != nil {
		return err
	}
	f.Prompt.Group = names[f.Shared]
	chosen := f.Shared == ""
	add := func(value, name string) {
		f.Audiences = append(f.Audiences, views.PromptAudience{Value: value, Name: name})
		chosen = chosen || value == f.Shared
	}
	if everybody {
		add(store.SharedWithAll, "")
	}
	for _, g := range groups {
		add(g.ID, g.Name)
	}
	if !chosen { // otherwise saving the form would change it
		add(f.Shared, f.Prompt.Group)
	}
	return page.HTML(c, status, view.FormPage(f))
}

// drafted reads a prompt from a form.
func drafted(form url.Values) prompts.Draft {
	return prompts.Draft{Name: form.Get("name"), About: page.PlainText(form.Get("description")), Text: page.PlainText(form.Get("text")),
		Shared: form.Get("shared")}
}

// create handles POST /ui/prompts.
func (h *Handlers) create(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), maxForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p, err := h.Prompts.Create(ctx, Reader(ctx), drafted(form))
	return h.saved(c, "", p, form, err)
}

// save handles POST /ui/prompts/:prompt/save.
func (h *Handlers) save(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), maxForm)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), page.Param(c, "prompt")
	p, err := h.Prompts.Change(ctx, Reader(ctx), id, func(d *prompts.Draft) error {
		was := d.Shared
		*d = drafted(form)
		if !form.Has("shared") {
			d.Shared = was
		}
		return nil
	})
	return h.saved(c, id, p, form, err)
}

// saved redirects to a prompt's page, or shows the form with the errors.
func (h *Handlers) saved(c echo.Context, id string, p prompts.Prompt, form url.Values, err error) error {
	if err == nil && !p.Mine && p.Shared == "" {
		return c.Redirect(http.StatusSeeOther, views.PromptsURL)
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, views.SavedPromptURL(p.ID)+"?saved=1")
	}
	f := views.PromptForm{ID: id, Shared: form.Get("shared"), Prompt: views.SavedPrompt{ID: id, Mine: id == "", Editable: true,
		Name: page.Head(form.Get("name"), page.MaxTitle), About: page.PlainText(form.Get("description")),
		Text: page.PlainText(form.Get("text"))}}
	var status int
	if f.Wrong, f.Problem, status, err = wrong(c, err); err != nil {
		return err
	}
	return h.formPage(c, status, f)
}

// wrong translates the error of a prompt and its field; other errors are passed on.
func wrong(c echo.Context, err error) (field, text string, status int, _ error) {
	var bad *prompts.Invalid
	switch {
	case errors.Is(err, store.ErrExists):
		return "name", page.Say(c, "prompts.wrong.taken"), http.StatusConflict, nil
	case errors.Is(err, prompts.ErrForbidden):
		return "", "", 0, httpx.Errorf(http.StatusForbidden, "%s", page.Say(c, "prompts.wrong.forbidden"))
	case !errors.As(err, &bad):
		return "", "", 0, err
	}
	status = http.StatusUnprocessableEntity
	switch bad.Field {
	case "name":
		return "name", page.Say(c, "prompts.wrong.name", prompts.MaxName), status, nil
	case "description":
		return "description", page.Say(c, "prompts.wrong.about", prompts.MaxAbout), status, nil
	case "text":
		return "text", page.Say(c, "prompts.wrong.text", prompts.MaxText>>10, prompts.MaxFields), status, nil
	case "shared_with":
		return "shared", page.Say(c, "prompts.wrong.shared"), status, nil
	case "prompts":
		return "", page.Say(c, "prompts.wrong.full", prompts.MaxPrompts), status, nil
	}
	return "", views.Safe(bad.Error()), status, nil
}

// duplicate handles POST /ui/prompts/:prompt/duplicate.
func (h *Handlers) duplicate(c echo.Context) error {
	ctx := c.Request().Context()
	p, err := h.Prompts.Duplicate(ctx, Reader(ctx), page.Param(c, "prompt"))
	if err == nil {
		return c.Redirect(http.StatusSeeOther, views.SavedPromptURL(p.ID))
	}
	return h.refused(c, err)
}

// remove handles POST /ui/prompts/:prompt/delete.
func (h *Handlers) remove(c echo.Context) error {
	ctx := c.Request().Context()
	if err := h.Prompts.Delete(ctx, Reader(ctx), page.Param(c, "prompt")); err != nil {
		return h.refused(c, err)
	}
	return c.Redirect(http.StatusSeeOther, views.PromptsURL+"?deleted=1")
}

// refused shows above the list why an action failed.
func (h *Handlers) refused(c echo.Context, err error) error {
	_, text, status, err := wrong(c, err)
	if err != nil {
		return err
	}
	return h.listPage(c, status, &views.Notice{Kind: views.NoticeError, Text: text})
}

// export handles GET /ui/prompts/export: the reader's own prompts as a file.
func (h *Handlers) export(c echo.Context) error {
	ctx := c.Request().Context()
	out, err := h.Prompts.Export(ctx, Reader(ctx))
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Disposition", page.Attached("prompts.json"))
	header.Set("Cache-Control", "private, no-store")
	return c.Blob(http.StatusOK, "application/json", append(data, '\n'))
}

// bring handles POST /ui/prompts/import.
func (h *Handlers) bring(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, prompts.MaxExport+page.SmallForm)
	var done prompts.Imported
	_, had, err := page.ReadFormFiles(r, page.SmallForm, func(_ url.Values, parts *multipart.Reader) error {
		part, err := parts.NextPart()
		if err != nil {
			return page.FormError(err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return page.FormError(err)
		}
		list, err := prompts.Read(data)
		if err == nil {
			done, err = h.Prompts.Import(ctx, Reader(ctx), list)
		}
		return err
	})
	if err == nil && !had {
		err = &prompts.Invalid{Field: "prompts", Why: "no file"}
	}
	var bad *prompts.Invalid
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over), errors.As(err, &bad) && bad.Field == "prompts" && len(done.Renamed)+done.Added == 0:
		return h.listPage(c, http.StatusUnprocessableEntity, &views.Notice{Kind: views.NoticeError, Text: page.Say(c, "prompts.import.bad")})
	case err != nil:
		return h.refused(c, err)
	}
	return c.Redirect(http.StatusSeeOther, views.PromptsURL+"?added="+strconv.Itoa(done.Added))
}
