// Package netguard decides which machines may be reached for a model, and connects to them.
//
// [Guard] judges addresses: it refuses loopback, private networks, cloud metadata and the server's own ports, regardless of the name that led there and the spelling of the address. [Client] is for web tools, [Guard.DialContext] for the rest. Package egress decides which hosts a thread's sandbox may reach.
package netguard
