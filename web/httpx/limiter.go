package httpx

import (
	"net/http"
	"sync/atomic"
)

// MaxReaders is the default limit of concurrent event streams.
const MaxReaders = 2048

// Limiter counts open event streams. The zero value is ready.
type Limiter struct{ open atomic.Int64 }

// Open counts the streams that are open now.
func (l *Limiter) Open() int64 { return l.open.Load() }

// Acquire takes a place among limit ones, or returns a 503 with a time to retry. Call release once.
func (l *Limiter) Acquire(limit int) (release func(), err error) {
	if l.open.Add(1) > int64(limit) {
		l.open.Add(-1)
		d := Errorf(http.StatusServiceUnavailable,
			"%d event streams are open, which is the limit (server.max_readers in the config)", limit)
		d.Header = http.Header{"Retry-After": {"5"}}
		return nil, d
	}
	return func() { l.open.Add(-1) }, nil
}
