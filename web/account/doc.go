// Package account knows who may use the server: users, their sessions in browsers, tokens for
// programs, and the links that are used once. [Service.Middleware] finds out who asks.
package account
