package eval

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of a fixed web.
const (
	maxPages = 20_000
	maxPage  = 4 << 20 // bytes
	maxHops  = 5       // redirects that are followed
)

// Web is a fixed web: a folder per host, with files at their address's path. index.html is also the address of its
// folder. web.yaml next to the hosts defines redirects, statuses and other folders. It is safe for concurrent use.
type Web struct {
	pages     map[string]*webPage // by address
	redirects map[string]string
	statuses  map[string]int
	index     index
	sum, own  string // hashes of everything, and of the folder's own content
}

// webPage is a page of it.
type webPage struct {
	address, kind string
	body          []byte
	title         string
	text          []passage
	own           bool // not of a folder of this machine
}

// webFile is web.yaml.
type webFile struct {
	Redirects map[string]string `yaml:"redirects,omitempty"`
	Statuses  map[string]int    `yaml:"statuses,omitempty"`
	// Folders are local folders, by the address below which they are served. Missing ones are left out.
	Folders map[string]string `yaml:"folders,omitempty"`
}

// OpenWeb reads a folder of pages.
func OpenWeb(dir string) (*Web, error) {
	w := &Web{pages: map[string]*webPage{}, redirects: map[string]string{}, statuses: map[string]int{}}
	hosts, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	for _, h := range hosts {
		if h.IsDir() && !strings.HasPrefix(h.Name(), ".") {
			if err := w.folder(filepath.Join(dir, h.Name()), "https://"+h.Name(), func(string) bool { return true }); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range w.pages {
		p.own = true
	}
	data, err := os.ReadFile(filepath.Join(dir, "web.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var more webFile
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&more); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read web.yaml: %w", err)
	}
	for from, to := range more.Redirects {
		w.redirects[key(from)] = key(to)
	}
	for at, status := range more.Statuses {
		if status < 400 || status > 599 {
			return nil, fmt.Errorf("web.yaml: statuses: %s: %d isn't an error status", at, status)
		}
		w.statuses[key(at)] = status
	}
	for at, folder := range more.Folders {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := w.folder(folder, strings.TrimSuffix(at, "/"), documentation); err != nil {
			return nil, err
		}
	}
	if len(w.pages) == 0 {
		return nil, fmt.Errorf("there are no pages in %s", dir)
	}
	w.finish()
	return w, nil
}

// documentation reports which files of a folder of this machine are pages: neither change logs nor licences.
func documentation(name string) bool {
	base := strings.ToLower(path.Base(name))
	if strings.HasPrefix(base, "changelog") || strings.HasPrefix(base, "copyright") {
		return false
	}
	bare := strings.TrimSuffix(base, ".gz")
	for _, ext := range []string{".html", ".htm", ".txt", ".md"} {
		if strings.HasSuffix(bare, ext) {
			return true
		}
	}
	return strings.HasPrefix(bare, "readme") || strings.HasPrefix(bare, "faq") || strings.HasPrefix(bare, "news")
}

// folder adds the files of a folder below an address. Links out of it are not followed.
func (w *Web) folder(dir, at string, wanted func(name string) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path.Base(name), ".") && name != "." || !wanted(name) {
			return nil // a folder that can't be read has no pages
		}
		if len(w.pages) >= maxPages {
			return fmt.Errorf("%s has more than %d pages", dir, maxPages)
		}
		f, err := root.Open(name)
		if err != nil {
			return nil
		}
		defer f.Close()
		var from io.Reader = f
		address := at + "/" + (&url.URL{Path: name}).EscapedPath()
		if strings.HasSuffix(name, ".gz") {
			if from, err = gzip.NewReader(f); err != nil {
				return nil
			}
			name, address = strings.TrimSuffix(name, ".gz"), strings.TrimSuffix(address, ".gz")
		}
		body, err := io.ReadAll(io.LimitReader(from, maxPage+1))
		if err != nil || len(body) > maxPage {
			return nil
		}
		p := &webPage{address: address, kind: kindOf(name), body: body}
		if path.Base(name) == "index.html" {
			p.address = strings.TrimSuffix(address, "index.html")
		}
		p.address = key(p.address)
		w.pages[p.address] = p
		return nil
	})
}

func kindOf(name string) string {
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" && path.Ext(name) != ".gz" {
		return kind
	}
	return "text/plain; charset=utf-8"
}

// finish reads the pages and builds the index.
func (w *Web) finish() {
	own, more := sha256.New(), sha256.New()
	all := io.MultiWriter(own, more)
	for _, at := range slices.Sorted(maps.Keys(w.pages)) {
		p := w.pages[at]
		to := all
		if !p.own {
			to = more
		}
		fmt.Fprintf(to, "%s %x\n", at, sha256.Sum256(p.body))
		p.read()
		w.index.add(at, p)
	}
	for _, from := range slices.Sorted(maps.Keys(w.redirects)) {
		fmt.Fprintf(all, "%s > %s\n", from, w.redirects[from])
		if p := w.pages[w.Resolve(from)]; p != nil && w.pages[from] == nil {
			w.index.add(from, p) // search engines know old addresses, too
		}
	}
	for _, at := range slices.Sorted(maps.Keys(w.statuses)) {
		fmt.Fprintf(all, "%s = %d\n", at, w.statuses[at])
	}
	w.sum, w.own = hex.EncodeToString(more.Sum(nil)), hex.EncodeToString(own.Sum(nil))
}

// Len returns the number of pages.
func (w *Web) Len() int { return len(w.pages) }

// Sum returns a hash of all pages' content.
func (w *Web) Sum() string { return w.sum }

// sumOf returns a hash of opened pages' content.
func (w *Web) sumOf(opened []Opened) string {
	all := sha256.New()
	for _, o := range opened {
		at := w.Resolve(o.URL)
		fmt.Fprintf(all, "%s\n", at)
		if p := w.page(at); p != nil {
			fmt.Fprintf(all, "%x\n", sha256.Sum256(p.body))
		}
	}
	return hex.EncodeToString(all.Sum(nil))
}

// key normalizes addresses of the same page.
func key(address string) string {
	address, _, _ = strings.Cut(strings.TrimSpace(address), "#")
	if rest, ok := strings.CutPrefix(address, "http://"); ok {
		address = "https://" + rest
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	u.Host = strings.ToLower(u.Host)
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = ""
	return u.String()
}

// Resolve returns where the redirects of an address lead.
func (w *Web) Resolve(address string) string {
	at := key(address)
	for range maxHops {
		next, ok := w.redirects[at]
		if !ok {
			break
		}
		at = next
	}
	return at
}

// page returns a page that can be opened, nil for none.
func (w *Web) page(address string) *webPage {
	at := w.Resolve(address)
	if w.statuses[at] != 0 {
		return nil
	}
	return w.pages[at]
}

// RoundTrip answers a request for a page.
func (w *Web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close() // nothing is sent anywhere
	}
	at := key(r.URL.String())
	res := &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: r}
	body := []byte(nil)
	switch p := w.pages[at]; {
	case w.redirects[at] != "":
		res.StatusCode = http.StatusMovedPermanently
		res.Header.Set("Location", w.redirects[at])
	case w.statuses[at] != 0:
		res.StatusCode = w.statuses[at]
	case p == nil:
		res.StatusCode = http.StatusNotFound
	default:
		res.Header.Set("Content-Type", p.kind)
		body = p.body
	}
	if res.StatusCode != http.StatusOK {
		res.Status = fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode))
		res.Header.Set("Content-Type", "text/html; charset=utf-8")
		body = fmt.Appendf(nil, "<!doctype html><title>%s</title><h1>%[1]s</h1>", res.Status)
	}
	res.ContentLength, res.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// passage is a sentence of a page, with the heading above it and, in a table, the names of its columns.
type passage struct {
	text, heading, columns string
}

// read extracts the text of the page.
func (p *webPage) read() {
	add := func(text, heading, columns string) {
		for _, s := range sentences(text) {
			p.text = append(p.text, passage{s, heading, columns})
		}
	}
	if !strings.HasPrefix(p.kind, "text/html") {
		if !strings.HasPrefix(p.kind, "text/") {
			p.title = path.Base(p.address)
			return
		}
		text := strings.ToValidUTF8(string(p.body), "")
		for block := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
			if block = strings.Join(strings.Fields(block), " "); block != "" {
				if p.title == "" {
					p.title = headOf(block, 120)
				}
				add(block, "", "")
			}
		}
		return
	}
	root, err := html.Parse(bytes.NewReader(p.body))
	if err != nil {
		return
	}
	heading, columns, last := "", "", ""
	var block strings.Builder
	flush := func() {
		if text := strings.Join(strings.Fields(block.String()), " "); text != "" {
			add(text, heading, columns)
			last = text
		}
		block.Reset()
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			block.WriteString(n.Data)
			return
		case n.Type == html.ElementNode && n.DataAtom == atom.Title:
			if p.title == "" {
				p.title = strings.Join(strings.Fields(textOf(n)), " ")
			}
			return
		}
		switch n.DataAtom {
		case atom.Table:
			flush()
			columns = ""
			defer func() { columns = "" }()
		case atom.Tr:
			flush()
			last = ""
			defer func() {
				if columns == "" && named(last) {
					columns = last
				}
			}()
		}
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Nav, atom.Template, atom.Noscript:
			return
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			flush()
			heading = strings.Join(strings.Fields(textOf(n)), " ")
			return
		case atom.Td, atom.Th:
			block.WriteString(" | ")
		case atom.P, atom.Div, atom.Li, atom.Tr, atom.Br, atom.Pre, atom.Blockquote, atom.Section, atom.Article, atom.Dd,
			atom.Dt, atom.Table, atom.Ul, atom.Ol, atom.Header, atom.Footer, atom.Main, atom.Body:
			flush()
			defer flush()
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(root)
	flush()
}

// named reports whether all cells of a table row are column names.
func named(row string) bool {
	for cell := range strings.SplitSeq(strings.Trim(row, "| "), "|") {
		if !strings.ContainsFunc(cell, unicode.IsLetter) {
			return false
		}
	}
	return true
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// headOf returns the beginning of a text, at most n characters.
func headOf(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
