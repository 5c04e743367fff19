package ui

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/mcp/ask"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/httpx"
	"fawn/web/ui/chats"
	"fawn/web/ui/page"
)

// contentOf converts a form's values to the types the server expects. Empty fields are omitted.
func contentOf(fields []ask.Field, form url.Values) map[string]any {
	out := map[string]any{}
	for i, f := range fields {
		given := form["f"+strconv.Itoa(i)]
		text := ""
		if len(given) > 0 {
			text = page.PlainText(given[0])
		}
		switch {
		case f.Kind == "boolean":
			out[f.Name] = text != ""
		case f.Kind == "array":
			chosen := []any{}
			for _, g := range given {
				if n, err := strconv.Atoi(g); err == nil && n >= 0 && n < len(f.Options) {
					chosen = append(chosen, f.Options[n].Value)
				}
			}
			if len(chosen) > 0 || f.Required {
				out[f.Name] = chosen
			}
		case text == "":
		case len(f.Options) > 0:
			if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < len(f.Options) {
				out[f.Name] = f.Options[n].Value
			}
		case f.Kind == "number" || f.Kind == "integer":
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				out[f.Name] = n
			} else {
				out[f.Name] = text // an invalid value
			}
		default:
			out[f.Name] = text
		}
	}
	return out
}

// refilled returns the fields with the submitted values.
func refilled(fields []views.Field, form url.Values) []views.Field {
	for i := range fields {
		f, given := &fields[i], form["f"+strconv.Itoa(i)]
		f.Value, f.Values = "", nil
		for _, g := range given {
			switch f.Type {
			case "select", "multi_select":
				if n, err := strconv.Atoi(g); err == nil && n >= 0 && n < len(f.Options) {
					f.Value, f.Values = f.Options[n].Value, append(f.Values, f.Options[n].Value)
				}
			case "checkbox":
				f.Value = "true"
			default:
				f.Value = page.PlainText(g)
			}
		}
	}
	return fields
}

// misfit reports the field that an answer doesn't fit, if the error names one.
func misfit(c echo.Context, fields []ask.Field, err error) string {
	for _, f := range fields {
		if strings.Contains(err.Error(), "/properties/"+f.Name+":") {
			return page.Say(c, "mcp.asks.problem", f.Title)
		}
	}
	return page.Say(c, "mcp.asks.problem.all")
}

// answerForm handles POST /ui/threads/:id/mcp: a person's answer to an MCP server.
func (u *UI) answerForm(c echo.Context, t store.Thread) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	id, reply := form.Get("question"), ask.Reply{Action: form.Get("action")}
	ctx, open := c.Request().Context(), []*ask.Question{}
	if u.MCP != nil {
		if open, err = u.MCP.Questions(ctx, t.ID); err != nil {
			return err
		}
	}
	var fields []ask.Field
	if i := slices.IndexFunc(open, func(q *ask.Question) bool { return q.ID == id }); i >= 0 {
		if fields = open[i].Fields; reply.Action == ask.Accept {
			reply.Content = contentOf(fields, form)
		}
	}
	err, problem := ask.ErrNoQuestion, ""
	if u.MCP != nil {
		err = u.MCP.Answer(ctx, t.ID, id, reply)
	}
	switch {
	case errors.Is(err, ask.ErrContent):
		problem = misfit(c, fields, err)
	case errors.Is(err, ask.ErrAnswered):
		return httpx.Errorf(http.StatusConflict, "%s", page.Say(c, "mcp.asks.answered"))
	case err != nil && !errors.Is(err, ask.ErrNoQuestion): // it closed meanwhile
		return err
	}
	if !page.WantsFragment(c.Request()) {
		if problem != "" {
			return httpx.Errorf(http.StatusUnprocessableEntity, "%s", problem) // the browser's way back keeps the form
		}
		return c.Redirect(http.StatusSeeOther, chats.Back(c, t.ID, views.ThreadURL(t.ID)))
	}
	asks, err := u.Asks(ctx, t.ID)
	if err != nil {
		return err
	}
	for _, q := range asks {
		if q.Form != nil && q.Form.ID == id {
			if q.Form.Problem = problem; problem != "" {
				q.Form.Fields = refilled(q.Form.Fields, form)
			}
		}
	}
	if !page.WantsFrame(c.Request()) {
		return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.Asks(asks)))
	}
	f := views.Frame{}
	if problem == "" { // which the stream doesn't know
		f.Streamed, f.Running = true, u.Runs.Active(t.ID) != ""
	}
	if err := f.Put(page.Localized(c), views.SwapOuter, "network", chat.Asks(asks)); err != nil {
		return err
	}
	return page.Frame(c, f, views.ThreadURL(t.ID))
}
