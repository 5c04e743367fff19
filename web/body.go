package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"fawn/web/httpx"
)

// bodyRate is the minimum average rate of a body in bytes per second, after the time allowed for headers.
const bodyRate = 8 << 10

// body is a request body with a minimum rate: otherwise clients that trickle bytes would hold connections forever.
type body struct {
	io.ReadCloser
	conn  *http.ResponseController
	due   time.Time // when the first byte is due
	bytes int64
}

// paced adds a deadline to the body of a request, which every received byte extends.
func paced(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	b := &body{ReadCloser: r.Body, conn: http.NewResponseController(w), due: time.Now().Add(wait)}
	r.Body = b
	// A handler may not read it: the server does, after the answer.
	_ = b.conn.SetReadDeadline(b.due)
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	err := b.conn.SetReadDeadline(b.due.Add(time.Duration(b.bytes) * time.Second / bodyRate))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.bytes += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, httpx.Errorf(http.StatusRequestTimeout, "the body of the request did not arrive in time")
	}
	if err != nil { // the connection is watched until the answer ends, however long that takes
		if err := b.conn.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return n, err
		}
	}
	return n, err
}
