// Package sandbox says what runs the programs of a thread apart from everything else: the contract
// of providers, what they are told, and what they answer.
//
// A [Provider] runs commands in the [Sandbox] of a thread. Package providers chooses one; the
// providers themselves are ns, landlock, docker, seatbelt and host, and what they share is package
// pool. The files of threads are package files, below. What commands may do is decided above, by
// agent/command and the guardrails; how a network request is judged, in package egress. No code that
// runs anything belongs here.
package sandbox
