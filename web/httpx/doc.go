// Package httpx holds what every HTTP handler here needs: reading JSON bodies and queries
// in the encodings of all clients, answers in JSON, and server-sent events. It knows nothing
// of what the handlers are about.
package httpx
