// Package metrics counts what the server does, for Prometheus. Nothing is counted for each token,
// and every label has a bounded set of values.
package metrics
