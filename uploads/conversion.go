package uploads

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"fawn/uploads/charset"
)

// States of a conversion.
const (
	Pending   = "pending"
	Converted = "converted"
	Partial   = "partial"
	Failed    = "failed"
)

// Conversion is the state of a document's conversion.
type Conversion struct {
	State string `json:"state"`
	// Reason is a word for a failure or an omission.
	Reason string `json:"reason,omitempty"`
	// Encoding is the detected encoding of a text, empty if unambiguous. Chosen means that a person selected it.
	Encoding string `json:"encoding,omitempty"`
	Chosen   bool   `json:"encoding_chosen,omitempty"`
	// Done of Pages are read, while it is pending and pages can be counted.
	Done  int `json:"done,omitempty"`
	Pages int `json:"pages,omitempty"`
}

// EncodingNames returns the encodings in which a text can be read, most common first.
func EncodingNames() []string { return charset.Names() }

// Why returns the reason as a sentence for a model, empty for none.
func (c *Conversion) Why() string {
	switch c.Reason {
	case "":
		return ""
	case "encrypted":
		return "it is protected by a password"
	case "damaged":
		return "it is damaged or its content doesn't match its name"
	case "limits":
		return "it unpacks to more than is allowed"
	case "long":
		return "its text is longer than is kept, so the end is missing"
	case "scanned":
		return "it looks scanned: its pages are pictures without text"
	case "empty":
		return "there is no text in it"
	case "unsupported":
		return "its format cannot be read"
	case "xlsb":
		return "workbooks in Excel's binary format (.xlsb) cannot be read; opened in Excel or LibreOffice and saved as " +
			".xlsx it can be uploaded again"
	case "timeout":
		return "reading it took too long"
	}
	return "the converter could not cope with it"
}

// WithMarkdown adds the addresses of the Markdown with the given name.
func (f File) WithMarkdown(thread, name string) File {
	f.MarkdownFile = name
	f.MarkdownPath, f.MarkdownVirtualPath = Folder+"/"+name, Folder+"/"+name
	f.MarkdownArtifactURL = artifactURL(thread, name)
	return f
}

// Beside chooses the name of a document's Markdown: that of the document with .md, unless
// another file has it.
func Beside(dir Dir, name string) (string, error) {
	if len(name)+len(".md") > maxName {
		name = strings.ToValidUTF8(name[:maxName-len(".md")], "")
	}
	var failed error
	got := unused(name+".md", func(n string) bool {
		_, err := dir.Lstat(path.Join(Folder, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
			return false
		}
		return err == nil
	})
	if failed != nil {
		return "", fmt.Errorf("name Markdown of %s: %w", name, failed)
	}
	return got, nil
}

// Write atomically adds a text to the uploads.
func Write(ctx context.Context, dir Dir, name string, text []byte) error {
	at := stagingName()
	w, err := dir.Create(at)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err = dir.Spend(ctx, int64(len(text))); err == nil {
		_, err = w.Write(text)
	}
	err = errors.Join(err, w.Close())
	if err == nil {
		err = dir.Rename(at, path.Join(Folder, name))
	}
	if err != nil {
		return errors.Join(diskError(err), dir.Remove(at))
	}
	return nil
}

// Heading is a heading of a Markdown text with its line, counted from 1.
type Heading struct {
	Line  int
	Title string
}

// Outline summarizes a long text.
type Outline struct {
	// Headings are the first of them.
	Headings []Heading
	// Preview are the first lines that are not empty.
	Preview []string
	// Lines is the number of lines.
	Lines int
}

// Limits of an outline.
const (
	maxHeadings = 50
	maxPreview  = 5
	maxTitle    = 120 // characters
)

// ReadOutline reads a Markdown text.
func ReadOutline(r io.Reader) (Outline, error) {
	var o Outline
	fenced := false
	b := bufio.NewReaderSize(r, 64<<10)
	for {
		line, long, err := b.ReadLine()
		if errors.Is(err, io.EOF) {
			return o, nil
		}
		if err != nil {
			return o, fmt.Errorf("read outline: %w", err)
		}
		o.Lines++
		text := strings.TrimSpace(string(line))
		for long && err == nil {
			_, long, err = b.ReadLine()
		}
		if strings.HasPrefix(text, "```") {
			fenced = !fenced
		}
		if text == "" || strings.HasPrefix(text, "<!--") {
			continue
		}
		if len(o.Preview) < maxPreview {
			o.Preview = append(o.Preview, short(text))
		}
		title := strings.TrimLeft(text, "#")
		depth := len(text) - len(title)
		if !fenced && depth >= 1 && depth <= 6 && strings.HasPrefix(title, " ") && len(o.Headings) < maxHeadings {
			o.Headings = append(o.Headings, Heading{o.Lines, short(strings.TrimSpace(title))})
		}
	}
}

func short(s string) string {
	if utf8.RuneCountInString(s) <= maxTitle {
		return s
	}
	return string([]rune(s)[:maxTitle]) + "..."
}
