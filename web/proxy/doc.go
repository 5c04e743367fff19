// Package proxy tells who sent a request, and by which address this server was reached, where
// reverse proxies stand in front. What a proxy says counts only if it is one the owner trusts.
package proxy
