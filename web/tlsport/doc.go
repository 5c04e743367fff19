// Package tlsport lets the server's port speak TLS: with a certificate from files, which are
// read again when they change, or with one from an ACME authority such as Let's Encrypt. What
// requests mean, and who may send them, is not its business.
package tlsport
