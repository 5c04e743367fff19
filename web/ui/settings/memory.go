package settings

import (
	"cmp"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/memory"
	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// maxMemoryFile limits an uploaded memory.json, in bytes.
const maxMemoryFile = 16 << 20

// maxFactForm limits the form of a fact, in bytes. Everything in it may be escaped.
const maxFactForm = 4*memory.MaxContent + 1<<10

// usualConfidence is the confidence of facts that people write themselves.
const usualConfidence = 1

// memorySection returns the section with the reader's memory.
func (h *Handlers) memorySection(c echo.Context) (m views.Memory, err error) {
	if h.Memory == nil {
		return views.Memory{Off: true, Empty: true}, nil
	}
	ctx := c.Request().Context()
	owner := principal.Owner(ctx)
	m = views.Memory{Off: !h.Config.Current().File.Memory.Enabled, Edit: c.QueryParam("edit"),
		Undo: c.QueryParam("changed") != ""}
	if m.Muted, err = h.Memory.Muted(ctx, owner); err != nil {
		return m, err
	}
	d, err := h.Memory.Document(ctx, owner)
	if err != nil {
		return m, err
	}
	facts, err := h.Memory.All(ctx, owner)
	if err != nil {
		return m, err
	}
	if m.Waiting, err = h.Memory.Waiting(ctx); err != nil {
		return m, err
	}
	for _, name := range memory.SectionNames() {
		if text := d.Sections[name].Summary; text != "" {
			m.Sections = append(m.Sections, views.MemorySection{Name: name, Text: text})
		}
	}
	m.Groups = h.memoryGroups(c, facts)
	m.Empty = len(m.Sections)+len(m.Groups) == 0
	return m, nil
}

// memoryGroups groups facts by category: the usual ones first, newest first in each.
func (h *Handlers) memoryGroups(c echo.Context, facts []memory.Fact) (out []views.MemoryGroup) {
	usual := memory.Categories()
	rank := func(category string) int {
		if i := slices.Index(usual, category); i >= 0 {
			return i
		}
		return len(usual)
	}
	slices.SortStableFunc(facts, func(a, b memory.Fact) int {
		return cmp.Or(rank(a.Category)-rank(b.Category), strings.Compare(a.Category, b.Category),
			b.Updated.Compare(a.Updated))
	})
	for _, f := range facts {
		if len(out) == 0 || out[len(out)-1].Category != f.Category {
			out = append(out, views.MemoryGroup{Category: f.Category})
		}
		group := &out[len(out)-1]
		group.Facts = append(group.Facts, h.MemoryFact(c, f))
	}
	return out
}

// MemoryFact returns a fact for pages, with its source.
func (h *Handlers) MemoryFact(c echo.Context, f memory.Fact) views.MemoryFact {
	out := views.MemoryFact{ID: f.ID, Text: f.Content, Avoid: f.Avoid, Agent: f.Agent, Origin: "import", At: f.Updated}
	switch thread := f.Thread(); {
	case f.Source == memory.Manual:
		out.Origin = "manual"
	case thread != "":
		out.Origin = "thread"
		t, err := h.DB.Thread(c.Request().Context(), thread)
		switch {
		case err != nil || t.Owner != principal.Owner(c.Request().Context()) || !t.DeletedAt.IsZero():
			out.Origin = "gone"
		case f.Message != "":
			out.URL = views.AtURL(thread, f.Message)
		default:
			out.URL = views.ThreadURL(thread)
		}
	}
	return out
}

// changeMemory handles POST /ui/memory: it adds, changes or deletes a fact, clears the memory, or undoes the last
// change.
func (h *Handlers) changeMemory(c echo.Context) error {
	if h.Memory == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), maxFactForm)
	if err != nil {
		return err
	}
	ctx, text := c.Request().Context(), strings.TrimSpace(page.PlainText(form.Get("text")))
	owner, id := principal.Owner(ctx), form.Get("fact")
	done := "?changed=1"
	switch form.Get("do") {
	case "add":
		_, err = h.Memory.Add(ctx, owner, 0, memory.Fact{Content: text,
			Category: cmp.Or(form.Get("category"), memory.CategoryDefault), Confidence: usualConfidence})
		id = ""
	case "save":
		_, err = h.Memory.Change(ctx, owner, 0, id, memory.Edit{Content: &text})
	case "delete":
		_, err = h.Memory.Delete(ctx, owner, 0, id)
	case "clear":
		_, err = h.Memory.Clear(ctx, owner, 0)
	case "undo":
		_, err = h.Memory.Undo(ctx, owner)
		done = ""
	case "mute", "unmute":
		err = h.Memory.SetMuted(ctx, owner, form.Get("do") == "mute")
		done = ""
	}
	if err != nil {
		return h.memoryProblem(c, err, id, text)
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("memory")+done)
}

// importMemory handles POST /ui/memory/import: it replaces the memory with a memory.json.
func (h *Handlers) importMemory(c echo.Context) error {
	if h.Memory == nil {
		return store.ErrNotFound
	}
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxMemoryFile+page.SmallForm)
	var data []byte
	_, _, err := page.ReadFormFiles(r, page.SmallForm, func(_ url.Values, files *multipart.Reader) error {
		part, err := files.NextPart()
		if err != nil {
			return page.FormError(err)
		}
		data, err = io.ReadAll(part)
		return page.FormError(err)
	})
	if err != nil {
		return err
	}
	d, err := memory.Parse(data)
	if err == nil {
		_, err = h.Memory.Import(r.Context(), principal.Owner(r.Context()), 0, d)
	}
	if err != nil {
		return h.memoryProblem(c, err, "", "")
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("memory")+"?changed=1")
}

// MemoryErrorKey returns the key of the words for a change that was not made, or "".
func MemoryErrorKey(err error) string {
	switch {
	case errors.Is(err, memory.ErrDuplicate):
		return "memory.wrong.duplicate"
	case errors.Is(err, memory.ErrEvicted):
		return "memory.wrong.full"
	case errors.Is(err, memory.ErrNotFound):
		return "memory.wrong.gone"
	case errors.Is(err, memory.ErrChanged), errors.Is(err, memory.ErrNoUndo):
		return "memory.wrong.changed"
	}
	return ""
}

// memoryProblem shows the section again, with an error and the form's contents.
func (h *Handlers) memoryProblem(c echo.Context, err error, id, draft string) error {
	var bad *memory.DocumentError
	key := MemoryErrorKey(err)
	if key == "" && !errors.As(err, &bad) {
		return err
	}
	p, err := h.Settings(c, "memory")
	if err != nil {
		return err
	}
	if p.Memory, err = h.memorySection(c); err != nil {
		return err
	}
	p.Memory.Edit, p.Memory.Draft = id, draft
	if p.Memory.Problem = page.Say(c, "memory.wrong.document"); key != "" {
		p.Memory.Problem = page.Say(c, key)
	} else if bad != nil {
		p.Memory.Problem = page.Say(c, "memory.wrong.field", bad.Error())
	}
	return page.HTML(c, http.StatusUnprocessableEntity, settings.Page(p))
}
