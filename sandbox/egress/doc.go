// Package egress decides which machines may be reached, and reaches them.
//
// [Guard] judges addresses: loopback, private networks, cloud metadata and the
// server's own ports are refused, whatever name led there and however the
// address is spelled. Every request that the server makes for a model goes
// through it: [Client] for web tools, [Guard.DialContext] for the rest.
//
// [Proxy] is the only way out of a sandbox. A thread's processes see one
// listener on their loopback; behind it, in the server, every connection is
// held against the [Policy] (names of hosts), the owner's [Decisions], the
// guard (addresses) and a budget of bytes. A host that nobody decided about is
// refused and becomes a [Question] to the owner.
//
// What this does not stop: a host that is allowed and accepts uploads can be
// sent data, and behind TLS neither the method nor the Host header is visible,
// so other tenants of an allowed host's front end may be reachable. The budget
// and the audit records are there for that.
package egress
