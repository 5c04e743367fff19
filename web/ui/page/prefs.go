package page

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/views"
	"fawn/views/i18n"
)

// prefsCookie holds the reader's choices as a query string.
const prefsCookie = "fawn_prefs"

// prefsAge is the lifetime of the preferences' cookie, in seconds.
const prefsAge = 365 * 24 * 3600

// prefs are a reader's preferences, or the defaults.
type prefs struct {
	Lang   string
	Theme  views.Theme
	Model  string
	Mode   views.Mode
	Effort string
	Side   string // "off" if the side bar is hidden
	Keys   string // "off" if single-key shortcuts are disabled
	Size   int    // text size of answers in px; 0 is the default
	Widths views.Columns
	Notify string   // "on" or "off"; empty while nothing was said about notifications
	Quiet  []string // disabled kinds of notifications, of views.NotifyKinds
}

// Wants reports whether the reader wants notifications of a kind while the page isn't visible.
func (p prefs) Wants(kind string) bool { return p.Notify == "on" && !slices.Contains(p.Quiet, kind) }

// MaxPref limits one choice, in bytes.
const MaxPref = 200

// ReadPrefs never fails: invalid values become defaults. The default language is the browser's.
func ReadPrefs(r *http.Request) prefs {
	var v url.Values
	if ck, err := r.Cookie(prefsCookie); err == nil {
		v, _ = url.ParseQuery(ck.Value)
	}
	p := prefs{Lang: v.Get("lang"), Theme: views.Theme(v.Get("theme")), Model: v.Get("model"),
		Mode: views.Mode(v.Get("mode")), Effort: v.Get("effort"), Side: v.Get("side"), Keys: v.Get("keys")}
	p.Size = oneOf(v.Get("size"), views.TextSizes())
	p.Widths = views.Columns{Side: oneOf(v.Get("sidew"), views.SideWidths()),
		Panel: oneOf(v.Get("panelw"), views.PanelWidths())}
	if n := v.Get("notify"); onOff(n) {
		p.Notify = n
	}
	for _, kind := range views.NotifyKinds() {
		if v.Get(views.NotifyPref(kind)) == "off" {
			p.Quiet = append(p.Quiet, kind)
		}
	}
	if !i18n.Known(p.Lang) {
		p.Lang = i18n.Match(r.Header.Get("Accept-Language"))
	}
	if p.Theme != views.ThemeLight && p.Theme != views.ThemeDark {
		p.Theme = views.ThemeSystem
	}
	return p
}

func onOff(v string) bool { return v == "on" || v == "off" }

// oneOf returns the number s when it is in the list, else 0.
func oneOf(s string, list []int) int {
	n, err := strconv.Atoi(s)
	if err != nil || !slices.Contains(list, n) {
		return 0
	}
	return n
}

// width reads a width of a column; empty is the usual one.
func width(list []int) func(string) bool {
	return func(s string) bool { return s == "" || oneOf(s, list) != 0 }
}

func isSize(s string) bool { return oneOf(s, views.TextSizes()) != 0 }

// SavePrefs takes the choices that are in the form and keeps the others.
func (s *Site) SavePrefs(c echo.Context) error {
	form, err := ReadForm(c.Request(), SmallForm)
	if err != nil {
		return err
	}
	s.SetPrefs(c, form)
	where := LocalPath(form.Get("next"), views.NewChatURL)
	if strings.HasPrefix(where, views.SettingsURL("")) {
		where += "?saved=1"
	}
	return Frame(c, views.Frame{}, where)
}

// SetPrefs answers with the cookie that has the choices of a form, and the others as they
// were.
func (s *Site) SetPrefs(c echo.Context, form url.Values) {
	r := c.Request()
	old := ReadPrefs(r)
	keep := url.Values{}
	set := func(name, was string, valid func(string) bool) {
		now := was
		if v := form.Get(name); form.Has(name) && valid(v) {
			now = v
		}
		if now != "" {
			keep.Set(name, now)
		}
	}
	chosen := ""
	if ck, err := r.Cookie(prefsCookie); err == nil {
		if v, err := url.ParseQuery(ck.Value); err == nil && i18n.Known(v.Get("lang")) {
			chosen = v.Get("lang") // a language the browser suggests is not a choice
		}
	}
	short := func(v string) bool { return len(v) <= MaxPref }
	set("lang", chosen, i18n.Known)
	set("theme", string(old.Theme), func(v string) bool {
		return v == string(views.ThemeSystem) || v == string(views.ThemeLight) || v == string(views.ThemeDark)
	})
	set("model", old.Model, short)
	set("mode", string(old.Mode), short)
	set("effort", old.Effort, short)
	set("side", old.Side, onOff)
	set("keys", old.Keys, onOff)
	set("size", number(old.Size), isSize)
	set("sidew", number(old.Widths.Side), width(views.SideWidths()))
	set("panelw", number(old.Widths.Panel), width(views.PanelWidths()))
	set("notify", old.Notify, onOff)
	for _, kind := range views.NotifyKinds() {
		name, was := views.NotifyPref(kind), ""
		if slices.Contains(old.Quiet, kind) {
			was = "off"
		}
		if form.Has("kinds") && !form.Has(name) { // the form has them all; a box without its mark sends nothing
			was = "off"
		}
		set(name, was, onOff)
	}
	c.SetCookie(&http.Cookie{Name: prefsCookie, Value: keep.Encode(), Path: "/", MaxAge: prefsAge,
		SameSite: http.SameSiteLaxMode})
}

// number writes a preference that differs from the default.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
