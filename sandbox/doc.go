// Package sandbox is the contract of programs that run apart from everything else: requests, results, limits, reports.
//
// A [Provider] runs commands in the [Sandbox] of a thread. Package providers chooses one; the providers are ns,
// landlock, docker, seatbelt and host, and their common part is package pool. The files of threads are package files.
// Which commands are allowed is decided above, by agent/command and the guardrails; network requests are judged in
// package egress. No code that runs anything belongs here.
//
// Begin with provider.go and request.go, then pool/pool.go, then ns.
package sandbox
