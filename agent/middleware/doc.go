// Package middleware holds the stages of the chain, one file each. A stage is a function that makes an agent.Middleware
// for one run. Stages are independent of each other, of storage and of pages; agent/lead/chain.go has their order.
//
// Services of the server (memory, uploads, a sandbox) are passed as functions in the options. Work common to all runs
// belongs to package agent. Begin with title.go, a short stage, and docs/chain.md.
package middleware
