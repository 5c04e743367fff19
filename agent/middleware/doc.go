// Package middleware holds the stages of the chain, one file each. A stage is a function
// which makes an agent.Middleware for one run; the order of stages is agent/lead/chain.go.
// A stage knows neither the others nor who stores and shows what it does.
//
// The package is a flat list: stages, and the few files that several of them share. What a
// stage needs of the server (memory, uploads, a sandbox) comes as a function of its options
// and is not imported. What every run does, whatever its chain, belongs to package agent.
package middleware
