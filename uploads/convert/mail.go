package convert

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// mailMessage reads a message as programs for mail keep it.
func mailMessage(d *draft, data []byte) error {
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%w: %w", Damaged, err)
	}
	words := &mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	header := func(name string) string {
		v := m.Header.Get(name)
		if s, err := words.DecodeHeader(v); err == nil {
			v = s
		}
		return oneLine(v)
	}
	if subject := header("Subject"); subject != "" {
		d.heading(1, subject)
	}
	d.gap()
	for _, name := range []string{"From", "To", "Cc", "Date"} {
		if v := header(name); v != "" {
			d.line("- " + name + ": " + v)
		}
	}
	p := mailPart{d: d}
	if err := p.read(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body, 0); err != nil {
		return err
	}
	if p.text == "" {
		p.text = p.page
	}
	d.block(p.text)
	for _, name := range p.files {
		d.block("[attachment: " + name + "]")
	}
	return nil
}

// mailPart collects the parts of a message.
type mailPart struct {
	d          *draft
	text, page string
	files      []string
	seen       int
	pages      *[]*html.Node // collects only web pages, if set
}

func (p *mailPart) read(kind, coding string, r io.Reader, depth int) error {
	media, params, err := mime.ParseMediaType(kind)
	if err != nil {
		media = "text/plain"
	}
	if p.seen++; depth > 10 || p.seen > 500 {
		return Limits
	}
	if strings.HasPrefix(media, "multipart/") {
		for parts := multipart.NewReader(r, params["boundary"]); ; {
			part, err := parts.NextRawPart()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				p.d.lack(Damaged)
				return nil
			}
			if name := part.FileName(); name != "" && p.pages == nil {
				p.files = append(p.files, oneLine(name))
				continue
			}
			err = p.read(part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part, depth+1)
			if err != nil {
				return err
			}
		}
	}
	switch strings.ToLower(coding) {
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, r)
	case "quoted-printable":
		r = quotedprintable.NewReader(r)
	}
	b, err := io.ReadAll(io.LimitReader(r, maxText))
	if err != nil {
		p.d.lack(Damaged)
	}
	switch {
	case p.pages != nil:
		if media == "text/html" || media == "application/xhtml+xml" {
			doc, err := p.parse(b, params["charset"])
			if err != nil {
				return err
			}
			*p.pages = append(*p.pages, doc)
		}
		return nil
	case media == "text/html" && p.page == "":
		p.page, err = markdown(b, kind)
		return err
	case media == "text/plain" && p.text == "":
		if label := params["charset"]; label != "" {
			if dec, err := charset.NewReaderLabel(label, bytes.NewReader(b)); err == nil {
				if t, err := io.ReadAll(dec); err == nil {
					b = t
				}
			}
		}
		p.text, err = (&draft{}).decode(b)
		return err
	}
	return nil
}

// parse reads a page of an archive in the encoding that its part names, unless that is wrong.
func (p *mailPart) parse(b []byte, label string) (*html.Node, error) {
	if label == "" || p.d.chosen != "" {
		return p.d.parsePage(b)
	}
	return parsed(b, "text/html; charset="+label)
}

// webArchive reads a page saved with its resources in one file (MHTML), or all pages in it, as for a
// workbook. It ignores the leading text, which is for programs.
func webArchive(d *draft, data []byte, sheets bool) error {
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%w: %w", Damaged, err)
	}
	var pages []*html.Node
	p := mailPart{d: d, pages: &pages}
	if err := p.read(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body, 0); err != nil {
		return err
	}
	if len(pages) == 0 { // a message after all
		return mailMessage(d, data)
	}
	n := 0
	for _, doc := range pages {
		if sheets {
			err = pageSheets(d, doc, &n)
		} else {
			var text string
			text, err = markdownOf(doc)
			d.block(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
