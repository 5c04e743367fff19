// Package httpx contains helpers for all HTTP handlers: reading JSON bodies and queries in the encodings of all
// clients, JSON responses, and server-sent events. It is independent of the handlers' subjects.
package httpx
