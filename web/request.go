package web

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"fawn/web/httpx"
	"fawn/web/route"
)

// unpacked decodes the body of a request: gzip, or none. Limits apply to the decoded size.
func unpacked(r *http.Request) error {
	switch coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); coding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		r.Body = &gunzip{from: r.Body}
		r.ContentLength = -1
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
		return nil
	default:
		return &httpx.Detail{Status: http.StatusUnsupportedMediaType, Detail: "bodies can be compressed with gzip, not with " + route.Cut(coding, 40),
			Header: http.Header{"Accept-Encoding": {"gzip"}}}
	}
}

// gunzip reads a compressed body. A body that can't be unpacked is a 400.
type gunzip struct {
	from io.ReadCloser
	zr   *gzip.Reader
}

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (int, error) {
	var err error
	if g.zr == nil {
		if g.zr, err = gzip.NewReader(g.from); err != nil {
			g.zr = nil
			return 0, badGzip(err)
		}
	}
	n, err := g.zr.Read(p)
	return n, badGzip(err)
}

// Close implements io.Closer.
func (g *gunzip) Close() error { return g.from.Close() }

// badGzip words format errors; errors of the connection are unchanged.
func badGzip(err error) error {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return httpx.Errorf(http.StatusBadRequest, "the body isn't valid gzip, as its Content-Encoding says")
	}
	return err
}

// refuseCoding answers a request with an unreadable body.
func refuseCoding(w http.ResponseWriter, err error) error {
	var d *httpx.Detail
	if !errors.As(err, &d) {
		return err
	}
	for name, values := range d.Header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(d.Status)
	return json.NewEncoder(w).Encode(map[string]any{"detail": d.Detail})
}

// headed converts a HEAD request to a GET for the same headers; net/http's server omits the body. A stream of events
// ends right after its start.
func headed(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	if r.Method != http.MethodHead {
		return w, r
	}
	ctx, cancel := context.WithCancel(r.Context())
	get := r.Clone(ctx)
	get.Method = http.MethodGet
	if q := get.URL.Query(); q.Has("cancel_on_disconnect") { // no client disconnects here
		q.Del("cancel_on_disconnect")
		get.URL.RawQuery = q.Encode()
	}
	return &headWriter{ResponseWriter: w, cancel: cancel}, get
}

// headWriter ends streams.
type headWriter struct {
	http.ResponseWriter
	cancel context.CancelFunc
}

// WriteHeader implements http.ResponseWriter.
func (w *headWriter) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.cancel()
	}
}

// Unwrap supports http.ResponseController.
func (w *headWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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
