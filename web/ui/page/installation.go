package page

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/sandbox"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/web/principal"
)

// Box describes the sandbox for people.
func (s *Site) Box() views.Sandbox {
	if s.Sandbox == nil {
		return views.Sandbox{}
	}
	r, set := s.Sandbox(), s.Config.Current().File.Sandbox
	out := views.Sandbox{State: views.SandboxGood, Provider: r.Provider, Layers: r.Layers, Degraded: r.Degraded,
		Reason: r.Reason, Hint: r.Hint,
		Network: set.Network.Mode, Disk: set.Limits.Disk}
	for _, t := range r.Tried { // stronger ones that do not work here
		out.Degraded = append(slices.Clip(out.Degraded), t.String())
		if t.Hint != "" && out.Hint == "" {
			out.Hint = t.Hint
		}
	}
	if r.Provider == sandbox.ProviderLandlock && out.Network == sandbox.NetworkProxy {
		out.Network = sandbox.NetworkNone // it can't isolate a proxy from the rest
	}
	switch {
	case r.Provider == sandbox.ProviderOff || !r.OK:
		out.State = views.SandboxOff
	case r.Provider == sandbox.ProviderHost:
		out.State = views.SandboxOpen
	case len(r.Degraded) > 0 || r.Provider == sandbox.ProviderLandlock:
		out.State = views.SandboxWeak
	}
	return out
}

// Settings returns the data common to all sections of the settings.
func (s *Site) Settings(c echo.Context, section string) (views.SettingsPage, error) {
	chosen := ReadPrefs(c.Request())
	p := views.SettingsPage{Section: section, Modal: WantsFragment(c.Request()),
		Saved: c.QueryParam("saved") != "", Langs: i18n.Languages(),
		Size: chosen.Size, Loopback: s.loopback()}
	var err error
	p.Config = cmp.Or(s.ConfigNotice(c), s.restartNotice(c), s.differNotice(c))
	p.Shell, err = s.Shell(c, views.NavSettings, "")
	return p, err
}

func (s *Site) loopback() bool {
	host, _, err := net.SplitHostPort(s.Addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// ConfigNotice reports that the current configuration is unusable; nil if it is valid.
func (s *Site) ConfigNotice(c echo.Context) *views.Notice {
	if !MayChange(c) {
		return nil
	}
	problem := s.Config.Problem()
	if problem == "" {
		return nil
	}
	return &views.Notice{Kind: views.NoticeWarn, Text: Say(c, "config.problem"),
		Detail: strings.TrimPrefix(problem, config.KeptLastGood)}
}

// restartNotice names settings that were changed but are not in force yet; nil without any.
func (s *Site) restartNotice(c echo.Context) *views.Notice {
	if !MayChange(c) {
		return nil
	}
	keys := s.Config.Restart()
	if keys == "" {
		return nil
	}
	return &views.Notice{Kind: views.NoticeInfo, Text: Say(c, "config.restart"), Detail: keys}
}

// differNotice names servers of the same database that have another configuration; nil without any.
func (s *Site) differNotice(c echo.Context) *views.Notice {
	if !MayChange(c) {
		return nil
	}
	others := s.Config.Differing()
	if len(others) == 0 {
		return nil
	}
	return &views.Notice{Kind: views.NoticeWarn, Text: Say(c, "config.differs"), Detail: strings.Join(others, "\n")}
}

// MayChange reports whether the reader may change the installation.
func MayChange(c echo.Context) bool {
	return principal.Of(c.Request().Context()).Operator()
}
