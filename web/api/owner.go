package api

import (
	"encoding/json"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
	"fawn/web/principal"
)

// owner is whom a request acts for.
func (a *API) owner(c echo.Context) string { return principal.Owner(c.Request().Context()) }

// foreign tells whether a thing belongs to somebody else; to the asker it is not there.
func (a *API) foreign(c echo.Context, owner string) bool { return owner != a.owner(c) }

// wanted decodes an object that things must contain, nil when it asks for nothing.
func wanted(field string, raw json.RawMessage) (map[string]any, error) {
	if raw = given(raw); raw == nil {
		return nil, nil
	}
	var want map[string]any
	if json.Unmarshal(raw, &want) != nil {
		return nil, httpx.Invalid("body", field, "want an object")
	}
	return want, nil
}

// members decodes an object of a request, nil when it is absent.
func members(field string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	if raw = given(raw); raw == nil {
		return nil, nil
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return nil, httpx.Invalid("body", field, "want an object")
	}
	return obj, nil
}

// holds tells whether a JSON object contains everything want says.
func holds(raw json.RawMessage, want map[string]any) bool {
	if len(want) == 0 {
		return true
	}
	var have map[string]any
	return json.Unmarshal(object(raw), &have) == nil && contains(have, want)
}

// strict reads the body of a route of DeerFlow's own, where unknown fields are a 422.
func (m mount) strict(c echo.Context, into any) error {
	body, err := httpx.Body(c.Request(), m.bodyLimit())
	if err != nil {
		return err
	}
	return httpx.DecodeStrict(body, into)
}
