package httpx_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/labstack/echo/v4"

	"fawn/agent/agenttest/must"
	"fawn/web/httpx"
)

// TestBodiesAreCompressedAsTheClientTakesThem: and only where that saves a packet.
func TestBodiesAreCompressedAsTheClientTakesThem(t *testing.T) {
	long := strings.Repeat("<p>some text</p>", 500)
	for _, c := range []struct{ accept, body, coding string }{
		{"gzip, deflate, br, zstd", long, "br"}, {"br;q=0, gzip", long, "gzip"}, {"GZIP;q=0.5", long, "gzip"},
		{"br;q=1.0", long, "br"}, {"", long, ""}, {"identity", long, ""}, {"gzip;q=0", long, ""},
		{"gzip;q=x", long, ""}, {"br", "short", ""},
	} {
		for range 2 { // also by a compressor that was used before
			e := echo.New()
			req := httptest.NewRequest("GET", "/", nil)
			req.Header.Set("Accept-Encoding", c.accept)
			rec := httptest.NewRecorder()
			must.Do(t, httpx.Compressed(e.NewContext(req, rec), 200, "text/html", []byte(c.body)))
			sent := rec.Body.Bytes()
			var r io.Reader = bytes.NewReader(sent)
			switch rec.Header().Get("Content-Encoding") {
			case "br":
				r = brotli.NewReader(r)
			case "gzip":
				zr, err := gzip.NewReader(r)
				must.Do(t, err)
				r = zr
			}
			got, err := io.ReadAll(r)
			if err != nil || string(got) != c.body || rec.Header().Get("Content-Encoding") != c.coding ||
				rec.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("%q: %v, %d bytes, headers %v", c.accept, err, len(got), rec.Header())
			}
			if c.coding != "" && len(sent) > len(c.body)/4 {
				t.Errorf("%q: %d bytes sent of %d", c.accept, len(sent), len(c.body))
			}
		}
	}
}
