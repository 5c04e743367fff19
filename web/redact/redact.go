// Package redact removes secrets from logs, traces and support bundles.
package redact

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask replaces a secret.
const Mask = "***"

// shortest is the length from which a known value is masked everywhere; shorter ones occur by chance.
const shortest = 8

// Redactor masks known values, and text that looks like a key. The zero value is ready, and it is safe for concurrent
// use.
type Redactor struct {
	known  atomic.Pointer[strings.Replacer]
	looks  sync.Once
	shapes []shape
}

// shape is something that looks like a secret.
type shape struct {
	hint string // without it the expression need not be tried
	re   *regexp.Regexp
	to   string
}

// Know replaces the known values, given in clear.
func (r *Redactor) Know(values []string) {
	var pairs []string
	seen := map[string]bool{}
	add := func(s string) {
		if len(s) >= shortest && !seen[s] {
			seen[s] = true
			pairs = append(pairs, s, Mask)
		}
	}
	// Longest first: the replacer takes the first that fits.
	values = slices.Clone(values)
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, v := range values {
		for _, form := range []string{v, url.QueryEscape(v), url.PathEscape(v),
			base64.StdEncoding.EncodeToString([]byte(v)), base64.StdEncoding.EncodeToString([]byte(":" + v)),
			inner(strconv.Quote(v)), inner(strconv.Quote(inner(strconv.Quote(v))))} {
			if len(v) >= shortest {
				add(form)
			}
		}
		for line := range strings.Lines(v) { // a key file shows up line by line
			add(strings.TrimSpace(line))
		}
	}
	r.known.Store(strings.NewReplacer(pairs...))
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	if known := r.known.Load(); known != nil {
		s = known.Replace(s)
	}
	r.looks.Do(func() { r.shapes = shapes() })
	for _, l := range r.shapes {
		if strings.Contains(s, l.hint) {
			s = l.re.ReplaceAllString(s, l.to)
		}
	}
	return s
}

func shapes() []shape {
	bearer := regexp.MustCompile(`(?i)\b(Bearer|Basic)(\s+|%20)[A-Za-z0-9._~+/=-]{8,}`)
	return []shape{
		{"://", regexp.MustCompile(`(://)[^/\s"'@:]*:[^/\s"'@]+@`), "$1" + Mask + "@"},
		{"=", regexp.MustCompile(`(?i)([?&](?:api[_-]?key|key|(?:[a-z]+[_-])?token|(?:client[_-])?secret|password|sig|signature)=)[^&\s"'\\]+`),
			"$1" + Mask},
		{"earer", bearer, "$1 " + Mask},
		{"EARER", bearer, "$1 " + Mask},
		{"asic ", bearer, "$1 " + Mask},
		{"sk-", regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`), Mask},
		{"gh", regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}`), Mask},
		{"github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{20,}`), Mask},
		{"xox", regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{10,}`), Mask},
		{"AIza", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`), Mask},
		{"AKIA", regexp.MustCompile(`\bAKIA[A-Z0-9]{16}\b`), Mask},
		{"lsv2_", regexp.MustCompile(`\blsv2_[A-Za-z0-9_]{16,}`), Mask},
		{"BEGIN", regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----`), Mask},
	}
}

// Writer returns a writer to w that masks secrets. Each write must consist of whole lines.
func (r *Redactor) Writer(w io.Writer) io.Writer { return &writer{r, w} }

type writer struct {
	r *Redactor
	w io.Writer
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	clean := w.r.Text(string(p))
	if _, err := io.WriteString(w.w, clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Tail keeps the last written whole lines. It is safe for concurrent use.
type Tail struct {
	Max int // bytes

	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[max(0, len(p)-t.Max):]...)
	if len(t.b) > 2*t.Max {
		t.b = append(t.b[:0], t.end()...)
	}
	return len(p), nil
}

// end returns the kept lines. mu is held.
func (t *Tail) end() []byte {
	if len(t.b) <= t.Max {
		return t.b
	}
	out := t.b[len(t.b)-t.Max:]
	if i := bytes.IndexByte(out, '\n'); i >= 0 {
		out = out[i+1:]
	}
	return out
}

// Bytes returns a copy of the kept lines.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.end())
}
