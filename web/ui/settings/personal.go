package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/profile"
	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// maxPersonalForm limits a form with one text, in bytes. Everything in it may be escaped.
const maxPersonalForm = 4*profile.MaxSoul + 1<<10

// The texts of the section.
const (
	textUser = "user" // USER.md
	textSoul = "soul" // SOUL.md of the lead agent
)

// personalSection shows the texts that people wrote about themselves and about Fawn's character.
func (h *Handlers) personalSection(c echo.Context) (p views.Personal, err error) {
	if h.Agents == nil {
		return p, nil
	}
	for _, name := range []string{textUser, textSoul} {
		t := views.PersonalText{Name: name}
		text, err := h.personalText(c, name)
		var bad *profile.Invalid
		switch {
		case errors.As(err, &bad):
			t.Problem = bad.Why
		case err != nil:
			return p, err
		}
		t.Text, t.Seen = text, textMark(text)
		p.Texts = append(p.Texts, t)
	}
	return p, nil
}

func (h *Handlers) personalText(c echo.Context, name string) (string, error) {
	if name == textSoul {
		return h.Agents.Soul()
	}
	return h.Agents.User(principal.Owner(c.Request().Context()))
}

// textMark detects whether a file changed since a form was made from it.
func textMark(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// savePersonal handles POST /ui/personal: one of the texts is written.
func (h *Handlers) savePersonal(c echo.Context) error {
	if h.Agents == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), maxPersonalForm)
	if err != nil {
		return err
	}
	name, text := form.Get("name"), strings.TrimSpace(page.PlainText(form.Get("text")))
	owner := principal.Owner(c.Request().Context())
	was, err := h.personalText(c, name)
	var bad *profile.Invalid
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	switch {
	case textMark(was) != form.Get("seen") && was != text:
		return h.personalProblem(c, name, text, page.Say(c, "personal.changed"))
	case name == textUser:
		err = h.Agents.SetUser(owner, text)
	case name == textSoul:
		err = h.Agents.SetSoul(owner, text)
	default:
		return store.ErrNotFound
	}
	if errors.As(err, &bad) {
		return h.personalProblem(c, name, text, page.Say(c, "personal.wrong", bad.Why))
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("personal")+"?saved=1")
}

// personalProblem shows the section again with the text and the reason why it wasn't saved. Saving again overwrites the
// current file.
func (h *Handlers) personalProblem(c echo.Context, name, draft, problem string) error {
	p, err := h.Settings(c, "personal")
	if err != nil {
		return err
	}
	if p.Personal, err = h.personalSection(c); err != nil {
		return err
	}
	for i := range p.Personal.Texts {
		if t := &p.Personal.Texts[i]; t.Name == name {
			t.Text, t.Problem = draft, problem
		}
	}
	return page.HTML(c, http.StatusUnprocessableEntity, settings.Page(p))
}
