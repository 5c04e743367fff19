package assets_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"fawn/agent/agenttest/must"
	"fawn/assets"
)

func get(t *testing.T, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	assets.Handler().ServeHTTP(w, r)
	return w
}

func TestCheckFindsEverything(t *testing.T) {
	must.Do(t, assets.Check())
	for _, n := range assets.Names() {
		w := get(t, assets.URL(n))
		if w.Code != 200 || w.Body.Len() == 0 || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d, %d bytes, %q", n, w.Code, w.Body.Len(), w.Header().Get("Content-Type"))
		}
		if c := w.Header().Get("Cache-Control"); !strings.Contains(c, "immutable") {
			t.Errorf("%s: Cache-Control %q", n, c)
		}
	}
}

func TestCompressedIsTheSame(t *testing.T) {
	plain := get(t, assets.URL(assets.Script))
	smaller := get(t, assets.URL(assets.Script), "Accept-Encoding", "br;q=1, gzip")
	if b, err := io.ReadAll(brotli.NewReader(smaller.Body)); err != nil || string(b) != plain.Body.String() ||
		smaller.Header().Get("Content-Encoding") != "br" {
		t.Errorf("brotli differs, %v, headers %v", err, smaller.Header())
	}
	zipped := get(t, assets.URL(assets.Script), "Accept-Encoding", "br;q=0, gzip")
	if zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers %v", zipped.Header())
	}
	r := must.Get(gzip.NewReader(zipped.Body))(t)
	b, err := io.ReadAll(r)
	if err != nil || string(b) != plain.Body.String() {
		t.Fatalf("differs, %v", err)
	}
	if w := get(t, assets.URL(assets.Script), "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("gzip was refused and sent")
	}
	if w := get(t, assets.URL(assets.UIFont), "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "" {
		t.Error("a font is compressed twice")
	}
}

func TestKnownFilesAreNotSentAgain(t *testing.T) {
	for _, enc := range []string{"", "gzip"} {
		tag := get(t, assets.URL(assets.Style), "Accept-Encoding", enc).Header().Get("ETag")
		w := get(t, assets.URL(assets.Style), "Accept-Encoding", enc, "If-None-Match", tag)
		if tag == "" || w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%q: %d with %d bytes for tag %s", enc, w.Code, w.Body.Len(), tag)
		}
	}
}

func TestOldAddressesStillWork(t *testing.T) {
	w := get(t, assets.Prefix+"0000/app.css")
	if w.Code != 200 || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%d, %q", w.Code, w.Header().Get("Cache-Control"))
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	for _, p := range []string{"/assets/", "/assets/x", "/assets/x/", "/assets/x/../assets.go", "/assets/x/dist/app.js",
		"/assets/x/fonts", "/assets/x//app.js", "/assets/x/app.js/"} {
		if w := get(t, p); w.Code != 404 {
			t.Errorf("%s: %d", p, w.Code)
		}
	}
	r := httptest.NewRequest(http.MethodPost, assets.URL(assets.Script), nil)
	w := httptest.NewRecorder()
	assets.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// TestBudget holds what every page loads, in bytes after gzip: the first page may take 150 KB with its HTML and the
// fonts of its language, which web/e2e measures.
func TestBudget(t *testing.T) {
	sum := 0
	for _, name := range []string{assets.Script, assets.Style, assets.Sprite, assets.UIFont} {
		n := len(assets.Gzip(get(t, assets.URL(name)).Body.Bytes()))
		sum += n
		t.Logf("%s: %d bytes", name, n)
	}
	if most := 84 << 10; sum > most {
		t.Errorf("every page loads %d bytes, %d are allowed", sum, most)
	}
}

// Everything the style sheet refers to is served beside it.
func TestStyleRefersToWhatExists(t *testing.T) {
	css := get(t, assets.URL(assets.Style)).Body.String()
	refs := regexp.MustCompile(`url\("?([^")]+)"?\)`).FindAllStringSubmatch(css, -1)
	if len(refs) == 0 {
		t.Fatal("no references found")
	}
	for _, m := range refs {
		if strings.HasPrefix(m[1], "/") || strings.Contains(m[1], ":") {
			t.Errorf("%s is not relative", m[1])
		}
		if w := get(t, assets.URL(m[1])); w.Code != 200 {
			t.Errorf("%s: %d", m[1], w.Code)
		}
	}
}

// What a page loads first is measured in the browser; these come later, each when
// it is needed.
func TestLaterFilesAreSmall(t *testing.T) {
	total := 0
	for _, n := range []string{assets.PaletteScript, assets.DiagramScript, assets.GripScript, assets.HelloStyle,
		assets.CardsStyle, assets.PaletteStyle, assets.DiagramStyle, assets.FilesStyle} {
		size := len(assets.Gzip(get(t, assets.URL(n)).Body.Bytes()))
		t.Logf("%s: %d bytes", n, size)
		if total += size; size > 10_000 {
			t.Errorf("%s has %d bytes, compressed", n, size)
		}
	}
	if total > 45_000 {
		t.Errorf("together they have %d bytes, compressed", total)
	}
}

func TestPackedFilesAreServedToEverybody(t *testing.T) {
	plain := get(t, assets.URL(assets.Mermaid))
	zipped := get(t, assets.URL(assets.Mermaid), "Accept-Encoding", "gzip")
	if zipped.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" {
		t.Fatalf("encodings %q and %q", zipped.Header().Get("Content-Encoding"), plain.Header().Get("Content-Encoding"))
	}
	r := must.Get(gzip.NewReader(zipped.Body))(t)
	b, err := io.ReadAll(r)
	if err != nil || len(b) < 1<<20 || string(b) != plain.Body.String() {
		t.Fatalf("%d and %d bytes, %v", len(b), plain.Body.Len(), err)
	}
}
