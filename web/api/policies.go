package api

import "fawn/web/principal"

// Who may ask for a route.
const (
	anyone   = principal.Anyone
	user     = principal.User
	reader   = principal.Reader
	operator = principal.Operator
)
