// Package chats serves the lists of chats: all of them, search results, the palette, and the trash.
package chats

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/layout"
	"fawn/web/bots"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Handlers serve the lists. Create them with New.
type Handlers struct {
	*page.Site
	Bots         *bots.Service // bots of chat apps; nil means none
	RunsCommands func() bool   // reports whether there is a sandbox to restart
	Keep         time.Duration // how long deleted chats can be restored
	// Prompts lists the reader's prompts; nil means none.
	Prompts func(context.Context) ([]views.SavedPrompt, error)

	trash *trash
}

// New returns the handlers.
func New(site *page.Site, bots *bots.Service, runsCommands func() bool) *Handlers {
	return &Handlers{Site: site, Bots: bots, RunsCommands: runsCommands, Keep: trashTime, trash: newTrash()}
}

// Routes returns the routes of the lists, and of actions on several chats.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/chats", page.User, h.chats),
		page.Get("/ui/palette", page.User, h.palette),
		page.Get("/ui/threads", page.User, h.threadList),
		page.Post("/ui/threads/delete", page.User, h.removeMany),
		page.Post("/ui/threads/restore", page.User, h.undo),
	}
}

const (
	// chatsPerPage is the page size of the list of all chats.
	chatsPerPage = 50
	// searchTime limits one page's search; the next page continues it.
	searchTime = 2 * time.Second
	// maxQuery and maxWords limit a search query, in bytes and words.
	maxQuery, maxWords = 200, 8
)

// chats handles GET /workspace/chats.
func (h *Handlers) chats(c echo.Context) error {
	shell, err := h.Shell(c, views.NavChats, "")
	if err != nil {
		return err
	}
	list, err := h.findChats(c)
	if err != nil {
		return err
	}
	tags, err := h.DB.Tags(c.Request().Context(), principal.Owner(c.Request().Context()))
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, chat.ChatsPage(views.ChatsPage{Shell: shell, List: list, Total: shell.Total,
		Tags: tags, Apps: h.apps(list)}))
}

// threadList handles GET /ui/threads: the side bar's list as a fragment; with q the list of all matching chats, and
// with before a page of it.
func (h *Handlers) threadList(c echo.Context) error {
	asked := c.QueryParams()
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther,
			chatsURL(asked.Get("q"), asked.Get("from"), asked.Get("show"), asked.Get("before")))
	}
	if !asked.Has("q") && !asked.Has("from") && !asked.Has("show") && !asked.Has("before") {
		shell, err := h.Shell(c, views.NavNone, asked.Get("current"))
		if err != nil {
			return err
		}
		return page.HTML(c, http.StatusOK, page.InLang(shell.Lang, layout.ThreadList(shell)))
	}
	list, err := h.findChats(c)
	if err != nil {
		return err
	}
	view := chat.ChatList(list)
	if asked.Get("before") != "" {
		view = chat.ChatRows(list)
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, view))
}

// findChats reads the page of the list that a request asks for.
func (h *Handlers) findChats(c echo.Context) (views.ChatList, error) {
	ctx, l := c.Request().Context(), views.ChatList{Now: h.DB.Now(), Restart: h.RunsCommands()}
	l.Query = strings.TrimSpace(page.Head(page.PlainText(c.QueryParam("q")), maxQuery))
	words, tags := tagged(strings.Fields(l.Query))
	words = words[:min(len(words), maxWords)]
	l.Show = c.QueryParam("show")
	shelf := store.AnyShelf // searches find archived chats, too
	tag, byTag := strings.CutPrefix(l.Show, views.ShowTag)
	switch {
	case byTag && tag != "":
		tags = append(tags, tag)
	case l.Show == views.ShowArchived:
		shelf = store.ArchivedShelf
	default:
		if l.Show = ""; len(words)+len(tags) == 0 {
			shelf = store.OpenShelf
		}
	}
	l.From = sourceOf(c.QueryParam("from"))
	at := position(c.QueryParam("before"))
	l.Later = at.ID != ""
	found, rest, err := h.DB.FindThreads(ctx,
		store.Find{Owner: principal.Owner(ctx), Words: words, Tags: tags, Shelf: shelf, Metadata: begunIn(l.From), Before: at,
			Limit: chatsPerPage, Within: searchTime,
			Match: func(body []byte) (string, bool) { return Excerpt(body, words) }})
	if err != nil {
		return l, err
	}
	threads := make([]store.Thread, len(found))
	for i, f := range found {
		threads[i] = f.Thread
	}
	rows, err := h.Rows(ctx, threads)
	if err != nil {
		return l, err
	}
	for i, f := range found {
		l.Rows = append(l.Rows, views.ChatRow{ThreadRow: rows[i], Message: f.Message, Excerpt: f.Excerpt})
	}
	if rest.ID != "" {
		l.More = chatsURL(l.Query, l.From.Name, l.Show, positionText(rest))
		l.MoreRows = "/ui/threads?" + chatsQuery(l.Query, l.From.Name, l.Show, positionText(rest))
	}
	return l, nil
}

// tagged separates tags, as in tag:work, from other words of a query.
func tagged(words []string) (plain, tags []string) {
	for _, w := range words {
		if tag, ok := strings.CutPrefix(w, views.ShowTag); ok && tag != "" {
			tags = append(tags, tag)
		} else {
			plain = append(plain, w)
		}
	}
	return plain, tags
}

// position reads a place in the list as positionText writes it; anything else is the top.
func position(s string) (p store.Position) {
	at, id, _ := strings.Cut(s, "_")
	at, p.Pinned = strings.CutPrefix(at, "p")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !page.IsThreadID(id) {
		return store.Position{}
	}
	p.UpdatedAt, p.ID = time.UnixMilli(ms), id
	return p
}

func positionText(p store.Position) string {
	s := strconv.FormatInt(p.UpdatedAt.UnixMilli(), 10) + "_" + p.ID
	if p.Pinned {
		return "p" + s
	}
	return s
}

func chatsQuery(q, from, show, before string) string {
	v := url.Values{}
	for name, s := range map[string]string{"q": q, "from": from, "show": show, "before": before} {
		if s != "" {
			v.Set(name, s)
		}
	}
	return v.Encode()
}

func chatsURL(q, from, show, before string) string {
	if s := chatsQuery(q, from, show, before); s != "" {
		return views.ChatsURL + "?" + s
	}
	return views.ChatsURL
}

// removeMany handles POST /ui/threads/delete.
func (h *Handlers) removeMany(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	threads := form["thread"]
	slices.Sort(threads)
	threads = slices.Compact(threads)
	where := Back(c, "", views.ChatsURL)
	switch {
	case len(threads) == 0:
		return page.Frame(c, views.Frame{Location: where}, where)
	case len(threads) > maxTrash:
		return httpx.Errorf(http.StatusUnprocessableEntity, "%d chats are too many to delete at once; the limit is %d",
			len(threads), maxTrash)
	}
	return h.Removed(c, where, threads...)
}

// Removed moves threads to the trash and redirects to where the reader can restore them.
func (h *Handlers) Removed(c echo.Context, where string, threads ...string) error {
	token, err := h.discard(c.Request().Context(), threads)
	if err != nil {
		return err
	}
	where = page.WithQuery(where, "undo", token)
	return page.Frame(c, views.Frame{Location: where}, where)
}

// undo handles POST /ui/threads/restore.
func (h *Handlers) undo(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	threads, err := h.restore(c.Request().Context(), form.Get("undo"))
	if err == errLate {
		return httpx.Errorf(http.StatusGone, "%s", page.Say(c, "undo.late"))
	}
	if err != nil {
		return err
	}
	where := page.WithQuery(page.LocalPath(form.Get("next"), views.ChatsURL), "undo", "")
	if len(threads) == 1 && !strings.HasPrefix(where, views.ChatsURL+"?") && where != views.ChatsURL {
		where = views.ThreadURL(threads[0])
	}
	return page.Frame(c, views.Frame{Location: where}, where)
}

// Back returns the page of this server from which an action on a thread was sent, so that for instance a rename in a
// list returns to that list. It returns other if that page shows the thread itself or isn't part of the workspace.
func Back(c echo.Context, thread, other string) string {
	r := c.Request()
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host || !strings.HasPrefix(from.Path, "/workspace/") {
		return other
	}
	own := views.ThreadURL(thread)
	if thread != "" && (from.EscapedPath() == own || strings.HasPrefix(from.EscapedPath(), own+"/")) {
		return other
	}
	return page.WithQuery(page.LocalPath(from.RequestURI(), other), "undo", "")
}

// sourceOf returns the filter named in an address; unknown ones are ignored.
func sourceOf(name string) views.Source {
	if name == views.FromApps {
		return views.Source{Name: name}
	}
	p, _ := channels.ProviderOf(name)
	return views.Source{Name: p.Name, Label: p.Display}
}

// begunIn returns the metadata contained in threads that a filter admits.
func begunIn(from views.Source) json.RawMessage {
	switch from.Name {
	case "":
		return nil
	case views.FromApps:
		return json.RawMessage(`{"channel_source":{}}`)
	}
	return json.RawMessage(`{"channel_source":{"provider":"` + from.Name + `"}}`)
}

// apps returns the selectable chat apps: those with a bot, and the origins of listed chats.
func (h *Handlers) apps(l views.ChatList) (out []views.Source) {
	for _, p := range channels.Providers() {
		has := l.From.Name == p.Name || slices.ContainsFunc(l.Rows, func(r views.ChatRow) bool {
			return r.Source.Name == p.Name
		})
		if !has && h.Bots.Available() {
			_, has = h.Bots.Hub.Status(p.Name)
		}
		if has {
			out = append(out, views.Source{Name: p.Name, Label: p.Display})
		}
	}
	return out
}
