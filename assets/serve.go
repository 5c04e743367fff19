package assets

import (
	"bytes"
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

// Handler serves everything below Prefix. A path with the current hash is
// immutable; one with another hash gets the current file without caching, so
// that a page left open over an upgrade still finds its icons. Text is
// compressed once, at its first use.
func Handler() http.Handler {
	s := &server{zipped: map[string][]byte{}}
	return http.HandlerFunc(s.serve)
}

type server struct {
	mu     sync.Mutex
	zipped map[string][]byte // guarded by mu; at most two entries an asset
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	hash, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, Prefix), "/")
	body, err := read(name)
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	if hash == version() {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	tag := `"` + version() + `"`
	if compressible(name) {
		h.Set("Vary", "Accept-Encoding")
		accept := r.Header.Get("Accept-Encoding")
		switch {
		case !packed(name) && accepts(accept, "br"):
			tag = `"` + version() + `-br"`
			h.Set("Content-Encoding", "br")
			body = s.compressed(name+".br", body, Brotli)
		case accepts(accept, "gzip"):
			tag = `"` + version() + `-gz"`
			h.Set("Content-Encoding", "gzip")
			if !packed(name) {
				body = s.compressed(name, body, Gzip)
			}
		case packed(name):
			body = unzip(body)
		}
	}
	h.Set("ETag", tag)
	if etagMatches(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body)
}

func (s *server) compressed(name string, body []byte, by func([]byte) []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if z, ok := s.zipped[name]; ok {
		return z
	}
	z := by(body)
	s.zipped[name] = z
	return z
}

// unzip returns the content of a file that is embedded compressed, for clients without support for the encoding.
func unzip(b []byte) []byte {
	zr, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(zr)
	return out
}

// Gzip compresses b as the handler does; the size budgets use it.
func Gzip(b []byte) []byte {
	var buf bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	_, _ = zw.Write(b)
	_ = zw.Close()
	return buf.Bytes()
}

// brotliLevel makes files 10 % smaller than gzip within milliseconds; the highest level takes seconds.
const brotliLevel = 9

// Brotli compresses b as the handler does.
func Brotli(b []byte) []byte {
	var buf bytes.Buffer
	zw := brotli.NewWriterLevel(&buf, brotliLevel)
	_, _ = zw.Write(b)
	_ = zw.Close()
	return buf.Bytes()
}

func compressible(name string) bool {
	switch path.Ext(name) {
	case ".js", ".css", ".svg", ".txt":
		return true
	}
	return false
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func accepts(accept, coding string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			q := strings.TrimPrefix(strings.TrimSpace(params), "q=")
			return q != "0" && q != "0.0" && q != "0.00" && q != "0.000"
		}
	}
	return false
}

func etagMatches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}
