package route

import (
	"context"
	"encoding/json"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/web/httpx"
	"fawn/web/principal"
)

// Owner returns the account for which a request acts.
func (p *Parts) Owner(c echo.Context) string { return principal.Owner(c.Request().Context()) }

// Rights returns the caller's permissions for lists; the manager of runs enforces them for runs.
func (p *Parts) Rights(ctx context.Context) (access.Rights, error) {
	return p.Access.Of(ctx, principal.Owner(ctx))
}

// Foreign reports whether an object belongs to another user; it is invisible to the caller.
func (p *Parts) Foreign(c echo.Context, owner string) bool { return owner != p.Owner(c) }

// Members decodes an object of a request, nil if it is absent.
func Members(field string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	if raw = Given(raw); raw == nil {
		return nil, nil
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return nil, httpx.Invalid("body", field, "want an object")
	}
	return obj, nil
}

// BindStrict reads the body of a route of DeerFlow's own, where unknown fields are a 422.
func (p *Parts) BindStrict(c echo.Context, into any) error {
	body, err := httpx.Body(c.Request(), p.BodyLimit())
	if err != nil {
		return err
	}
	return httpx.DecodeStrict(body, into)
}
