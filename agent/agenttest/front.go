package agenttest

import (
	"bytes"
	"io"
	"net/http/httputil"
	"testing/iotest"
)

// ReadAhead makes a proxy of a test read a request before it sends it on. A server of net/http closes the body
// of a request with the first byte of its answer, and a transport that has sent all of it may still wait to read
// its end: it then gives up the connection, and the answer breaks off (golang/go#40747).
func ReadAhead(r *httputil.ProxyRequest) {
	if r.Out.Body == nil {
		return
	}
	b, err := io.ReadAll(r.In.Body)
	if err != nil {
		r.Out.Body = io.NopCloser(iotest.ErrReader(err))
		return
	}
	r.Out.Body = io.NopCloser(bytes.NewReader(b))
}
