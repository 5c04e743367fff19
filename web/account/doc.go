// Package account manages access to the server: users, their browser sessions, tokens for programs, and one-time links.
// [Service.Middleware] authenticates requests.
package account
