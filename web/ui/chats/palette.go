package chats

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/views"
	"fawn/views/layout"
	"fawn/web/ui/page"
)

// how long deleted chats can be restored
const paletteRows = 8

// palette handles GET /ui/palette: the dialog's content; with q only the matching list, with keys the list of
// shortcuts.
func (h *Handlers) palette(c echo.Context) error {
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, chatsURL(c.QueryParam("q"), "", "", ""))
	}
	lang := page.ReadPrefs(c.Request()).Lang
	if c.QueryParam("keys") != "" {
		return page.HTML(c, http.StatusOK, page.InLang(lang, layout.KeyList()))
	}
	found, err := h.findChats(c)
	if err != nil {
		return err
	}
	p := views.Palette{Query: found.Query, Who: h.Who(c), InChat: c.QueryParam("chat") != ""}
	if p.Query != "" && h.Prompts != nil {
		all, err := h.Prompts(c.Request().Context())
		if err != nil {
			return err
		}
		p.Prompts = named(all, p.Query)
	}
	for _, r := range found.Rows[:min(len(found.Rows), paletteRows)] {
		p.Chats = append(p.Chats, r.ThreadRow)
	}
	if c.QueryParams().Has("q") {
		return page.HTML(c, http.StatusOK, page.InLang(lang, layout.PaletteList(p)))
	}
	return page.HTML(c, http.StatusOK, page.InLang(lang, layout.Palette(p)))
}

// palettePrompts limits the prompts in the palette.
const palettePrompts = 5

// named returns the prompts whose names or descriptions contain all words of a query; after a slash only the name
// counts.
func named(all []views.SavedPrompt, query string) (list []views.SavedPrompt) {
	query, slash := strings.CutPrefix(strings.ToLower(strings.TrimSpace(query)), "/")
	words := strings.Fields(query)
	for _, p := range all {
		in := p.Name
		if !slash {
			in += " " + strings.ToLower(p.About)
		}
		if len(list) < palettePrompts && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(in, w) }) {
			list = append(list, p)
		}
	}
	return list
}
