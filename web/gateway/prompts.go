package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/prompts"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"

	o "fawn/web/openapi"
)

// promptRoutes returns the routes of saved prompts.
func (g *Gateway) promptRoutes() []route.Route {
	return []route.Route{
		route.On("GET", "/prompts", user, "listPrompts", g.listPrompts),
		route.On("POST", "/prompts", user, "createPrompt", g.createPrompt),
		route.On("GET", "/prompts/export", user, "exportPrompts", g.exportPrompts),
		route.On("POST", "/prompts/import", user, "importPrompts", g.importPrompts),
		route.On("GET", "/prompts/{prompt_id}", user, "getPrompt", g.prompt),
		route.On("PATCH", "/prompts/{prompt_id}", user, "changePrompt", g.changePrompt),
		route.On("DELETE", "/prompts/{prompt_id}", user, "deletePrompt", g.deletePrompt),
		route.On("POST", "/prompts/{prompt_id}/duplicate", user, "duplicatePrompt", g.duplicatePrompt),
		route.On("POST", "/prompts/{prompt_id}/fill", user, "fillPrompt", g.fillPrompt),
	}
}

// promptJSON is a prompt on the wire.
type promptJSON struct {
	ID        string      `json:"prompt_id"`
	Name      string      `json:"name"`
	About     string      `json:"description"`
	Text      string      `json:"text"`
	Fields    []fieldJSON `json:"fields"`
	Shared    *string     `json:"shared_with"` // "all", the id of a group, or null
	Mine      bool        `json:"mine"`
	Editable  bool        `json:"editable"`
	CreatedAt string      `json:"created_at"`
	UpdatedAt string      `json:"updated_at"`
}

type fieldJSON struct {
	Name    string  `json:"name"`
	Default *string `json:"default"` // null: it has to be filled in
}

func promptOf(p prompts.Prompt) promptJSON {
	out := promptJSON{ID: p.ID, Name: p.Name, About: p.About, Text: p.Text, Fields: []fieldJSON{},
		Shared: route.TextOrNull(p.Shared), Mine: p.Mine, Editable: p.Editable, CreatedAt: wire.Stamp(p.CreatedAt),
		UpdatedAt: wire.Stamp(p.UpdatedAt)}
	for _, f := range prompts.Fields(p.Text) {
		one := fieldJSON{Name: f.Name}
		if !f.Required {
			one.Default = &f.Default
		}
		out.Fields = append(out.Fields, one)
	}
	return out
}

// promptError maps errors of prompts to responses.
func promptError(err error) error {
	var bad *prompts.Invalid
	switch {
	case errors.As(err, &bad):
		return httpx.Invalid("body", bad.Field, "%s", bad.Why)
	case errors.Is(err, prompts.ErrForbidden):
		return httpx.Errorf(http.StatusForbidden, "Only its owner and administrators can change this prompt; duplicate it instead")
	case errors.Is(err, store.ErrExists):
		return httpx.Errorf(http.StatusConflict, "You already have a prompt of that name")
	case errors.Is(err, store.ErrNotFound):
		return httpx.Errorf(http.StatusNotFound, "Prompt not found")
	}
	return err
}

// promptUser returns the caller.
func (g *Gateway) promptUser(c echo.Context) prompts.Who {
	return prompts.Who{Owner: g.Owner(c), Operator: principal.Of(c.Request().Context()).Operator()}
}

// sendPrompt responds with a prompt, or with an error about it.
func sendPrompt(c echo.Context, status int, p prompts.Prompt, err error) error {
	if err != nil {
		return promptError(err)
	}
	return httpx.JSON(c, status, promptOf(p))
}

type promptList struct {
	Prompts []promptJSON `json:"prompts"`
}

func (g *Gateway) listPrompts(c echo.Context) error {
	all, err := httpx.Bool(c.QueryParams(), "all", false)
	if err != nil {
		return err
	}
	list, err := g.prompts.List(c.Request().Context(), g.promptUser(c), all)
	if err != nil {
		return err
	}
	out := make([]promptJSON, len(list))
	for i, p := range list {
		out[i] = promptOf(p)
	}
	return httpx.JSON(c, http.StatusOK, promptList{out})
}

// promptBody is the body of a prompt change: absent members stay, null as shared_with ends sharing.
type promptBody struct {
	Name   *string         `json:"name"`
	About  *string         `json:"description"`
	Text   *string         `json:"text"`
	Shared json.RawMessage `json:"shared_with"`
}

// apply writes a request's fields into a draft.
func (b promptBody) apply(d *prompts.Draft) error {
	for _, f := range []struct {
		from *string
		to   *string
	}{{b.Name, &d.Name}, {b.About, &d.About}, {b.Text, &d.Text}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	switch s := strings.TrimSpace(string(b.Shared)); {
	case s == "":
	case s == "null":
		d.Shared = ""
	case json.Unmarshal(b.Shared, &d.Shared) != nil:
		return httpx.Invalid("body", "shared_with", "want %q, the id of a group, or null", store.SharedWithAll)
	}
	return nil
}

func (g *Gateway) createPrompt(c echo.Context) error {
	var body promptBody
	var d prompts.Draft
	err := g.BindStrict(c, &body)
	if err == nil {
		err = body.apply(&d)
	}
	if err != nil {
		return err
	}
	p, err := g.prompts.Create(c.Request().Context(), g.promptUser(c), d)
	return sendPrompt(c, http.StatusCreated, p, err)
}

func (g *Gateway) prompt(c echo.Context) error {
	p, err := g.prompts.Get(c.Request().Context(), g.promptUser(c), route.Param(c, "prompt"))
	return sendPrompt(c, http.StatusOK, p, err)
}

func (g *Gateway) changePrompt(c echo.Context) error {
	var body promptBody
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	p, err := g.prompts.Change(c.Request().Context(), g.promptUser(c), route.Param(c, "prompt"), body.apply)
	return sendPrompt(c, http.StatusOK, p, err)
}

func (g *Gateway) deletePrompt(c echo.Context) error {
	if err := g.prompts.Delete(c.Request().Context(), g.promptUser(c), route.Param(c, "prompt")); err != nil {
		return promptError(err)
	}
	return c.NoContent(http.StatusNoContent)
}

func (g *Gateway) duplicatePrompt(c echo.Context) error {
	p, err := g.prompts.Duplicate(c.Request().Context(), g.promptUser(c), route.Param(c, "prompt"))
	return sendPrompt(c, http.StatusCreated, p, err)
}

// fillBody is the body of fillPrompt.
type fillBody struct {
	Fields map[string]string `json:"fields"`
}

// filledPrompt is the text of a prompt with its fields filled in.
type filledPrompt struct {
	Text string `json:"text"`
}

// fillPrompt handles POST /prompts/{prompt_id}/fill: the text of a prompt with its fields filled in.
func (g *Gateway) fillPrompt(c echo.Context) error {
	var body fillBody
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	p, err := g.prompts.Get(c.Request().Context(), g.promptUser(c), route.Param(c, "prompt"))
	if err != nil {
		return promptError(err)
	}
	text, missing := prompts.Fill(p.Text, body.Fields)
	if len(missing) > 0 {
		return httpx.Invalid("body", "fields", "these have no default and no value: %s", strings.Join(missing, ", "))
	}
	return httpx.JSON(c, http.StatusOK, filledPrompt{text})
}

func (g *Gateway) exportPrompts(c echo.Context) error {
	out, err := g.prompts.Export(c.Request().Context(), g.promptUser(c))
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// importPrompts handles POST /prompts/import: an export, or prompts of Open WebUI.
func (g *Gateway) importPrompts(c echo.Context) error {
	data, err := httpx.Body(c.Request(), httpx.Limit{Bytes: prompts.MaxExport, Key: "prompts"})
	if err != nil {
		return err
	}
	list, err := prompts.Read(data)
	if err != nil {
		return promptError(err)
	}
	done, err := g.prompts.Import(c.Request().Context(), g.promptUser(c), list)
	if err != nil {
		return promptError(err)
	}
	return httpx.JSON(c, http.StatusOK, done)
}

// describePrompts describes the routes.
func describePrompts() []o.Op {
	const tag = "Prompts"
	shared := o.Is("shared_with", o.Nullable(o.String()))
	one := route.Answered("The prompt", o.Ref("Prompt"))
	made := []o.Answer{{Status: 201, Text: "The prompt", Schema: o.Ref("Prompt")}}
	export := o.Of[prompts.Export](o.Is("version", o.Int(0)))
	return []o.Op{
		{ID: "listPrompts", Tag: tag, Text: "List the prompts that you can use",
			Query: []o.Param{{Name: "all", Schema: o.Bool(), Text: "For administrators: also those shared with groups they don't belong to"}},
			Out:   route.Answered("The prompts by name", o.Of[promptList](o.Is("prompts", o.List(o.Ref("Prompt")))))},
		{ID: "createPrompt", Tag: tag, Text: "Create a prompt", Need: true,
			More: "A text can have fields such as {{topic}}, or {{language:English}} with a default. shared_with is \"all\" " +
				"(administrators only), the ID of a group, or null.",
			Body: o.Reads[promptBody](o.Req("name", o.String()), o.Req("text", o.String()), shared), Out: made, Fail: []int{409}},
		{ID: "exportPrompts", Tag: tag, Text: "Export your own prompts", Out: route.Answered("The prompts", export)},
		{ID: "importPrompts", Tag: tag, Text: "Import prompts, all or none", Need: true,
			More: "Takes an export, or the list that Open WebUI exports. A prompt whose name is taken gets another one; one that " +
				"you already have is left out.",
			Body: o.Reads[prompts.Export](o.Req("prompts", o.List(o.Reads[prompts.Exported](o.Req("name", o.String()), o.Req("text", o.String())))),
				o.Is("version", o.Int(0))),
			Out: route.Answered("What was done", o.Of[prompts.Imported](o.Is("added", o.Int(0)), o.Is("unchanged", o.Int(0))))},
		{ID: "getPrompt", Tag: tag, Text: "Get a prompt", Out: one},
		{ID: "changePrompt", Tag: tag, Text: "Change a prompt; absent fields stay",
			More: "For its owner, and for administrators if it's shared.",
			Body: o.Reads[promptBody](shared), Out: one,
			Fail: []int{403, 409}},
		{ID: "deletePrompt", Tag: tag, Text: "Delete a prompt", Out: route.Emptied("Deleted"), Fail: []int{403}},
		{ID: "duplicatePrompt", Tag: tag, Text: "Make a prompt of your own from one that you can use", Out: made, Fail: []int{409}},
		{ID: "fillPrompt", Tag: tag, Text: "Get the text of a prompt with its fields filled in",
			Body: o.Reads[fillBody](), Out: route.Answered("The text", o.Of[filledPrompt]())},
	}
}

// promptSchemas returns the schemas of describePrompts.
func promptSchemas() map[string]o.Schema {
	return map[string]o.Schema{"Prompt": o.Of[promptJSON]()}
}
