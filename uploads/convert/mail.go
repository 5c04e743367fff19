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

// mailPart collects what a message consists of.
type mailPart struct {
	d          *draft
	text, page string
	files      []string
	seen       int
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
			if name := part.FileName(); name != "" {
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
		p.text, err = decodeText(b)
		return err
	}
	return nil
}
