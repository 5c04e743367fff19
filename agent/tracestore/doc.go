// Package tracestore stores durations of a run's calls and the prompts sent to models, for inspection. Runs never wait
// for it: records are encoded and stored in the background, and dropped when the queue is full.
package tracestore
