package principal

import "net/http"

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
