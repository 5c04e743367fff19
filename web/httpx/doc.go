// Package httpx holds what every HTTP handler here needs: reading JSON bodies and queries
// in the encodings of all clients, one table from errors to statuses, and server-sent
// events.
package httpx
