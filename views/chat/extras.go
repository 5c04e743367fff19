package chat

import (
	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// PromptForm renders the form of a prompt: the inside of a dialog or a whole page.
func PromptForm(p views.PromptPage) templ.Component {
	if p.Modal {
		return i18n.In(p.Shell.Lang, promptModal(p))
	}
	return i18n.In(p.Shell.Lang, promptPage(p))
}

// Resources renders the list of attachable resources, in a dialog or as a whole page.
func Resources(p views.ResourcesPage) templ.Component {
	if p.Modal {
		return i18n.In(p.Shell.Lang, resourcesModal(p))
	}
	return i18n.In(p.Shell.Lang, resourcesPage(p))
}

// boxURL returns the address of the page with the message box of a chat.
func boxURL(thread string, fresh bool) string {
	if fresh {
		return views.NewChatURL + "?thread=" + thread
	}
	return views.ThreadURL(thread)
}
