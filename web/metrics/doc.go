// Package metrics counts runs, tools, requests, bots and commits for Prometheus. Nothing is counted per token, and
// every label has a bounded set of values.
package metrics
