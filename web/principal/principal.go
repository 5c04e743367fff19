// Package principal identifies the user of a request. The middleware that accepts a request puts the principal into its
// context once; handlers and services read it there and nowhere else.
package principal

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/store"
)

// Default is the only principal of a server without accounts, and the owner of the installation.
const Default = store.DefaultOwner

// nobody is the owner without data: no account can have this name.
const nobody = "\x00"

// Role grants rights beyond a user's own data.
type Role string

// The roles.
const (
	RoleOwner Role = "owner" // owns the installation, and grants that role
	RoleAdmin Role = "admin" // runs the installation
	RoleUser  Role = "user"
)

// Principal is the author of a request.
type Principal struct {
	Owner    string // owner of the threads, runs, tasks and files it works with
	Email    string
	Name     string
	Role     Role   // role of the account; "" without accounts
	Session  string // id of the authenticating session, if any
	Token    string // id of the authenticating token, if any
	ReadOnly bool   // the token may only read
	Why      string // DeerFlow's code for an unknown principal
}

// Operator reports whether the principal operates the installation: models, settings and open hosts affect everyone.
func (p Principal) Operator() bool {
	return p.Role == RoleOwner || p.Role == RoleAdmin || p.Role == "" && p.Owner == Default
}

// Known reports whether the request belongs to an account.
func (p Principal) Known() bool { return p.Owner != nobody && p.Owner != "" }

// Stranger returns the principal of an unauthenticated request, with the reason.
func Stranger(why string) Principal { return Principal{Owner: nobody, Why: why} }

type key struct{}

// With returns a copy of ctx with p in it.
func With(ctx context.Context, p Principal) context.Context { return context.WithValue(ctx, key{}, p) }

// Of returns the principal of a context; without one it is a principal that owns nothing.
func Of(ctx context.Context) Principal {
	if p, ok := ctx.Value(key{}).(Principal); ok && p.Owner != "" {
		return p
	}
	return Stranger("not_authenticated")
}

// Owner returns the owner of ctx's principal.
func Owner(ctx context.Context) string { return Of(ctx).Owner }

// Middleware puts the principal found by who into a request's context.
func Middleware(who func(*http.Request) Principal) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			c.SetRequest(r.WithContext(With(r.Context(), who(r))))
			return next(c)
		}
	}
}

// Single returns the default principal for every request: there are no accounts.
func Single(*http.Request) Principal { return Principal{Owner: Default, Role: RoleOwner} }

// Policy defines who may use a route. The zero value admits no one, so a route without a policy serves no one.
type Policy int

// The policies.
const (
	Nobody   Policy = iota
	Anyone          // also without an account
	User            // any account; others' data is invisible to it
	Operator        // operators of the installation: it affects everyone
	Reader          // as User, and also a token that may only read, whatever the method
	Person          // as User, but no token: it concerns the account itself
	Manager         // as Operator, but no token: it concerns the accounts of others
)

// Admits reports whether the policy admits a principal.
func (p Policy) Admits(who Principal) bool {
	switch p {
	case Anyone:
		return true
	case User, Reader:
		return who.Known()
	case Operator:
		return who.Known() && who.Operator()
	case Person:
		return who.Known() && who.Token == ""
	case Manager:
		return who.Known() && who.Operator() && who.Token == ""
	}
	return false
}

// AdmitsRequest is Admits for a request with a method: read-only principals may only send read requests, except to
// routes that never write.
func (p Policy) AdmitsRequest(who Principal, method string) bool {
	if who.ReadOnly && p != Anyone && p != Reader && method != http.MethodGet && method != http.MethodHead {
		return false
	}
	return p.Admits(who)
}
