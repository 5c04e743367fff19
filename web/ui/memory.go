package ui

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
)

// maxMemoryFile bounds an uploaded memory.json, in bytes.
const maxMemoryFile = 16 << 20

// maxFactForm bounds the form of a fact, in bytes. Everything in it may be escaped.
const maxFactForm = 4*memory.MaxContent + 1<<10

// usualConfidence is that of what people write down themselves.
const usualConfidence = 1

// memorySection is what is known about the reader.
func (u *UI) memorySection(c echo.Context) (m views.Memory, err error) {
	if u.Memory == nil {
		return views.Memory{Off: true, Empty: true}, nil
	}
	ctx := c.Request().Context()
	owner := principal.Owner(ctx)
	m = views.Memory{Off: !u.Config.Current().File.Memory.Enabled, Edit: c.QueryParam("edit"),
		Undo: c.QueryParam("changed") != ""}
	d, err := u.Memory.Document(ctx, owner)
	if err != nil {
		return m, err
	}
	facts, err := u.Memory.All(ctx, owner)
	if err != nil {
		return m, err
	}
	if m.Waiting, err = u.Memory.Waiting(ctx); err != nil {
		return m, err
	}
	for _, name := range memory.SectionNames() {
		if text := d.Sections[name].Summary; text != "" {
			m.Sections = append(m.Sections, views.MemorySection{Name: name, Text: text})
		}
	}
	m.Groups = u.memoryGroups(c, facts)
	m.Empty = len(m.Sections)+len(m.Groups) == 0
	return m, nil
}

// memoryGroups are facts by category: the usual ones first, and in each the newest first.
func (u *UI) memoryGroups(c echo.Context, facts []memory.Fact) (out []views.MemoryGroup) {
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
		group.Facts = append(group.Facts, u.memoryFact(c, f))
	}
	return out
}

func (u *UI) memoryFact(c echo.Context, f memory.Fact) views.MemoryFact {
	out := views.MemoryFact{ID: f.ID, Text: f.Content, Avoid: f.Avoid, Agent: f.Agent, Origin: "import", At: f.Updated}
	switch thread := f.Thread(); {
	case f.Source == memory.Manual:
		out.Origin = "manual"
	case thread != "":
		out.Origin = "thread"
		t, err := u.DB.Thread(c.Request().Context(), thread)
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

// changeMemory is POST /ui/memory: a fact is added, rewritten or deleted, everything is
// forgotten, or the last of these is taken back.
func (u *UI) changeMemory(c echo.Context) error {
	if u.Memory == nil {
		return store.ErrNotFound
	}
	form, err := readForm(c.Request(), maxFactForm)
	if err != nil {
		return err
	}
	ctx, text := c.Request().Context(), strings.TrimSpace(plainText(form.Get("text")))
	owner, id := principal.Owner(ctx), form.Get("fact")
	done := "?changed=1"
	switch form.Get("do") {
	case "add":
		_, err = u.Memory.Add(ctx, owner, 0, memory.Fact{Content: text,
			Category: cmp.Or(form.Get("category"), memory.CategoryDefault), Confidence: usualConfidence})
		id = ""
	case "save":
		_, err = u.Memory.Change(ctx, owner, 0, id, memory.Edit{Content: &text})
	case "delete":
		_, err = u.Memory.Delete(ctx, owner, 0, id)
	case "clear":
		_, err = u.Memory.Clear(ctx, owner, 0)
	case "undo":
		_, err = u.Memory.Undo(ctx, owner)
		done = ""
	}
	if err != nil {
		return u.memoryProblem(c, err, id, text)
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("memory")+done)
}

// importMemory is POST /ui/memory/import: a memory.json takes the place of what is known.
func (u *UI) importMemory(c echo.Context) error {
	if u.Memory == nil {
		return store.ErrNotFound
	}
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxMemoryFile+maxSmallForm)
	var data []byte
	_, _, err := readFormFiles(r, maxSmallForm, func(_ url.Values, files *multipart.Reader) error {
		part, err := files.NextPart()
		if err != nil {
			return formError(err)
		}
		data, err = io.ReadAll(part)
		return formErrorOrNil(err)
	})
	if err != nil {
		return err
	}
	d, err := memory.Parse(data)
	if err == nil {
		_, err = u.Memory.Import(r.Context(), principal.Owner(r.Context()), 0, d)
	}
	if err != nil {
		return u.memoryProblem(c, err, "", "")
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("memory")+"?changed=1")
}

// memoryErrorKey is the key of the words for a change that was not made, or "".
func memoryErrorKey(err error) string {
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

// memoryProblem shows the section again, with what was wrong and what the form held.
func (u *UI) memoryProblem(c echo.Context, err error, id, draft string) error {
	var bad *memory.DocumentError
	key := memoryErrorKey(err)
	if key == "" && !errors.As(err, &bad) {
		return err
	}
	p, err := u.settingsPage(c, "memory")
	if err != nil {
		return err
	}
	if p.Memory, err = u.memorySection(c); err != nil {
		return err
	}
	p.Memory.Edit, p.Memory.Draft = id, draft
	if p.Memory.Problem = say(c, "memory.wrong.document"); key != "" {
		p.Memory.Problem = say(c, key)
	} else if bad != nil {
		p.Memory.Problem = say(c, "memory.wrong.field", bad.Error())
	}
	return html(c, http.StatusUnprocessableEntity, settings.Page(p))
}
