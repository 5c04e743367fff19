package agenttest

import (
	"bytes"
	"io"
	"net/http/httputil"
	"testing/iotest"
)

// ReadAhead makes a test's proxy read a whole request before it forwards it. A net/http server closes a request's body
// with the first byte of its response, and a transport that has sent everything may still wait to read the body's end:
// it then drops the connection, and the response breaks off (golang/go#40747).
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
