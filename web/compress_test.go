package web_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"fawn/web/webtest"
)

// TestPagesAreCompressedAndStreamsAreNot, as a compressor would hold events back.
func TestPagesAreCompressedAndStreamsAreNot(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	plain := s.send(t, "GET", "/workspace/chats/new", "", "Accept-Encoding", "identity")
	page := s.send(t, "GET", "/workspace/chats/new", "", "Accept-Encoding", "gzip, br")
	body, err := io.ReadAll(brotli.NewReader(strings.NewReader(page.body)))
	if err != nil || page.header.Get("Content-Encoding") != "br" || len(page.body) > len(plain.body)/2 ||
		len(body) < len(plain.body)*9/10 {
		t.Errorf("%v, %d bytes sent of %d, headers %v", err, len(page.body), len(plain.body), page.header)
	}
	got := s.send(t, "GET", "/workspace/chats/new", "", "Accept-Encoding", "gzip").header.Get("Content-Encoding")
	webtest.Same(t, "for gzip", got, "gzip")
	h := s.send(t, "GET", "/ui/diagram", "", "Accept-Encoding", "gzip, br").header
	if !slices.Contains(h.Values("Vary"), "Accept-Encoding") {
		t.Errorf("the frame of diagrams: %v", h)
	}
	stream := s.send(t, "POST", "/threads/t1/runs/stream", human("hi"), "Accept-Encoding", "gzip, br")
	if h := stream.header; h.Get("Content-Encoding") != "" || h.Get("Cache-Control") != "no-cache, no-transform" {
		t.Errorf("stream: %v", h)
	}
}
