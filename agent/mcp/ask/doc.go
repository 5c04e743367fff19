// Package ask has people answer what MCP servers ask while a call waits (elicitation).
//
// A question is a note that every server sees, so it is shown and answered at any of them, whichever has the call. It
// is there from before the moment when it is announced until it is answered or its call waits no more, and it goes with
// the server that has the call. Its answer takes the place of the question in one step: whoever comes second is told
// that there was one.
package ask
