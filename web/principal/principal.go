// Package principal identifies the user of a request. The middleware that accepts a request puts the principal into its
// context once; handlers and services read it there and nowhere else.
package principal

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/store"
)

// Default is the only principal of a server without accounts, and the one that runs the
// installation.
const Default = store.DefaultOwner

// nobody owns nothing: no account can have this name.
const nobody = "\x00"

// Role is what a user may do besides its own work.
type Role string

// The roles.
const (
	RoleOwner Role = "owner" // runs the installation, and says who else does
	RoleAdmin Role = "admin" // runs the installation
	RoleUser  Role = "user"
)

// Principal is who asks.
type Principal struct {
	Owner    string // whose threads, runs, tasks and files it works with
	Email    string
	Name     string
	Role     Role   // of the account; "" where there are none
	Session  string // id of the session that lets it in, if one does
	Token    string // id of the token that lets it in, if one does
	ReadOnly bool   // the token may only read
	Why      string // code of DeerFlow's for why nobody is known
}

// Operator reports whether the principal runs the installation: models, settings and open hosts concern everybody.
func (p Principal) Operator() bool {
	return p.Role == RoleOwner || p.Role == RoleAdmin || p.Role == "" && p.Owner == Default
}

// Known reports whether anybody asks who has an account.
func (p Principal) Known() bool { return p.Owner != nobody && p.Owner != "" }

// Stranger is who asks without an account, and why.
func Stranger(why string) Principal { return Principal{Owner: nobody, Why: why} }

type key struct{}

// With is ctx with p in it.
func With(ctx context.Context, p Principal) context.Context { return context.WithValue(ctx, key{}, p) }

// Of is who asks. A context without a principal has one that owns nothing.
func Of(ctx context.Context) Principal {
	if p, ok := ctx.Value(key{}).(Principal); ok && p.Owner != "" {
		return p
	}
	return Stranger("not_authenticated")
}

// Owner is short for the owner of what the principal of ctx works with.
func Owner(ctx context.Context) string { return Of(ctx).Owner }

// Middleware puts the principal that who finds for a request into its context.
func Middleware(who func(*http.Request) Principal) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			c.SetRequest(r.WithContext(With(r.Context(), who(r))))
			return next(c)
		}
	}
}

// Single finds the default principal for every request: there are no accounts.
func Single(*http.Request) Principal { return Principal{Owner: Default, Role: RoleOwner} }
