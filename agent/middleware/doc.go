// Package middleware holds the stages of the chain, one file each. A stage is a function
// which makes an agent.Middleware for one run; the order of stages is agent/lead/chain.go.
package middleware
