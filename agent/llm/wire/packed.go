package wire

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
)

// unpacking decompresses answers of servers and proxies that compress unasked.
type unpacking struct{ below http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (u unpacking) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := u.below.RoundTrip(r)
	if err != nil || resp.Body == nil || resp.Body == http.NoBody {
		return resp, err
	}
	kind := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	if kind == "" && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/octet-stream") &&
		!strings.HasPrefix(resp.Header.Get("Content-Type"), "application/gzip") {
		return resp, nil
	}
	switch kind {
	case "", "gzip", "x-gzip", "deflate", "br":
		resp.Body = &packed{kind: kind, raw: resp.Body}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
	}
	return resp, nil
}

// CloseIdleConnections closes idle connections of the underlying transport.
func (u unpacking) CloseIdleConnections() {
	if t, ok := u.below.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// packed is a body that is decompressed at the first read, since its header may be wrong.
type packed struct {
	kind string
	raw  io.ReadCloser
	in   io.Reader
	err  error
}

// Read implements io.Reader.
func (p *packed) Read(b []byte) (int, error) {
	if p.in == nil && p.err == nil {
		p.in, p.err = unpack(p.kind, p.raw)
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.in.Read(b)
}

// Close implements io.Closer.
func (p *packed) Close() error { return p.raw.Close() }

func unpack(kind string, raw io.Reader) (io.Reader, error) {
	in := bufio.NewReader(raw)
	head, _ := in.Peek(2) // fewer bytes can't be a magic number
	switch {
	case len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b:
		return gzip.NewReader(in)
	case kind == "br" && len(head) > 0 && head[0] != '{' && !strings.HasPrefix(string(head), "da"):
		return brotli.NewReader(in), nil
	case kind == "deflate" && len(head) == 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0:
		return zlib.NewReader(in)
	case kind == "deflate" && len(head) > 0 && head[0] != '{' && !strings.HasPrefix(string(head), "da"):
		return flate.NewReader(in), nil
	}
	return in, nil // it isn't compressed
}
