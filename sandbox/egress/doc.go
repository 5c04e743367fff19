// Package egress is the only way out of a sandbox: a [Proxy]. A thread's processes see one
// listener on their loopback; behind it, in the server, every connection is held against
// the [Policy] (names of hosts), the owner's [Decisions], the guard of package netguard
// (addresses) and a budget of bytes. A host that nobody decided about is refused and
// becomes a [Question] to the owner.
//
// What this does not stop: a host that is allowed and accepts uploads can be
// sent data, and behind TLS neither the method nor the Host header is visible,
// so other tenants of an allowed host's front end may be reachable. The budget
// and the audit records are there for that.
package egress
