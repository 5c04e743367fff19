package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	pdferr "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

// Cache names the variable with the folder that holds the compiled PDF reader.
const Cache = "FAWN_CONVERT_CACHE"

const (
	pdfPages     = 10_000
	pdfMemory    = 4096            // pages of WebAssembly, 64 KiB each
	pdfStart     = 2 * time.Minute // time limit of compiling the reader on a busy machine
	sparse       = 20              // letters on a page below which it looks scanned
	maxPageChars = 200_000
	maxPageLinks = 1_000
)

// startPDF starts the PDF reader. It sees no files.
func startPDF() (pdfium.Pool, error) {
	cfg := wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfMemory)
	if dir := os.Getenv(Cache); dir != "" {
		if cache, err := wazero.NewCompilationCacheWithDir(dir); err == nil {
			cfg = cfg.WithCompilationCache(cache)
		}
	}
	return webassembly.Init(webassembly.Config{MinIdle: 1, MaxIdle: 1, MaxTotal: 1, FSConfig: wazero.NewFSConfig(),
		RuntimeConfig: cfg, Stdout: io.Discard, Stderr: io.Discard})
}

// warm compiles the PDF reader into the folder that Cache names.
func warm() error {
	pool, err := startPDF()
	if err != nil {
		return err
	}
	return pool.Close()
}

// IsPDF reports whether a file that begins like this is a PDF.
func IsPDF(head []byte) bool {
	return bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-"))
}

// portable reads a PDF page by page, and sets it when the size of its ordinary text is known.
func portable(d *draft, data []byte) error {
	pool, err := startPDF()
	if err != nil {
		return fmt.Errorf("start the PDF reader: %w", err)
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), pdfStart)
	defer cancel()
	pdf, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return fmt.Errorf("start the PDF reader: %w", err)
	}
	d.step(0, 0)
	doc, err := pdf.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdferr.ErrPassword), errors.Is(err, pdferr.ErrSecurity):
		return Encrypted
	case err != nil:
		return Damaged
	}
	count, err := pdf.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil || count.PageCount < 1 {
		return Damaged
	}
	total := count.PageCount
	if total > pdfPages {
		total = pdfPages
		d.lack(Long)
	}
	r := pageReader{pdf: pdf, doc: doc.Document, scales: map[[2]float64]float64{}}
	pages, letters, size := make([][]textLine, 0, min(total, 1000)), 0, 0
	for i := range total {
		lines, err := r.page(i)
		if err != nil {
			d.lack(Damaged)
			if i == 0 {
				return Damaged
			}
		}
		for _, l := range lines {
			letters += l.letters()
			size += len(l.text())
		}
		pages = append(pages, lines)
		d.step(i+1, total)
		if size > maxText {
			d.lack(Long)
			break
		}
	}
	if letters < sparse*len(pages) {
		d.lack(Scanned)
	}
	if letters == 0 {
		return nil
	}
	s := newSetter(d, pages)
	for i, lines := range pages {
		d.anchor("page", i+1)
		s.page(lines)
	}
	return nil
}

// piece is a word or more in one style on one line.
type piece struct {
	text              string
	left, right       float64
	bottom, top, size float64
	spaced, fresh     bool // a space stands before it; the file begins a line with it
	bold              bool
	link              string
}

// textLine is a line of adjacent pieces, or a whole table.
type textLine struct {
	pieces []piece
	rows   [][]string // rows of a table that is drawn with lines
}

// linesOf joins the words of a page to lines. They keep the file's order, in which programs write text in reading
// order, including columns.
func linesOf(words []piece) (lines []textLine) {
	for _, w := range words {
		if n := len(lines); n > 0 && lines[n-1].takes(w) {
			lines[n-1].pieces = append(lines[n-1].pieces, w)
			continue
		}
		lines = append(lines, textLine{pieces: []piece{w}})
	}
	return lines
}

// takes reports whether a piece continues the line.
func (l textLine) takes(p piece) bool {
	last := l.pieces[len(l.pieces)-1]
	overlap := min(last.top, p.top) - max(last.bottom, p.bottom)
	return overlap > 0.5*min(last.top-last.bottom, p.top-p.bottom) &&
		(!p.fresh || p.left > last.left && p.left > last.right-2*p.size)
}

// cells returns the parts of a line separated by wide gaps, with their links if links is set.
func (l textLine) cells(links bool) (cells []piece) {
	link := ""
	end := func() {
		if link != "" {
			cells[len(cells)-1].text += "](" + link + ")"
		}
		link = ""
	}
	for i, p := range l.pieces {
		if links && p.link != "" {
			p.text = strings.NewReplacer("[", `\[`, "]", `\]`).Replace(p.text)
		}
		begins := i == 0
		if !begins {
			last := &cells[len(cells)-1]
			gap := max(p.left-last.right, last.left-p.right)
			begins = gap > 1.2*max(p.size, 4) && !mark(last.text)
		}
		if links && (begins || p.link != link) {
			end()
		}
		if links && p.link != link {
			link, p.text = p.link, "["+p.text
		}
		if begins {
			cells = append(cells, p)
			continue
		}
		last := &cells[len(cells)-1]
		gap, least := max(p.left-last.right, last.left-p.right), 0.1
		if wideEnd(last.text) && wideStart(p.text) {
			least = 0.3
		}
		if p.spaced && (p.fresh || gap > least*p.size) { // the reader sees spaces where fonts are unusual
			last.text += " "
		}
		last.text += p.text
		last.left, last.right, last.size = min(last.left, p.left), max(last.right, p.right), max(last.size, p.size)
		last.bottom, last.top = min(last.bottom, p.bottom), max(last.top, p.top)
	}
	end()
	return cells
}

// text returns the line with its links; plain is without.
func (l textLine) text() string  { return words(l.cells(true)) }
func (l textLine) plain() string { return words(l.cells(false)) }

func words(cells []piece) string {
	var all []string
	for _, c := range cells {
		all = append(all, oneLine(c.text))
	}
	return strings.Join(all, " ")
}

// bold reports whether all of the line is.
func (l textLine) bold() bool {
	return !slices.ContainsFunc(l.pieces, func(p piece) bool { return !p.bold })
}

func (l textLine) letters() (n int) {
	for _, p := range l.pieces {
		for _, r := range p.text {
			if !unicode.IsSpace(r) {
				n++
			}
		}
	}
	return n
}

// size returns the font size of the line's largest part.
func (l textLine) size() float64 {
	sizes, best, most := map[float64]int{}, 0.0, 0
	for i, p := range l.pieces {
		if i == 0 && len(l.pieces) > 1 && mark(p.text) { // a list mark in a separate font
			continue
		}
		if sizes[p.size] += len(p.text); sizes[p.size] > most {
			best, most = p.size, sizes[p.size]
		}
	}
	return best
}
