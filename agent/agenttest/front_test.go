package agenttest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
)

// late is a body whose end is looked for only once the answer has begun.
type late struct {
	io.ReadCloser
	left  int64
	began <-chan struct{}
}

func (l *late) Read(p []byte) (int, error) {
	if l.left == 0 {
		<-l.began
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	return n, err
}

// TestReadAhead: an answer comes whole, however late the transport looks for the end of the body it has sent.
func TestReadAhead(t *testing.T) {
	began := make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.Try(io.CopyN(io.Discard, r.Body, r.ContentLength))(t)
		io.WriteString(w, "begun ")
		http.NewResponseController(w).Flush()
		<-began
		io.WriteString(w, "ended")
	}))
	defer behind.Close()
	to := must.Get(url.Parse(behind.URL))(t)
	front := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		agenttest.ReadAhead(r)
		r.Out.Body = &late{ReadCloser: r.Out.Body, left: r.In.ContentLength, began: began}
	}})
	defer front.Close()
	defer begin()
	res := must.Get(http.Post(front.URL, "text/plain", strings.NewReader("a body")))(t)
	defer res.Body.Close()
	must.Get(io.ReadFull(res.Body, make([]byte, len("begun "))))(t)
	begin()
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "ended" {
		t.Errorf("%q %v", b, err)
	}
}
