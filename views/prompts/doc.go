// Package prompts has the pages of prompts that people keep.
package prompts

import (
	"context"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// ListPage renders the page of all prompts.
func ListPage(p views.PromptsPage) templ.Component { return i18n.In(p.Shell.Lang, listPage(p)) }

// FormPage renders the page of one, or of a new one.
func FormPage(f views.PromptForm) templ.Component { return i18n.In(f.Shell.Lang, formPage(f)) }

// title returns the heading of the page of a prompt.
func title(ctx context.Context, f views.PromptForm) string {
	if f.ID == "" {
		return i18n.C(ctx, "prompts.new")
	}
	return "/" + views.Safe(f.Prompt.Name)
}

// sharedText names a prompt's audience, "" for none.
func sharedText(ctx context.Context, p views.SavedPrompt) string {
	switch {
	case p.Everybody && p.Mine:
		return i18n.C(ctx, "prompts.shared.all")
	case p.Everybody:
		return i18n.C(ctx, "prompts.from.all")
	case p.Group != "":
		return i18n.C(ctx, "prompts.shared.group", views.Safe(p.Group))
	}
	return ""
}

// action returns where the form of a prompt goes.
func action(f views.PromptForm) string {
	if f.ID == "" {
		return views.PromptActionsURL
	}
	return views.PromptActionURL(f.ID, "save")
}
