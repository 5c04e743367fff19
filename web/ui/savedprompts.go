package ui

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/prompts"
	"fawn/store"
	"fawn/views"
	"fawn/web/httpx"
	"fawn/web/ui/page"
	promptpages "fawn/web/ui/prompts"
)

// savedPrompts returns the reader's usable prompts for lists. Of several with one name it keeps the effective one.
func (u *UI) savedPrompts(ctx context.Context) (list []views.SavedPrompt, err error) {
	all, err := u.prompts.Prompts.List(ctx, promptpages.Reader(ctx), false)
	own := map[string]bool{}
	for _, p := range all {
		own[p.Name] = own[p.Name] || p.Mine
	}
	for _, p := range all {
		if n := len(list); own[p.Name] && !p.Mine || n > 0 && list[n-1].Name == p.Name {
			continue
		}
		list = append(list, views.SavedPrompt{ID: p.ID, Name: p.Name, About: page.OneLine(p.About), Text: p.Text,
			Fields: len(prompts.Fields(p.Text))})
	}
	return list, err
}

// promptNamed returns the form of the saved prompt named by the whole message; "" for other messages. Skills take
// precedence.
func (u *UI) promptNamed(ctx context.Context, thread, text string) string {
	name, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok || name == "" || strings.ContainsAny(name, " \n\t:") {
		return ""
	}
	if u.Skills != nil {
		if s, err := u.Skills.Get(name); err == nil && s.Enabled {
			return ""
		}
	}
	p, err := u.prompts.Prompts.Called(ctx, promptpages.Reader(ctx), name)
	if err != nil {
		return ""
	}
	return views.FillPromptURL(thread, p.ID)
}

// savedPrompt handles GET /ui/threads/:id/saved-prompt: the form for the fields of a kept prompt.
func (u *UI) savedPrompt(c echo.Context, id string) error {
	ctx, fragment := c.Request().Context(), page.WantsFragment(c.Request())
	if c.QueryParam("prompt") == "" && fragment {
		return httpx.Errorf(http.StatusBadRequest, "the address doesn't name a prompt")
	}
	p, err := u.prompts.Prompts.Get(ctx, promptpages.Reader(ctx), c.QueryParam("prompt"))
	if errors.Is(err, store.ErrNotFound) && !fragment { // it was removed since it was listed
		return u.backToBox(c, id, "")
	}
	if err != nil {
		return err
	}
	return u.promptForm(c, id, http.StatusOK, askedBy(p), "")
}

// askedBy returns a kept prompt as a form asks for its fields.
func askedBy(p prompts.Prompt) views.Prompt {
	out := views.Prompt{ID: p.ID, Name: p.Name, Text: page.OneLine(p.About), Words: p.Text}
	for _, f := range prompts.Fields(p.Text) {
		out.Args = append(out.Args, views.PromptArg{Name: f.Name, Required: f.Required, Value: f.Default})
	}
	return out
}

// useSavedPrompt handles POST /ui/threads/:id/saved-prompt: the prompt, filled in, goes into the message box.
func (u *UI) useSavedPrompt(c echo.Context, id string) error {
	form, err := page.ReadForm(c.Request(), maxExtraForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p, err := u.prompts.Prompts.Get(ctx, promptpages.Reader(ctx), form.Get("prompt"))
	if errors.Is(err, store.ErrNotFound) && page.Scripted(c.Request()) {
		return httpx.JSON(c, http.StatusNotFound, inserted{Error: page.Say(c, "prompts.gone")})
	}
	if err != nil {
		return err
	}
	asked := askedBy(p)
	values, err := arguments(&asked, form)
	if errors.Is(err, errNoArgument) {
		problem := page.Say(c, "prompt.missing")
		if page.Scripted(c.Request()) {
			return httpx.JSON(c, http.StatusUnprocessableEntity, inserted{Error: problem})
		}
		return u.promptForm(c, id, http.StatusUnprocessableEntity, asked, problem)
	}
	for _, f := range asked.Args { // an emptied field stays empty
		values[f.Name] = f.Value
	}
	text, _ := prompts.Fill(p.Text, values)
	return u.insert(c, id, text, nil)
}
