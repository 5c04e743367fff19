package chat

import (
	"context"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/markdown"
)

// SharePage renders the page or the inside of the dialog about the link of a chat.
func SharePage(p views.SharePage) templ.Component {
	if p.Modal {
		return i18n.In(p.Shell.Lang, shareModal(p))
	}
	return i18n.In(p.Shell.Lang, sharePage(p))
}

// SharedPage renders the whole page that a link leads to.
func SharedPage(p views.SharedPage) templ.Component { return i18n.In(p.Shell.Lang, sharedPage(p)) }

func shareKey(shared bool) string {
	if shared {
		return "share.on"
	}
	return "share.title"
}

// sharedOptions returns the options for text on a shared page: only files covered by the link are linked.
func sharedOptions(ctx context.Context, p views.SharedPage, element string) markdown.Options {
	o := mdOptions(ctx, "", element)
	o.Share, o.Shared, o.Whole = p.Token, p.Files, ""
	return o
}
