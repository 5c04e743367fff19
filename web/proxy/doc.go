// Package proxy finds the client of a request, and the address by which it reached this server, behind reverse proxies.
// Headers count only from proxies that the owner trusts.
package proxy
