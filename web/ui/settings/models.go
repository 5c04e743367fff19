package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/store"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/settings"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// maxFoundModels limits the offered models of a local server.
const maxFoundModels = 12

// modelsSection returns the list of models, or the form that add and change ask for.
func (h *Handlers) modelsSection(c echo.Context) (views.Models, error) {
	m := h.modelList(c)
	switch add, change := c.QueryParam("add"), c.QueryParam("change"); {
	case add != "":
		preset, known := h.preset(add)
		if !known {
			return m, store.ErrNotFound
		}
		m.Form = h.form(views.ModelForm{Preset: preset, BaseURL: preset.BaseURL})
	case change != "":
		form, err := h.changeForm(change)
		if err != nil {
			return m, err
		}
		m.Form = h.form(form)
	}
	if name := c.QueryParam("added"); name != "" {
		if _, known := h.Config.Current().Model(name); known {
			m.Notice = &views.Notice{Kind: views.NoticeGood, Text: page.Say(c, "models.added", views.Safe(name))}
		}
	}
	return m, nil
}

// form returns f with its storage location.
func (h *Handlers) form(f views.ModelForm) *views.ModelForm {
	shared, keys := h.Config.Shared()
	f.Shared, f.NoKeys = shared, !keys
	return &f
}

func (h *Handlers) modelList(c echo.Context) views.Models {
	m := h.Offered(c.Request().Context())
	snap := h.Config.Current()
	if shared, _ := h.Config.Shared(); !shared {
		m.File = snap.SettingsPath()
	}
	records, err := h.DB.ModelRecords(c.Request().Context())
	if err != nil {
		h.Log.Warn("couldn't count comparisons of models", "err", err)
	}
	for _, s := range snap.ModelSettings() {
		one := h.modelInfo(s)
		for _, r := range records {
			if r.Model == s.Name {
				one.Won, one.Seen = r.Won, r.Seen
			}
		}
		m.List = append(m.List, one)
	}
	if len(snap.UsableModels()) == 0 {
		m.List = append(m.List, views.ModelInfo{Name: views.OfflineModel, BuiltIn: true, Default: true})
	}
	return m
}

// Offered returns the models available for setup: of providers, keys in the environment and local servers, without
// existing ones.
func (h *Handlers) Offered(ctx context.Context) views.Models {
	var m views.Models
	used := map[string]bool{} // addresses with model names, and classes
	for _, s := range h.Config.Current().File.Models {
		used[strings.TrimRight(s.BaseURL, "/")+" "+cmp.Or(s.Model, s.Name)], used[s.Use] = true, true
	}
	for _, p := range llm.Presets() {
		preset := h.presetOf(p)
		m.Presets = append(m.Presets, preset)
		if preset.KeySet && !used[p.Name] {
			m.Keys = append(m.Keys, views.FoundKey{Env: p.Key, Provider: p.Label, Preset: p.Name})
		}
	}
	for _, s := range h.servers.known(ctx, h.Discover) {
		f := views.FoundServer{Name: s.Name, URL: s.BaseURL}
		for _, name := range s.Models {
			if !used[s.BaseURL+" "+name] && len(f.Models) < maxFoundModels {
				f.Models = append(f.Models, name)
			}
		}
		if len(f.Models) > 0 {
			m.Found = append(m.Found, f)
		}
	}
	return m
}

func (h *Handlers) modelInfo(s config.ModelSetting) views.ModelInfo {
	m := views.ModelInfo{Name: s.Name, Label: s.DisplayName, Provider: s.Use, Problem: s.Disabled, Default: s.Default,
		Ours: s.InSettings}
	if p, known := h.preset(s.Use); known {
		m.Provider = p.Label
	}
	add := func(key, value string) {
		if o, written := s.Origins[key]; written {
			m.Values = append(m.Values, views.Value{Key: key, Value: value, Source: originText(o)})
		}
	}
	add("use", s.Use)
	add("model", s.Model.Model)
	add("base_url", redacted(s.BaseURL))
	add("api_key", "")
	add("display_name", s.DisplayName)
	add("max_tokens", strconv.Itoa(s.MaxTokens))
	add("context_window", strconv.Itoa(s.ContextWindow))
	add("supports_thinking", strconv.FormatBool(s.SupportsThinking))
	add("supports_vision", strconv.FormatBool(s.SupportsVision))
	return m
}

// originText returns the file with the line, or the variable that supplied a value.
func originText(o config.Origin) string {
	switch {
	case o.From == "environment":
		return "$" + o.Variable
	case o.From != "":
		return o.From
	case o.Line > 0:
		return o.Source + ":" + strconv.Itoa(o.Line)
	}
	return o.Source
}

// redacted returns an address without an embedded password.
func redacted(address string) string {
	if a, err := url.Parse(address); err == nil {
		return a.Redacted()
	}
	return address
}

func (h *Handlers) preset(name string) (views.Preset, bool) {
	all := llm.Presets()
	i := slices.IndexFunc(all, func(p llm.Preset) bool { return p.Name == name })
	if i < 0 {
		return views.Preset{}, false
	}
	return h.presetOf(all[i]), true
}

func (h *Handlers) presetOf(p llm.Preset) views.Preset {
	out := views.Preset{Name: p.Name, Label: p.Label, BaseURL: p.BaseURL, Key: p.Key, KeyPage: p.KeyPage,
		Local: p.Local}
	if p.Key != "" {
		value, set := h.Config.Current().Env(p.Key)
		out.KeySet = set && value != ""
	}
	return out
}

func (h *Handlers) changeForm(name string) (views.ModelForm, error) {
	for _, s := range h.Config.Current().ModelSettings() {
		if s.Name == name {
			f := views.ModelForm{Change: true, HasKey: s.HasKey, Name: s.Name, Label: s.DisplayName,
				Model: s.Model.Model, BaseURL: redacted(s.BaseURL),
				Thinking: s.SupportsThinking, Vision: s.SupportsVision}
			f.Preset, _ = h.preset(s.Use)
			return f, nil
		}
	}
	return views.ModelForm{}, store.ErrNotFound
}

// editOf returns the edit in a model's form, and the form to show if it is refused.
func (h *Handlers) editOf(form url.Values, change bool) (config.ModelEdit, views.ModelForm) {
	text := func(key string) string { return strings.TrimSpace(page.OneLine(page.PlainText(form.Get(key)))) }
	f := views.ModelForm{Change: change, Name: text("name"), Label: text("display_name"),
		Model:    cmp.Or(text("pick"), text("model")),
		BaseURL:  llm.Complete(text("base_url")),
		Thinking: form.Get("supports_thinking") != "", Vision: form.Get("supports_vision") != ""}
	e := config.ModelEdit{Name: f.Name, Fields: map[string]any{"model": f.Model}}
	set := func(key string, now, was any, keep bool) {
		if now != was || keep {
			e.Fields[key] = now
		}
	}
	if change {
		old, err := h.changeForm(f.Name)
		if err != nil {
			old = views.ModelForm{}
		}
		f.Preset, f.HasKey = old.Preset, old.HasKey
		delete(e.Fields, "model")
		set("model", f.Model, old.Model, false)
		set("base_url", f.BaseURL, old.BaseURL, false)
		set("display_name", f.Label, old.Label, false)
		set("supports_thinking", f.Thinking, old.Thinking, false)
		set("supports_vision", f.Vision, old.Vision, false)
	} else {
		f.Preset, _ = h.preset(form.Get("preset"))
		if e.Name == "" {
			e.Name = f.Model
		}
		e.Fields["use"] = f.Preset.Name
		set("base_url", f.BaseURL, f.Preset.BaseURL, false)
		set("display_name", f.Label, "", false)
		set("supports_thinking", f.Thinking, false, false)
		set("supports_vision", f.Vision, false, false)
		if f.BaseURL == "" {
			delete(e.Fields, "base_url")
		}
	}
	if key := strings.TrimSpace(form.Get("api_key")); key != "" {
		e.Key = new(config.Secret(key))
	}
	return e, f
}

// addModel handles POST /ui/models, changeModel POST /ui/models/change.
func (h *Handlers) addModel(c echo.Context) error    { return h.saveModel(c, false) }
func (h *Handlers) changeModel(c echo.Context) error { return h.saveModel(c, true) }

func (h *Handlers) saveModel(c echo.Context, change bool) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	e, f := h.editOf(form, change)
	e = h.Outward.Edited(c.Request().Context(), e)
	if change {
		err = h.Config.ChangeModel(e)
	} else if f.Preset.Name == "" {
		return httpx.Errorf(http.StatusUnprocessableEntity, "there is no such provider")
	} else {
		err = h.Config.AddModel(e)
	}
	if err != nil {
		return h.refusedModel(c, f, false, err)
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("models")+"?added="+url.QueryEscape(e.Name))
}

// useFound handles POST /ui/models/found: a model of a server on this machine, with one click.
func (h *Handlers) useFound(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	for _, s := range h.servers.known(c.Request().Context(), h.Discover) {
		if s.BaseURL != form.Get("server") || !slices.Contains(s.Models, form.Get("model")) {
			continue
		}
		e := config.ModelEdit{Name: form.Get("model"),
			Fields: map[string]any{"use": s.Use, "model": form.Get("model"), "base_url": s.BaseURL}}
		for _, o := range s.Offers {
			if o.ID != e.Name {
				continue
			}
			if o.Context > 0 {
				e.Fields["context_window"] = float64(o.Context)
			}
			if o.Vision {
				e.Fields["supports_vision"] = true
			}
			if o.Thinking {
				e.Fields["supports_thinking"] = true
			}
		}
		e = h.Outward.Edited(c.Request().Context(), e)
		err := h.Config.AddModel(e)
		for n := 2; errors.Is(err, config.ErrModelExists) && n < 10; n++ { // the name is taken by another server's
			e.Name = fmt.Sprintf("%s (%d)", form.Get("model"), n)
			err = h.Config.AddModel(e)
		}
		if err != nil {
			return modelError(err)
		}
		where := views.SettingsURL("models") + "?added=" + url.QueryEscape(e.Name)
		if next := form.Get("next"); next != "" {
			where = page.LocalPath(next, where)
		}
		return c.Redirect(http.StatusSeeOther, where)
	}
	return httpx.Errorf(http.StatusGone, "%s", page.Say(c, "models.found.gone"))
}

// refusedModel shows the form again with an error. The key must be entered again.
func (h *Handlers) refusedModel(c echo.Context, f views.ModelForm, tried bool, err error) error {
	var wrong *config.EditError
	switch {
	case errors.As(err, &wrong):
		f.Wrong, f.Problem = wrong.Key, page.Say(c, "models.wrong."+string(wrong.Reason))
		if wrong.Reason == config.NoName {
			f.Wrong = "model" // its ID is the name, too
		}
	case errors.Is(err, config.ErrNoModel):
		return store.ErrNotFound
	case errors.Is(err, config.ErrModelExists):
		f.Wrong, f.Problem = "name", page.Say(c, "models.exists")
	case errors.Is(err, config.ErrChanged):
		f.Problem = page.Say(c, "settings.changed")
	default:
		if detail := modelError(err); detail != err {
			f.Problem = err.Error()
			break
		}
		return err
	}
	if tried && page.WantsFragment(c.Request()) {
		return page.HTML(c, http.StatusOK, i18n.In(page.ReadPrefs(c.Request()).Lang,
			settings.ProbeResult(views.Probe{Name: cmp.Or(f.Name, f.Model), Error: f.Problem})))
	}
	m := h.modelList(c)
	m.Form = h.form(f)
	return h.showModels(c, http.StatusUnprocessableEntity, m)
}

func (h *Handlers) removeModel(c echo.Context) error {
	return h.onModel(c, func(name string) error { return h.Config.RemoveModel(name) })
}

func (h *Handlers) makeDefault(c echo.Context) error {
	return h.onModel(c, func(name string) error { return h.Config.SetDefaultModel(name) })
}

func (h *Handlers) onModel(c echo.Context, do func(name string) error) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	if err := do(form.Get("name")); err != nil {
		return modelError(err)
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("models"))
}

// modelError assigns errors of the settings a meaningful status.
func modelError(err error) error {
	var wrong *config.EditError
	switch {
	case errors.Is(err, config.ErrNoModel):
		return store.ErrNotFound
	case errors.As(err, &wrong), errors.Is(err, config.ErrInvalid):
		return httpx.Errorf(http.StatusUnprocessableEntity, "%s", err.Error())
	case errors.Is(err, config.ErrModelExists), errors.Is(err, config.ErrOwners), errors.Is(err, config.ErrFixed),
		errors.Is(err, config.ErrChanged):
		return httpx.Errorf(http.StatusConflict, "%s", err.Error())
	}
	return err
}

const (
	discoverEvery = 30 * time.Second      // how long a discovery counts as fresh
	discoverWait  = 50 * time.Millisecond // how long a page waits for a discovery
	discoverTime  = 2 * time.Second       // time limit of a discovery
)

// discovery caches the model servers found on this machine. At most one discovery is under way; it ends within
// discoverTime.
type discovery struct {
	mu    sync.Mutex
	found []llm.Found
	at    time.Time
	look  chan struct{} // closed when the current discovery ends; nil without one
}

// known returns the last found model servers. If the result is old, it searches again, and waits only briefly for the
// outcome.
func (d *discovery) known(ctx context.Context, find func(context.Context) []llm.Found) []llm.Found {
	d.mu.Lock()
	if time.Since(d.at) > discoverEvery && d.look == nil {
		d.look = make(chan struct{})
		go d.run(context.WithoutCancel(ctx), find, d.look)
	}
	look := d.look
	d.mu.Unlock()
	if look != nil {
		wait := time.NewTimer(discoverWait)
		defer wait.Stop()
		select {
		case <-look:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.found)
}

func (d *discovery) run(ctx context.Context, find func(context.Context) []llm.Found, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	found := find(ctx)
	d.mu.Lock()
	d.found, d.at, d.look = found, time.Now(), nil
	d.mu.Unlock()
	close(done)
}
