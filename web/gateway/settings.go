package gateway

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/web/httpx"
	"fawn/web/route"
)

// modelBody are the keys of a model that are checked before the configuration reads them all; it
// knows them better, but not under the names of this request.
type modelBody struct {
	Name         *string           `json:"name"`
	APIKey       *string           `json:"api_key"`
	Use          *string           `json:"use"`
	Model        *string           `json:"model"`
	BaseURL      *string           `json:"base_url"`
	DisplayName  *string           `json:"display_name"`
	Description  *string           `json:"description"`
	MaxTokens    *int              `json:"max_tokens"`
	Window       *int              `json:"context_window"`
	Temperature  *float64          `json:"temperature"`
	Thinking     *bool             `json:"supports_thinking"`
	Effort       *bool             `json:"supports_reasoning_effort"`
	Vision       *bool             `json:"supports_vision"`
	ThinkingOn   map[string]any    `json:"when_thinking_enabled"`
	ThinkingOff  map[string]any    `json:"when_thinking_disabled"`
	ThinkingKeys map[string]any    `json:"thinking"`
	ExtraBody    map[string]any    `json:"extra_body"`
	Headers      map[string]string `json:"headers"`
}

// bindModel reads an entry of models[] in JSON. null takes a key back.
func (g *Gateway) bindModel(c echo.Context) (config.ModelEdit, error) {
	var e config.ModelEdit
	raw, err := httpx.Body(c.Request(), g.BodyLimit())
	if err != nil {
		return e, err
	}
	var known modelBody
	if err := httpx.Decode(raw, &known); err != nil {
		return e, err
	}
	if err := httpx.Decode(raw, &e.Fields); err != nil {
		return e, err
	}
	delete(e.Fields, "name")
	delete(e.Fields, "api_key")
	if known.Name != nil {
		e.Name = *known.Name
	}
	if known.APIKey != nil {
		e.Key = new(config.Secret(*known.APIKey))
	}
	return e, nil
}

// settingsError adds the status and message for a form to errors of edits.
func settingsError(err error) error {
	var wrong *config.EditError
	var invalid *config.Invalid
	switch {
	case errors.As(err, &wrong):
		return httpx.Invalid("body", wrong.Key, "%s", wrong.Message)
	case errors.As(err, &invalid):
		return httpx.Errorf(http.StatusUnprocessableEntity, "%s", invalid.Error())
	case errors.Is(err, config.ErrNoModel):
		return httpx.Errorf(http.StatusNotFound, "%s", err.Error())
	case errors.Is(err, config.ErrModelExists), errors.Is(err, config.ErrOwners), errors.Is(err, config.ErrFixed),
		errors.Is(err, config.ErrChanged):
		return httpx.Errorf(http.StatusConflict, "%s", err.Error())
	}
	return err
}

// settings returns the editable configuration.
func (g *Gateway) settings() (*config.Store, error) {
	if g.Settings == nil {
		return nil, settingsError(config.ErrFixed)
	}
	return g.Settings, nil
}

// sourceJSON says where a value was written.
type sourceJSON struct {
	Source   string `json:"source"` // config.yaml, settings.yaml, environment or default
	Line     int    `json:"line,omitempty"`
	Variable string `json:"variable,omitempty"`
	From     string `json:"from,omitempty"` // where the variable is set
}

// settingJSON is a model with everything but its secrets.
type settingJSON struct {
	modelJSON
	Use        string                `json:"use"`
	BaseURL    string                `json:"base_url"`
	MaxTokens  int                   `json:"max_tokens"`
	Window     int                   `json:"context_window"`
	Disabled   string                `json:"disabled"` // why it cannot be used
	Default    bool                  `json:"default"`
	HasKey     bool                  `json:"has_key"`
	InConfig   bool                  `json:"in_config"`
	InSettings bool                  `json:"in_settings"`
	Sources    map[string]sourceJSON `json:"sources"`
}

func settingOf(s config.ModelSetting) settingJSON {
	out := settingJSON{modelJSON: modelOf(s.Model), Use: s.Use, MaxTokens: s.MaxTokens, Window: s.ContextWindow,
		Disabled: s.Disabled,
		Default:  s.Default, HasKey: s.HasKey, InConfig: s.InConfig, InSettings: s.InSettings,
		Sources: map[string]sourceJSON{}}
	if u, err := url.Parse(s.BaseURL); err == nil {
		out.BaseURL = u.Redacted()
	}
	for key, o := range s.Origins {
		out.Sources[key] = sourceJSON(o)
	}
	return out
}

type settingList struct {
	Models []settingJSON `json:"models"`
}

func (g *Gateway) listSettings(c echo.Context) error {
	list := []settingJSON{}
	for _, s := range g.Config().ModelSettings() {
		list = append(list, settingOf(s))
	}
	return httpx.JSON(c, http.StatusOK, settingList{list})
}

// oneSetting responds with the current state of a model.
func (g *Gateway) oneSetting(c echo.Context, name string) error {
	for _, s := range g.Settings.Current().ModelSettings() {
		if s.Name == name {
			return httpx.JSON(c, http.StatusOK, settingOf(s))
		}
	}
	return settingsError(config.ErrNoModel)
}

func (g *Gateway) addModel(c echo.Context) error {
	e, err := g.bindModel(c)
	if err != nil {
		return err
	}
	settings, err := g.settings()
	if err != nil {
		return err
	}
	if err := settings.AddModel(g.Outward.Edited(c.Request().Context(), e)); err != nil {
		return settingsError(err)
	}
	return g.oneSetting(c, e.Name)
}

func (g *Gateway) changeModel(c echo.Context) error {
	e, err := g.bindModel(c)
	if err != nil {
		return err
	}
	if e.Name = route.Param(c, "name"); len(e.Name) > maxModelName {
		return settingsError(config.ErrNoModel)
	}
	settings, err := g.settings()
	if err != nil {
		return err
	}
	if _, known := settings.Current().Model(e.Name); !known {
		return settingsError(config.ErrNoModel)
	}
	if err := settings.ChangeModel(g.Outward.Edited(c.Request().Context(), e)); err != nil {
		return settingsError(err)
	}
	return g.oneSetting(c, e.Name)
}

// maxModelName limits the names that are looked up.
const maxModelName = 1000

func (g *Gateway) removeModel(c echo.Context) error {
	settings, err := g.settings()
	if err != nil {
		return err
	}
	if err := settings.RemoveModel(route.Param(c, "name")); err != nil {
		return settingsError(err)
	}
	return c.NoContent(http.StatusNoContent)
}

// defaultBody is the body of setDefaultModel.
type defaultBody struct {
	Name string `json:"name"`
}

func (g *Gateway) setDefaultModel(c echo.Context) error {
	var body defaultBody
	if err := g.Bind(c, &body); err != nil {
		return err
	}
	settings, err := g.settings()
	if err != nil {
		return err
	}
	if err := settings.SetDefaultModel(body.Name); err != nil {
		return settingsError(err)
	}
	return g.listSettings(c)
}
