// Package ask lets people answer questions of MCP servers while a call waits (elicitation).
//
// A question is a note visible to every server, so it can be shown and answered on any of them, whichever makes the
// call. It exists from before its announcement until it is answered or its call stops waiting, and is removed with the
// calling server. An answer replaces the question atomically: a second answer gets an error.
package ask
