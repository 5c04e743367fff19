package uploads

import (
	"bytes"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// HeadBytes is the number of leading bytes that ContentType needs.
const HeadBytes = 8 << 10

// ContentType detects a file's type from its first bytes. The name only distinguishes kinds of text. active means that
// a browser would execute the content (pages, SVG, XML, scripts): serve such a file as an attachment or in a sandbox,
// and always with "nosniff", without which the detection is useless.
func ContentType(name string, head []byte) (contentType string, active bool) {
	head = head[:min(len(head), HeadBytes)]
	found := mimetype.Detect(head)
	kind, params, err := mime.ParseMediaType(found.String())
	if err != nil {
		kind = "application/octet-stream"
	}
	isText := len(head) == 0
	for m := found; m != nil && !isText; m = m.Parent() {
		isText = m.Is("text/plain")
	}
	if kind == "application/octet-stream" && bytes.IndexByte(head, 0) < 0 {
		kind, isText = "text/plain", true
	}
	if isText {
		if byName := textKind(strings.ToLower(path.Ext(name))); byName != "" {
			kind = byName
		} else if len(head) == 0 {
			kind = "text/plain"
		}
		if strings.HasPrefix(kind, "text/") {
			kind = withCharset(kind, head, params["charset"])
		}
	}
	return kind, isActive(kind)
}

// textKind returns the kinds of text that content alone can't distinguish.
func textKind(ext string) string {
	switch ext {
	case ".html", ".htm":
		return "text/html"
	case ".xhtml", ".xht":
		return "application/xhtml+xml"
	case ".svg":
		return "image/svg+xml"
	case ".xml", ".xsl", ".xslt":
		return "text/xml"
	case ".js", ".mjs", ".cjs":
		return "text/javascript"
	case ".json", ".map", ".ipynb":
		return "application/json"
	case ".css":
		return "text/css"
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".md", ".markdown":
		return "text/markdown"
	case ".txt", ".log", ".py", ".go", ".sh", ".yaml", ".yml", ".toml", ".ini", ".ts", ".tsx", ".jsx", ".c",
		".h", ".rs", ".java", ".sql":
		return "text/plain"
	}
	return ""
}

func withCharset(kind string, head []byte, found string) string {
	// The last character may be cut in half at the end of the head.
	whole := head
	for i := 0; i < utf8.UTFMax-1 && len(whole) > 0 && !utf8.Valid(whole); i++ {
		whole = whole[:len(whole)-1]
	}
	switch {
	case utf8.Valid(whole):
		return kind + "; charset=utf-8"
	case found != "":
		return mime.FormatMediaType(kind, map[string]string{"charset": found})
	}
	return kind
}

func isActive(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind {
	case "text/html", "text/xml", "application/xml", "text/xsl",
		"text/javascript", "application/javascript", "application/ecmascript",
		"multipart/related", "application/x-shockwave-flash":
		return true
	}
	return strings.HasSuffix(kind, "+xml")
}
