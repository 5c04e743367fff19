package account

import (
	"context"
	"strconv"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// SignIn renders the page to sign in, or that of the second step.
func SignIn(p views.SignIn) templ.Component { return i18n.In(p.Shell.Lang, signIn(p)) }

// Link renders the page of a one-time link.
func Link(p views.LinkPage) templ.Component { return i18n.In(p.Shell.Lang, link(p)) }

// linkTitle returns the title for a link's purpose.
func linkTitle(p views.LinkPage) string {
	switch {
	case p.Reset:
		return "account.reset.title"
	case p.Owner:
		return "account.setup.title"
	}
	return "account.invite.title"
}

func linkButton(p views.LinkPage) string {
	if p.Reset {
		return "account.reset.do"
	}
	return "account.setup.do"
}

func linkAction(p views.LinkPage) templ.SafeURL {
	if p.Reset {
		return templ.SafeURL(views.ResetURL)
	}
	return templ.SafeURL(views.SetupURL)
}

// square returns the SVG path of a QR code.
func square(q views.QR) string { return "0 0 " + strconv.Itoa(q.Size) + " " + strconv.Itoa(q.Size) }

func roleText(ctx context.Context, role string) string {
	key := "users.role." + role
	if s := i18n.C(ctx, key); s != key {
		return s
	}
	return views.Safe(role)
}

func scopeText(ctx context.Context, scope string) string {
	key := "tokens.scope." + scope
	if s := i18n.C(ctx, key); s != key {
		return s
	}
	return views.Safe(scope)
}

func daysText(ctx context.Context, days int) string {
	if days == 0 {
		return i18n.C(ctx, "tokens.never")
	}
	return i18n.N(ctx, "tokens.days", days)
}

// userAction returns the address of an action on an account.
func userAction(u views.User, action string) templ.SafeURL {
	return templ.SafeURL(views.UsersURL + "/" + u.ID + "/" + action)
}

func disableVerb(u views.User) string {
	if u.Disabled {
		return "users.enable"
	}
	return "users.disable"
}

// confirmAction returns the target of the confirmation form: accounts without a password sign out and in again.
func confirmAction(v views.Confirm) string {
	if v.Password {
		return views.AccountURL + "#confirm"
	}
	return views.LogoutURL
}

// groupAction returns the address of an action on a group.
func groupAction(g views.Group, action string) templ.SafeURL {
	return templ.SafeURL(views.GroupsURL + "/" + g.ID + "/" + action)
}

func shownFor(ctx context.Context, days int) string {
	if days == 0 {
		return i18n.C(ctx, "news.days.always")
	}
	return i18n.N(ctx, "news.days.n", days)
}

// addable returns the services that can be linked now.
func addable(a views.Account) []views.Service {
	if a.Confirm.Needed {
		return nil
	}
	return a.Services
}
