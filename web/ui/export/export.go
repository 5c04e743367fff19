// Package export writes chats as files: Markdown, JSON, archives of a chat's files, and of all data of a person.
package export

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/profile"
	"fawn/memory"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// Handlers serve the exports. Create them with New.
type Handlers struct {
	*conversation.Handlers
	Memory *memory.Service  // nil means none
	Agents *profile.Library // nil means none
	Print  Printer          // nil leaves PDFs to the reader's browser

	zips chan struct{} // holds one for each archive that is being made
	pdfs chan struct{} // holds one for each PDF
}

// New returns the handlers.
func New(c *conversation.Handlers, m *memory.Service, a *profile.Library) *Handlers {
	return &Handlers{Handlers: c, Memory: m, Agents: a, zips: make(chan struct{}, maxZips),
		pdfs: make(chan struct{}, maxPDFs)}
}

// Routes returns the routes for exporting chats.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/ui/threads/:id/export.md", page.User, h.OnThread(h.exportMarkdown)),
		page.Get("/ui/threads/:id/export.pdf", page.User, h.OnThread(h.exportPDF)),
		page.Get("/ui/threads/:id/print", page.User, h.OnThread(h.printPage)),
		page.Get("/ui/threads/:id/export.json", page.User, h.OnThread(h.exportJSON)),
		page.Get("/ui/threads/:id/files.zip", page.User, h.OnThread(h.filesZip)),
	}
}

// exportMarkdown handles GET /ui/threads/:id/export.md: a readable transcript.
func (h *Handlers) exportMarkdown(c echo.Context, t store.Thread) error {
	title, body, err := h.ExportMarkdown(c.Request().Context(), t, page.ReadPrefs(c.Request()).Lang)
	if err != nil {
		return err
	}
	return download(c, title+".md", "text/markdown; charset=utf-8", body)
}

// writeTurn writes a turn as Markdown: the message, the names of its files, the words on
// the way, and the answer.
func writeTurn(out *strings.Builder, t *views.Turn, lang string) {
	section := func(key string) { out.WriteString("\n## " + i18n.T(lang, key) + "\n") }
	if t.User != nil {
		section("turn.you")
		for _, f := range t.User.Files {
			out.WriteString("\n- " + page.OneLine(f.Name))
		}
		if len(t.User.Files) > 0 {
			out.WriteString("\n")
		}
		if !turns.Blank(t.User.Text) {
			out.WriteString("\n" + strings.TrimSpace(t.User.Text) + "\n")
		}
	}
	if t.Answer == nil && len(t.Files) == 0 && len(t.Questions) == 0 {
		return
	}
	section("turn.fawn")
	for _, s := range t.Trail.Steps {
		if s.Kind == views.StepNote {
			out.WriteString("\n" + strings.TrimSpace(s.Text) + "\n")
		}
	}
	for _, q := range t.Questions {
		out.WriteString("\n" + strings.TrimSpace(q.Text) + "\n")
	}
	if t.Answer != nil {
		out.WriteString("\n" + strings.TrimSpace(t.Answer.Text) + "\n")
		writeSources(out, t, lang)
	}
	for _, f := range t.Files {
		out.WriteString("\n- " + page.OneLine(f.Path))
	}
	if len(t.Files) > 0 {
		out.WriteString("\n")
	}
}

// writeSources lists the pages that an answer cites, as the page does.
func writeSources(out *strings.Builder, t *views.Turn, lang string) {
	list := chat.SourcesOf(*t)
	if len(list) == 0 {
		return
	}
	out.WriteString("\n" + chat.SourcesText(lang, list) + "\n\n")
	for _, s := range list {
		title := strings.NewReplacer("[", `\[`, "]", `\]`).Replace(page.OneLine(s.Name()))
		mark := "-"
		if s.Number > 0 {
			mark = fmt.Sprintf("%d.", s.Number)
		}
		fmt.Fprintf(out, "%s [%s](<%s>)", mark, title, strings.NewReplacer("<", "%3C", ">", "%3E").Replace(s.URL))
		if !s.Opened {
			out.WriteString(" (" + i18n.T(lang, "turn.unopened.mark") + ")")
		}
		out.WriteString("\n")
	}
}

// exportJSON handles GET /ui/threads/:id/export.json: the stored state, for programs.
func (h *Handlers) exportJSON(c echo.Context, t store.Thread) error {
	body, err := h.ExportJSON(c.Request().Context(), t)
	if err != nil {
		return err
	}
	return download(c, ExportTitle(t, nil, page.ReadPrefs(c.Request()).Lang)+".json", "application/json", body)
}

// ExportTitle returns the title of a thread, or a substitute.
func ExportTitle(t store.Thread, all []views.Turn, lang string) string {
	if title := page.OneLine(t.Title); title != "" {
		return title
	}
	if len(all) > 0 && all[0].User != nil && !turns.Blank(all[0].User.Text) {
		return page.FirstWords(all[0].User.Text)
	}
	return i18n.T(lang, "thread.untitled")
}

// download answers with a file to save.
func download(c echo.Context, name, kind string, body []byte) error {
	h := c.Response().Header()
	h.Set("Content-Disposition", page.Attached(name))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	return c.Blob(http.StatusOK, kind, body)
}
