// Package egress implements a sandbox's only connection to the network: a [Proxy]. A thread's processes see one
// listener on their loopback; in the server, every connection is checked against the [Policy] (host names), the owner's
// [Decisions], the guard of package netguard (addresses) and a budget of bytes. An undecided host is refused and
// becomes a [Question] to the owner.
//
// Limits of this protection: an allowed host that accepts uploads can be sent data, and behind TLS neither the method
// nor the Host header is visible, so other tenants of an allowed host's front end may be reachable. The budget and the
// audit records are there for that.
package egress
