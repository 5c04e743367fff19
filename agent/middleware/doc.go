// Package middleware holds the stages of the chain, one file each. A stage is a function that makes an agent.Middleware
// for one run. It knows neither other stages nor storage nor pages; agent/lead/chain.go has their order.
//
// What a stage needs of the server (memory, uploads, a sandbox) comes as a function of its options. Work that every run
// does, whatever its chain, belongs to package agent. Begin with title.go, a short stage, and docs/chain.md.
package middleware
