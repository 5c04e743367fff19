package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/profile"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// agentJSON is a custom agent the way DeerFlow shows it. Null leaves a choice to the run.
type agentJSON struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Model       *string            `json:"model"`
	ToolGroups  []string           `json:"tool_groups"`
	Skills      []string           `json:"skills"`
	Knowledge   []string           `json:"knowledge,omitempty"`
	Settings    *agentSettingsJSON `json:"model_settings"`
	Thinking    *bool              `json:"thinking_enabled"`
	Effort      *string            `json:"reasoning_effort"`
	Soul        *string            `json:"soul,omitempty"`
	Error       string             `json:"error,omitempty"` // why its files cannot be read
}

type agentSettingsJSON struct {
	Temperature *float64 `json:"temperature"`
	MaxTokens   *int     `json:"max_tokens"`
}

func agentOf(a profile.Agent, soul bool) agentJSON {
	out := agentJSON{Name: a.Name, Description: a.Description, Model: route.TextOrNull(a.Model),
		ToolGroups: a.ToolGroups, Skills: a.Skills, Knowledge: a.Knowledge,
		Thinking: a.Thinking, Effort: route.TextOrNull(a.Effort)}
	if a.Temperature != nil || a.MaxTokens != nil {
		out.Settings = &agentSettingsJSON{a.Temperature, a.MaxTokens}
	}
	if soul {
		out.Soul = &a.Soul
	}
	return out
}

// onAgents returns the handler of a route of custom agents, which the owner must have enabled.
func (g *Gateway) onAgents(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if g.Agents == nil || !g.Config().File.AgentsAPI.Enabled {
			return httpx.Errorf(http.StatusForbidden,
				"The API of custom agents is off; set agents_api.enabled in the configuration")
		}
		return h(c)
	}
}

// agentError words an error of an agent. Values of a request are a 422; broken is the status for files that cannot be
// read.
func agentError(err error, name string, broken int) error {
	var bad *profile.Invalid
	switch {
	case errors.Is(err, profile.ErrNotFound):
		return httpx.Errorf(http.StatusNotFound, "Agent '%s' not found", route.Cut(name, 80))
	case errors.Is(err, profile.ErrExists):
		return httpx.Errorf(http.StatusConflict, "Agent '%s' already exists", route.Cut(name, 80))
	case errors.Is(err, profile.ErrFull):
		return httpx.Errorf(http.StatusConflict, "%s", err.Error())
	case errors.As(err, &bad) && broken == http.StatusUnprocessableEntity:
		return httpx.Invalid("body", bad.Field, "%s", bad.Why)
	case errors.As(err, &bad):
		return httpx.Errorf(broken, "Agent '%s' can't be read: %s", route.Cut(name, 80), bad.Why)
	}
	return err
}

type agentList struct {
	Agents []agentJSON `json:"agents"`
}

func (g *Gateway) listAgents(c echo.Context) error {
	list, err := g.Agents.List(g.Owner(c))
	if err != nil {
		return err
	}
	may, err := g.Rights(c.Request().Context())
	if err != nil {
		return err
	}
	out := make([]agentJSON, 0, len(list))
	for _, e := range list {
		if !may.May(access.Agent, e.Name) {
			continue
		}
		one := agentOf(e.Agent, false)
		if e.Err != nil {
			one = agentJSON{Name: e.Name, Error: e.Err.Error()}
		}
		out = append(out, one)
	}
	return httpx.JSON(c, http.StatusOK, agentList{out})
}

// checkedName is whether a name is free, and the form in which it is stored.
type checkedName struct {
	Available bool   `json:"available"`
	Name      string `json:"name"`
}

func (g *Gateway) checkAgent(c echo.Context) error {
	name, err := profile.Name(c.QueryParam("name"))
	if err != nil {
		var bad *profile.Invalid
		errors.As(err, &bad)
		return httpx.Invalid("query", "name", "%s", bad.Why)
	}
	return httpx.JSON(c, http.StatusOK, checkedName{!g.Agents.Has(g.Owner(c), name), name})
}

// agentName returns the agent name in the path in its stored form, or a 404.
func agentName(c echo.Context) (string, error) {
	asked := route.Param(c, "agent")
	name, err := profile.Name(asked)
	if err != nil {
		return "", agentError(profile.ErrNotFound, asked, 0)
	}
	return name, nil
}

func (g *Gateway) agent(c echo.Context) error {
	name, err := agentName(c)
	if err != nil {
		return err
	}
	a, err := g.Agents.Get(g.Owner(c), name)
	if err != nil {
		return agentError(err, name, http.StatusConflict)
	}
	return httpx.JSON(c, http.StatusOK, agentOf(a, true))
}

// agentBody is a change of an agent: absent fields stay, null clears.
type agentBody struct {
	Name        string          `json:"name"`
	Description json.RawMessage `json:"description"`
	Model       json.RawMessage `json:"model"`
	ToolGroups  json.RawMessage `json:"tool_groups"`
	Skills      json.RawMessage `json:"skills"`
	Knowledge   json.RawMessage `json:"knowledge"`
	Settings    json.RawMessage `json:"model_settings"`
	Thinking    json.RawMessage `json:"thinking_enabled"`
	Effort      json.RawMessage `json:"reasoning_effort"`
	Soul        json.RawMessage `json:"soul"`
}

// apply writes a request into an agent.
func (b agentBody) apply(a *profile.Agent, snap *config.Snapshot) error {
	var settings agentSettingsJSON
	for _, f := range []struct {
		field, want string
		raw         json.RawMessage
		clear       func()
		into        any
	}{
		{"description", "text", b.Description, func() { a.Description = "" }, &a.Description},
		{"model", "the name of a model", b.Model, func() { a.Model = "" }, &a.Model},
		{"tool_groups", "a list of names", b.ToolGroups, func() { a.ToolGroups = nil }, &a.ToolGroups},
		{"skills", "a list of names", b.Skills, func() { a.Skills = nil }, &a.Skills},
		{"knowledge", "a list of names", b.Knowledge, func() { a.Knowledge = nil }, &a.Knowledge},
		{"model_settings", "temperature and max_tokens", b.Settings, func() {}, &settings},
		{"thinking_enabled", "true or false", b.Thinking, func() { a.Thinking = nil }, &a.Thinking},
		{"reasoning_effort", "low, medium or high", b.Effort, func() { a.Effort = "" }, &a.Effort},
		{"soul", "text", b.Soul, func() { a.Soul = "" }, &a.Soul},
	} {
		if f.raw == nil {
			continue
		}
		f.clear()
		d := json.NewDecoder(bytes.NewReader(f.raw))
		d.DisallowUnknownFields()
		if d.Decode(f.into) != nil {
			return httpx.Invalid("body", f.field, "want %s or null", f.want)
		}
	}
	if b.Settings != nil {
		a.Temperature, a.MaxTokens = settings.Temperature, settings.MaxTokens
	}
	if b.Model != nil {
		return knownModel(snap, a.Model)
	}
	return nil
}

// knownModel refuses a model that is not configured.
func knownModel(snap *config.Snapshot, name string) error {
	if _, ok := snap.Model(name); name != "" && name != lead.OfflineModel && !ok {
		return httpx.Invalid("body", "model", "there is no model %q", route.Cut(name, 80))
	}
	return nil
}

func (g *Gateway) createAgent(c echo.Context) error {
	var b agentBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	name, err := profile.Name(b.Name)
	if err != nil {
		return agentError(err, b.Name, http.StatusUnprocessableEntity)
	}
	a := profile.Agent{Name: name}
	if err := b.apply(&a, g.Config()); err != nil {
		return err
	}
	if err := g.Agents.Create(g.Owner(c), a); err != nil {
		return agentError(err, name, http.StatusUnprocessableEntity)
	}
	return httpx.JSON(c, http.StatusCreated, agentOf(a, true))
}

func (g *Gateway) changeAgent(c echo.Context) error {
	name, err := agentName(c)
	if err != nil {
		return err
	}
	var b agentBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Name != "" && b.Name != name {
		return httpx.Invalid("body", "name", "an agent keeps its name")
	}
	if _, err := g.Agents.Get(g.Owner(c), name); err != nil {
		return agentError(err, name, http.StatusConflict)
	}
	a, err := g.Agents.Change(g.Owner(c), name, func(a *profile.Agent) error { return b.apply(a, g.Config()) })
	if err != nil {
		return agentError(err, name, http.StatusUnprocessableEntity)
	}
	return httpx.JSON(c, http.StatusOK, agentOf(a, true))
}

func (g *Gateway) deleteAgent(c echo.Context) error {
	name, err := agentName(c)
	if err != nil {
		return err
	}
	if err := g.Agents.Delete(g.Owner(c), name); err != nil {
		return agentError(err, name, http.StatusConflict)
	}
	return c.NoContent(http.StatusNoContent)
}

// textJSON is the text of USER.md.
type textJSON struct {
	Content string `json:"content"`
}

func (g *Gateway) userProfile(c echo.Context) error {
	text, err := g.Agents.User(g.Owner(c))
	var bad *profile.Invalid
	if errors.As(err, &bad) {
		return httpx.Errorf(http.StatusConflict, "%s", bad.Why)
	}
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, textJSON{text})
}

// textBody is the body of putUserProfile.
type textBody struct {
	Content *string `json:"content"`
}

func (g *Gateway) putUserProfile(c echo.Context) error {
	var b textBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Content == nil {
		return httpx.Invalid("body", "content", "is required")
	}
	if err := g.Agents.SetUser(g.Owner(c), *b.Content); err != nil {
		return agentError(err, "", http.StatusUnprocessableEntity)
	}
	return httpx.JSON(c, http.StatusOK, textJSON{*b.Content})
}

// describeProfiles returns the routes of custom agents and of the user's profile.
func describeProfiles() []o.Op {
	const tag = "Custom agents"
	const off = "403 unless agents_api.enabled is set in the configuration."
	effort := o.Enum("low", "medium", "high")
	parts := []o.Prop{o.Is("description", o.String()), o.Is("model", o.String()), o.Is("tool_groups", o.List(o.String())),
		o.Is("skills", o.List(o.String())), o.Is("knowledge", o.List(o.String())), o.Is("model_settings", o.Map(nil)),
		o.Is("thinking_enabled", o.Bool()), o.Is("reasoning_effort", effort), o.Is("soul", o.String())}
	one := route.Answered("The agent", o.Ref("CustomAgent"))
	text := o.Of[textJSON]()
	return []o.Op{
		{ID: "listAgents", Tag: tag, Text: "List custom agents",
			More: off + " An agent whose files can't be read has an error.",
			Out: route.Answered("The agents by name, without their souls",
				o.Of[agentList](o.Is("agents", o.List(o.Ref("CustomAgent"))))),
			Fail: []int{403}},
		{ID: "checkAgentName", Tag: tag, Text: "Check that a name is valid and free", More: off,
			Query: []o.Param{{Name: "name", Schema: o.String(), Text: "Letters, digits and hyphens"}},
			Out: route.Answered("Whether it is free, and the name as it would be stored",
				o.Of[checkedName]()), Fail: []int{403}},
		{ID: "getAgent", Tag: tag, Text: "Get a custom agent", More: off, Out: one, Fail: []int{403, 409}},
		{ID: "createAgent", Tag: tag, Text: "Create a custom agent", More: off, Need: true,
			Body: o.Reads[agentBody](append(parts, o.Req("name", o.String()))...),
			Out:  []o.Answer{{Status: 201, Text: "The agent", Schema: o.Ref("CustomAgent")}}, Fail: []int{403, 409}},
		{ID: "changeAgent", Tag: tag, Text: "Change a custom agent; absent fields stay, null clears", More: off,
			Body: o.Reads[agentBody](parts...), Out: one, Fail: []int{403, 409}},
		{ID: "deleteAgent", Tag: tag, Text: "Delete a custom agent and its files", More: off,
			Out: route.Emptied("Deleted"), Fail: []int{403}},
		{ID: "getUserProfile", Tag: tag, Text: "Get what agents are told about the user (USER.md)", More: off,
			Out: route.Answered("The text", text), Fail: []int{403, 409}},
		{ID: "putUserProfile", Tag: tag, Text: "Replace what agents are told about the user", More: off, Need: true,
			Body: o.Reads[textBody](o.Req("content", o.String())),
			Out:  route.Answered("The text", text), Fail: []int{403}},
	}
}

// profileSchemas returns the schemas of describeProfiles.
func profileSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"CustomAgent": o.Of[agentJSON](o.Is("tool_groups", o.Nullable(o.List(o.String()))), o.Is("skills", o.Nullable(o.List(o.String()))),
			o.Is("knowledge", o.Nullable(o.List(o.String())))),
	}
}
