// Package once lets a request be sent again: what it begins under its Idempotency-Key is begun one time, whatever servers
// the request reaches and also after a crash, and is found under the key for 24 hours.
package once
