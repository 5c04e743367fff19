package convert

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Reason is a word for a missing or incomplete document.
type Reason string

// Reasons.
const (
	Encrypted   Reason = "encrypted"   // it needs a password
	Damaged     Reason = "damaged"     // truncated, or not of the type its name suggests
	Limits      Reason = "limits"      // unpacked it exceeds the limits
	Long        Reason = "long"        // its text exceeds the limit and is cut
	Scanned     Reason = "scanned"     // its pages are pictures
	Empty       Reason = "empty"       // it contains no text
	Unsupported Reason = "unsupported" // no reader for this format
	BinaryBook  Reason = "xlsb"        // a binary Excel workbook, which no maintained Go library reads
	Timeout     Reason = "timeout"     // it took too long
	Crashed     Reason = "crashed"     // the reader crashed on it
)

func (r Reason) Error() string { return string(r) }

// Limits of a converted document.
const (
	maxText  = 8 << 20   // bytes of Markdown
	maxPart  = 64 << 20  // bytes of one unpacked part
	maxAll   = 256 << 20 // bytes of all of them
	maxParts = 10_000
	maxDepth = 256 // limit of nested elements
	maxNodes = 1_000_000
)

// Result is a document as Markdown. A line like "<!-- page 7 -->" precedes each page, slide and sheet.
type Result struct {
	Markdown string
	// Partial is the reason for omissions, empty if there are none.
	Partial Reason
	// Encoding is the detected encoding of a text, empty if unambiguous.
	Encoding string
}

// Convert converts a document. The name only resolves ambiguous content. progress, which may be nil, receives the
// converted and total pages. Errors are Reasons.
func Convert(name string, data []byte, progress func(done, of int)) (res Result, err error) {
	return ConvertAs(name, data, "", progress)
}

// ConvertAs is Convert for a text with a selected encoding, one of charset.Names; "" detects it.
func ConvertAs(name string, data []byte, encoding string, progress func(done, of int)) (res Result, err error) {
	d := &draft{progress: progress, chosen: encoding}
	defer func() {
		// Library parsers may panic on unexpected input.
		if p := recover(); p != nil {
			res, err = Result{}, fmt.Errorf("%w: %v", Crashed, p)
		}
	}()
	read := reader(name, data)
	if read == nil {
		return Result{}, Unsupported
	}
	if !IsPDF(data) { // the PDF reader must start first
		d.step(0, 0)
	}
	if err := read(d, data); err != nil {
		return Result{}, err
	}
	text := strings.TrimSpace(d.text.String())
	switch {
	case !d.wrote && d.partial != "":
		return Result{}, d.partial
	case !d.wrote || text == "":
		return Result{}, Empty
	}
	return Result{Markdown: text + "\n", Partial: d.partial, Encoding: d.encoding}, nil
}

// format writes a document of one kind to a draft.
type format func(d *draft, data []byte) error

// extensions returns the file extensions of documents.
func extensions() map[string]format {
	return map[string]format{
		".docx": office, ".docm": office, ".dotx": office, ".pptx": office, ".pptm": office, ".ppsx": office,
		".xlsx": office, ".xlsm": office, ".xlsb": office, ".xltx": office, ".odt": office, ".ods": office, ".odp": office,
		".ott": office, ".fodt": oldName, ".fods": oldName, ".fodp": oldName, ".slk": oldSheetName,
		".epub": office, ".doc": oldName, ".dot": oldName, ".xls": oldSheetName, ".xlt": oldSheetName,
		".ppt": oldName, ".pps": oldName, ".msg": oldName, ".mht": oldName, ".mhtml": oldName,
		".pdf": portable, ".html": page, ".htm": page, ".xhtml": page, ".ipynb": notebook, ".rtf": richText,
		".eml": mailMessage, PageExt: article,
	}
}

// texts are the endings of plain text that people keep in old encodings.
const texts = " .txt .text .csv .tsv .md .log .srt .vtt .ini .xml .json .tex .bib "

// Wants reports whether a file with this beginning should be converted. Plain text needn't be.
func Wants(name string, head []byte) bool {
	ext := strings.ToLower(path.Ext(name))
	if extensions()[ext] != nil {
		return ext != PageExt // that kind is never uploaded
	}
	if !strings.Contains(texts, " "+ext+" ") || len(head) == 0 {
		return false
	}
	for range utf8.UTFMax { // the beginning may end within a character
		if utf8.Valid(head) && bytes.IndexByte(head, 0) < 0 {
			return false
		}
		head = head[:len(head)-1]
		if len(head) == 0 {
			return false
		}
	}
	return true
}

// reader chooses by content, then by name.
func reader(name string, data []byte) format {
	ext := strings.ToLower(path.Ext(name))
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return office
	case IsPDF(data):
		return portable
	case bytes.HasPrefix(data, oleMagic):
		return compound
	case bytes.HasPrefix(data, []byte(`{\rtf`)):
		return richText
	case isRawBook(data) && strings.HasPrefix(ext, ".x"):
		return oldWorkbook
	}
	if f := extensions()[ext]; f != nil {
		return f
	}
	if strings.Contains(texts, " "+ext+" ") {
		return plain
	}
	return nil
}
