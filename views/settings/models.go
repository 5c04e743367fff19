package settings

import (
	"context"
	"strconv"
	"strings"

	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/layout"
)

func formAction(f views.ModelForm) string {
	if f.Change {
		return views.ModelsURL + "/change"
	}
	return views.ModelsURL
}

func formTitle(ctx context.Context, f views.ModelForm) string {
	if f.Change {
		return i18n.C(ctx, "models.change.title", layout.Model(ctx, f.Name, f.Label))
	}
	if f.Preset.Name == compatible {
		return i18n.C(ctx, "models.add.compatible")
	}
	return i18n.C(ctx, "models.add.title", f.Preset.Label)
}

// compatible is the preset for other providers.
const compatible = "compatible"

// presetText returns the name of a preset; providers' names aren't translated.
func presetText(ctx context.Context, p views.Preset) string {
	if p.Name == compatible {
		return i18n.C(ctx, "models.compatible")
	}
	return p.Label
}

func submitKey(f views.ModelForm) string {
	if f.Change {
		return "models.save"
	}
	return "models.add"
}

// shown reports whether a field with this name is on the form, so that its problem can be shown there.
func shown(name string) bool {
	switch name {
	case "name", "model", "base_url", "api_key", "display_name":
		return true
	}
	return false
}

func keyHint(ctx context.Context, f views.ModelForm) string {
	switch {
	case f.HasKey:
		return i18n.C(ctx, "models.key.stored")
	case f.Preset.KeySet:
		return i18n.C(ctx, "models.key.env", f.Preset.Key)
	case f.Preset.Local:
		return i18n.C(ctx, "models.key.local")
	}
	switch {
	case f.NoKeys:
		return i18n.C(ctx, "models.wrong.no_secret_key")
	case f.Shared:
		return i18n.C(ctx, "models.key.shared")
	}
	return i18n.C(ctx, "models.key.hint")
}

func probeGood(ctx context.Context, p views.Probe) string {
	s := i18n.C(ctx, "models.probe.good", views.Safe(p.Name), p.Took)
	if p.BaseURL != "" {
		s += " " + i18n.C(ctx, "models.probe.at", views.Safe(p.BaseURL))
	}
	return s
}

// probeBad describes the problem of a model, or of the server if there is no model.
func probeBad(ctx context.Context, p views.Probe) string {
	if p.Name == "" {
		return probeCause(ctx, p)
	}
	return i18n.C(ctx, "models.probe.bad", views.Safe(p.Name), probeCause(ctx, p))
}

// probeCause describes the problem in one sentence.
func probeCause(ctx context.Context, p views.Probe) string {
	switch p.Cause {
	case "":
		return views.Safe(p.Error)
	case "model":
		return i18n.C(ctx, "models.cause.model", views.Safe(p.Model))
	}
	return i18n.C(ctx, "models.cause."+p.Cause)
}

// probeWords returns the provider's own, with the status of its answer in front.
func probeWords(p views.Probe) string {
	text := strings.TrimSpace(p.Error)
	if p.Status != 0 {
		return strconv.Itoa(p.Status) + " " + text
	}
	return text
}
