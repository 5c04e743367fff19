// Package tracestore keeps what each call of a run took and what models were sent, for people who look
// into a run. Runs never wait for it: what they hand over is encoded and stored beside them, and
// what does not fit the queue is dropped.
package tracestore
