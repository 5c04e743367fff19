package settings

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/ui/page"
)

// mediaModels returns the models for images, speech and transcription, as they are configured.
func (h *Handlers) mediaModels() []views.MediaModel {
	snap := h.Config.Current()
	var alike []string
	for _, m := range snap.UsableModels() {
		use := strings.ToLower(m.Use)
		if m.APIKey != "" && !strings.Contains(use, "anthropic") && (m.BaseURL != "" || use == "openai" || strings.HasSuffix(use, ":chatopenai")) {
			alike = append(alike, m.Name) // OpenAI's API, or one like it
		}
	}
	var out []views.MediaModel
	for _, kind := range config.MediaKinds() {
		m, _ := snap.File.Media(kind)
		out = append(out, views.MediaModel{Kind: kind, Address: redacted(m.BaseURL), Model: m.Model, Voice: m.Voice,
			HasKey: m.APIKey != "", Alike: alike})
	}
	return out
}

// typed gives an entered address and key precedence over those of the selected chat model. The form's initial address
// doesn't count as entered.
func (h *Handlers) typed(e *config.MediaEdit) {
	snap := h.Config.Current()
	old, _ := snap.File.Media(e.Kind)
	m, known := snap.Model(e.Like)
	switch {
	case e.Like == "" || !known:
	case e.Key != nil && *e.Key == "":
		e.Like = "" // a key that is removed doesn't come back with that model
	case e.BaseURL != "" && e.BaseURL != redacted(old.BaseURL):
		e.Like = "" // its key is for its own address only
	case e.Key != nil && *e.Key != "":
		e.Like, e.BaseURL = "", m.BaseURL
	}
}

// saveMedia handles POST /ui/media/by-name/:name.
func (h *Handlers) saveMedia(c echo.Context) error {
	read, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	form := func(key string) string { return strings.TrimSpace(page.OneLine(page.PlainText(read.Get(key)))) }
	e := config.MediaEdit{Kind: page.Param(c, "name"), BaseURL: form("address"), Model: form("model"), Voice: form("voice"),
		Like: form("like"), Judge: func(at string) error { return h.Outward.Address(c.Request().Context(), at) }}
	switch key := form("key"); {
	case form("forget") != "":
		e.Key = new(config.Secret(""))
	case key != "":
		e.Key = new(config.Secret(key))
	}
	chosen := e.Like
	h.typed(&e)
	err = h.Config.ChangeMedia(e)
	var wrong *config.EditError
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("tools"))
	case errors.Is(err, config.ErrNoMedia):
		return store.ErrNotFound
	case errors.As(err, &wrong):
		p, err := h.Settings(c, "tools")
		if err != nil {
			return err
		}
		p.Tools, p.Web, p.Media = h.toolList(c), h.webServices(), h.mediaModels()
		for i := range p.Media {
			if m := &p.Media[i]; m.Kind == e.Kind {
				m.Address, m.Model, m.Voice, m.Like = form("address"), e.Model, e.Voice, chosen
				m.Wrong, m.Problem = wrong.Key, page.Say(c, "models.wrong."+string(wrong.Reason))
			}
		}
		return page.HTML(c, http.StatusUnprocessableEntity, settings.Page(p))
	}
	return modelError(err)
}
