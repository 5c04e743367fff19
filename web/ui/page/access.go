package page

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/store"
	"fawn/views"
	"fawn/web/principal"
)

// Rights returns the reader's permissions, for lists; the manager of runs enforces them. If that can't be read, lists
// show everything.
func (s *Site) Rights(ctx context.Context) access.Rights {
	may, err := s.Access.Of(ctx, principal.Owner(ctx))
	if err != nil && ctx.Err() == nil {
		s.Log.Error("couldn't read a user's permissions", "user", principal.Owner(ctx), "err", err)
	}
	return may
}

// Models returns the usable models that the reader may use.
func (s *Site) Models(ctx context.Context) (list []config.Model) {
	may := s.Rights(ctx)
	for _, m := range s.Config.Current().UsableModels() {
		if may.May(access.Model, m.Name) {
			list = append(list, m)
		}
	}
	return list
}

// banners returns the announcements that the reader has not dismissed.
func (s *Site) banners(ctx context.Context) (list []views.Announcement, err error) {
	if !s.Guarded() {
		return nil, nil
	}
	all, err := s.DB.AnnouncementsFor(ctx, principal.Owner(ctx))
	for _, a := range all {
		list = append(list, AnnouncementOf(a))
	}
	return list, err
}

// AnnouncementOf returns an announcement as pages show it.
func AnnouncementOf(a store.Announcement) views.Announcement {
	return views.Announcement{ID: a.ID, Text: a.Text, Warning: a.Level == access.Warning, Ends: a.EndsAt, Made: a.CreatedAt}
}

// DeniedText returns a refusal of package access in the reader's language, or "".
func DeniedText(c echo.Context, err error) string {
	var denied *access.Denied
	var spent *access.Spent
	switch {
	case errors.As(err, &denied) && denied.Name == "":
		return Say(c, "access.denied.all", kindText(c, denied.Kind)) + " " + askText(c, denied.Ask)
	case errors.As(err, &denied):
		return Say(c, "access.denied", kindText(c, denied.Kind), views.Safe(denied.Name)) + " " +
			askText(c, denied.Ask)
	case errors.As(err, &spent):
		return Say(c, "access.spent."+spent.What, views.Number(int(spent.Limit)), views.When(spent.Until)) + " " +
			askText(c, spent.Ask)
	}
	return ""
}

func kindText(c echo.Context, k access.Kind) string {
	if k == access.Server {
		return Say(c, "access.kind.server")
	}
	return Say(c, "access.kind."+string(k))
}

func askText(c echo.Context, address string) string {
	if address == "" {
		return Say(c, "access.ask")
	}
	return Say(c, "access.ask.whom", views.Safe(address))
}
