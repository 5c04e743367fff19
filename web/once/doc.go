// Package once makes requests repeatable: an operation started under an Idempotency-Key starts only once, on whichever
// server and even after a crash, and is found under the key for 24 hours.
package once
