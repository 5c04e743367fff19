package settings

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/store"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/settings"
	"fawn/web/ui/page"
)

// maxProbes limits concurrent probes.
const maxProbes = 2

// tenth of a second is the precision of shown times.
const tenth = 100 * time.Millisecond

// maxOtherModels limits the suggested alternatives for a missing model.
const maxOtherModels = 24

// maxListedModels limits the selectable models of a server.
const maxListedModels = 200

// noModel is requested to list a server's models.
const noModel = "model"

// probeModel handles POST /ui/models/probe: a real call to a stored model, or to one on a form.
func (h *Handlers) probeModel(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	entry, known := h.Config.Current().Model(form.Get("name"))
	var f *views.ModelForm
	list := false // no model is named: the server is asked which ones it has
	if form.Get("try") != "" || form.Get("pick") != "" {
		e, shown := h.editOf(form, form.Get("change") != "")
		f = &shown
		if list = shown.Model == ""; list {
			e.Name, e.Fields["model"] = cmp.Or(e.Name, noModel), noModel
		}
		if entry, err = h.Config.Overlaid(e); err != nil {
			return h.refusedModel(c, shown, true, err)
		}
	} else if !known {
		return store.ErrNotFound
	}
	if entry.Disabled != "" {
		return h.probed(c, f, views.Probe{Name: entry.Name, Error: entry.Disabled})
	}
	select {
	case h.probes <- struct{}{}:
		defer func() { <-h.probes }()
	case <-c.Request().Context().Done():
		return c.Request().Context().Err()
	}
	p := lead.ProbeVia(c.Request().Context(), entry, h.Outward.Guard(c.Request().Context()))
	took := max(p.Took, tenth)
	out := views.Probe{Name: entry.Name, OK: p.OK, Took: views.Duration(page.ReadPrefs(c.Request()).Lang, took)}
	if p.OK && p.BaseURL != "" && p.BaseURL != entry.BaseURL {
		out.BaseURL = redacted(p.BaseURL)
	}
	out.Error, _, out.Status = llm.Words(p.Err)
	out.Cause, out.Model = string(p.Cause(lead.ModelConfig(entry))), cmp.Or(entry.Model, entry.Name)
	switch {
	case list && (len(p.Offers) > 0 || p.OK || out.Cause == string(llm.CauseModel)):
		out.List, out.Models = true, others(p.Offers, "", maxListedModels)
	case list:
		out.Name = ""
	case out.Cause == string(llm.CauseModel):
		out.Models = others(p.Offers, out.Model, maxOtherModels)
	}
	return h.probed(c, f, out)
}

// others returns a server's other usable models, those whose names contain the requested one first.
func others(offers []llm.Offer, asked string, most int) (out []string) {
	for _, o := range offers {
		if !o.Embeds {
			out = append(out, o.ID)
		}
	}
	like := func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(asked)) }
	slices.SortStableFunc(out, func(a, b string) int {
		switch {
		case like(a) && !like(b):
			return -1
		case like(b) && !like(a):
			return 1
		}
		return 0
	})
	return out[:min(len(out), most)]
}

// probed shows the result of a test call: alone where the form keeps its fields, else on the page.
func (h *Handlers) probed(c echo.Context, f *views.ModelForm, p views.Probe) error {
	p.Form = f != nil
	if f != nil && page.WantsFragment(c.Request()) {
		return page.HTML(c, http.StatusOK, i18n.In(page.ReadPrefs(c.Request()).Lang, settings.ProbeResult(p)))
	}
	m := h.modelList(c)
	if m.Probe = &p; f != nil {
		m.Form = h.form(*f)
	}
	return h.showModels(c, http.StatusOK, m)
}
