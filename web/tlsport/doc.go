// Package tlsport adds TLS to the server's port: with a certificate from files, which are reloaded when they change, or
// from an ACME authority such as Let's Encrypt. It doesn't interpret or authorize requests.
package tlsport
