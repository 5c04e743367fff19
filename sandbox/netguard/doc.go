// Package netguard decides which machines may be reached for a model, and reaches them.
//
// [Guard] judges addresses: loopback, private networks, cloud metadata and the server's
// own ports are refused, whatever name led there and however the address is spelled.
// [Client] is for web tools, [Guard.DialContext] for the rest. Which hosts a thread's
// sandbox may talk to is the matter of package egress.
package netguard
