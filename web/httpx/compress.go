package httpx

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/labstack/echo/v4"
)

// worthIt is the size in bytes from which a body is compressed: less fits into one packet.
const worthIt = 1 << 10

// Levels at which pages take a millisecond or two.
const (
	brotliLevel = 4
	gzipLevel   = 5
)

// compressors are kept between pages: each holds some hundred kilobytes.
var compressors = map[string]*sync.Pool{
	"br":   {New: func() any { return brotli.NewWriterLevel(io.Discard, brotliLevel) }},
	"gzip": {New: func() any { zw, _ := gzip.NewWriterLevel(io.Discard, gzipLevel); return zw }},
}

// compressor is the common interface of both kinds of writers.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

// Compressed responds with a body compressed as far as the client supports it. Event streams never use
// it: a compressor would hold their events back.
func Compressed(c echo.Context, status int, contentType string, body []byte) error {
	h := c.Response().Header()
	h.Add("Vary", "Accept-Encoding")
	if coding := Coding(c.Request().Header.Get("Accept-Encoding")); coding != "" && len(body) >= worthIt {
		pool := compressors[coding]
		zw := pool.Get().(compressor)
		var out bytes.Buffer
		out.Grow(len(body) / 4)
		zw.Reset(&out)
		_, err := zw.Write(body)
		if closed := zw.Close(); err == nil {
			err = closed
		}
		zw.Reset(io.Discard) // its output is discarded
		pool.Put(zw)
		if err != nil {
			return err
		}
		h.Set("Content-Encoding", coding)
		body = out.Bytes()
	}
	return c.Blob(status, contentType, body)
}

// Coding returns the best coding of a body that an Accept-Encoding header allows: br, gzip or none.
func Coding(accept string) string {
	best := ""
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "br" && name != "gzip" || name == "gzip" && best == "br" {
			continue
		}
		weight, given := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		if q, err := strconv.ParseFloat(weight, 64); given && (err != nil || q <= 0) {
			continue
		}
		best = name
	}
	return best
}
