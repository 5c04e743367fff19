// Package middleware holds the stages of the chain, one file each. A stage is a function
// which makes an agent.Middleware for one run; the order of stages is agent/lead/chain.go.
// A stage knows neither the others nor who stores and shows what it does.
package middleware
