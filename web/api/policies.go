package api

import "fawn/web/principal"

// Permissions of routes.
const (
	anyone   = principal.Anyone
	user     = principal.User
	reader   = principal.Reader
	operator = principal.Operator
)
