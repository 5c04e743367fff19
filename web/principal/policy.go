package principal

import "net/http"

// Policy says who may ask for a route. The zero value lets nobody in, so a route without a
// policy answers no one.
type Policy int

// The policies.
const (
	Nobody   Policy = iota
	Anyone          // also without an account
	User            // whoever has one; what belongs to others is not there
	Operator        // who runs the installation: it concerns everybody
	Reader          // as User, and also a token that may only read, whatever the method
	Person          // as User, but no token: it concerns the account itself
	Manager         // as Operator, but no token: it concerns the accounts of others
)

// Admits reports whether the policy lets a principal in.
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

// AdmitsRequest is Admits for a request with a method: what may only read may not send others,
// except to routes that only read anyway.
func (p Policy) AdmitsRequest(who Principal, method string) bool {
	if who.ReadOnly && p != Anyone && p != Reader && method != http.MethodGet && method != http.MethodHead {
		return false
	}
	return p.Admits(who)
}
