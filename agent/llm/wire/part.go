package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf8"
)

// Part is one block of a message in none of the providers' shapes: text, a picture, or a file, sound included.
type Part struct {
	Text  string
	Image *Image
	File  *File
	Cache bool // it is marked for caching
}

// File is a file in a message: its base64 data, or its address.
type File struct{ Name, Kind, Data, URL string }

// maxInline limits the text of a file that a model is shown in its place, in bytes.
const maxInline = 128 << 10

// source is a block's data in the formats of several APIs.
type source struct {
	Type      string `json:"type"`
	URL       string `json:"url"`
	Data      string `json:"data"`
	Base64    string `json:"base64"`
	Text      string `json:"text"`
	FileData  string `json:"file_data"`
	FileURL   string `json:"file_url"`
	Filename  string `json:"filename"`
	Name      string `json:"name"`
	Title     string `json:"title"`
	Format    string `json:"format"`
	MediaType string `json:"media_type"`
	Mime      string `json:"mime_type"`
	MimeType  string `json:"mimeType"`
}

// ReadPart parses a block in any client's format. An unknown kind of block becomes text that mentions it.
func ReadPart(raw json.RawMessage) Part {
	var b Block
	if json.Unmarshal(raw, &b) != nil {
		return readOdd(raw)
	}
	p := Part{Cache: len(b.Cache) > 0}
	switch b.Type {
	case "text", "input_text", "output_text", "":
		if p.Text = b.Text; b.Type == "" && b.Text == "" {
			p.Text = told("a part of a message", "")
		}
		return p
	case "input_image":
		b.Type = "image_url"
	case "refusal", "thinking", "redacted_thinking", "reasoning", "tool_use", "tool_call", "tool_result", "non_standard":
		p.Text = inner(raw)
		return p
	}
	if img, ok := b.Image(); ok {
		p.Image = &img
		return p
	}
	if b.Type == "image_url" || b.Type == "image" {
		p.Text = told("an image", "")
		return p
	}
	p.File = readFile(raw, b.Type)
	return p
}

// readOdd parses a block whose fields have unexpected types.
func readOdd(raw json.RawMessage) Part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return Part{Text: text}
	}
	return Part{File: readFile(raw, "")}
}

// inner returns the text of a block that holds some.
func inner(raw json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	for _, key := range []string{"text", "refusal", "content"} {
		var s string
		if json.Unmarshal(m[key], &s) == nil && s != "" {
			return s
		}
		var list []json.RawMessage
		if json.Unmarshal(m[key], &list) == nil && len(list) > 0 {
			var parts []string
			for _, one := range list {
				parts = append(parts, ReadPart(one).Text)
			}
			return strings.Join(parts, "\n")
		}
	}
	return ""
}

// readFile finds name, kind and data of a file in any block format.
func readFile(raw json.RawMessage, kind string) *File {
	f := &File{}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return f
	}
	take := func(raw json.RawMessage) {
		var s source
		if json.Unmarshal(raw, &s) != nil {
			var address string
			if json.Unmarshal(raw, &address) == nil && strings.Contains(address, ":") {
				s.URL = address
			}
		}
		set := func(to *string, values ...string) {
			for _, v := range values {
				if *to == "" {
					*to = v
				}
			}
		}
		set(&f.Name, s.Filename, s.Name, s.Title)
		set(&f.Kind, s.MediaType, s.Mime, s.MimeType)
		if s.Format != "" && f.Kind == "" {
			f.Kind = "audio/" + s.Format
		}
		set(&f.Data, s.Data, s.Base64, s.FileData)
		set(&f.URL, s.URL, s.FileURL)
		if s.Type == "text" && s.Data != "" || s.Text != "" && f.Data == "" {
			if text := s.Data + s.Text; text != "" {
				f.Data, f.Kind = base64.StdEncoding.EncodeToString([]byte(text)), "text/plain"
			}
		}
	}
	take(raw)
	for _, key := range []string{"source", "file", "input_audio", "audio", "video", "audio_url", "video_url", "document", "metadata",
		"extras", "media"} {
		if below, ok := m[key]; ok {
			take(below)
		}
	}
	for _, at := range []*string{&f.Data, &f.URL} {
		if rest, is := strings.CutPrefix(*at, "data:"); is {
			if of, data, is := strings.Cut(rest, ";base64,"); is {
				f.Kind, f.Data = of, data
				if at == &f.URL {
					f.URL = ""
				}
			}
		}
	}
	if f.Kind == "" {
		if f.Kind = mime.TypeByExtension(path.Ext(f.Name)); f.Kind == "" && kind != "file" && kind != "document" && kind != "" {
			f.Kind = kind
		}
	}
	return f
}

// Told describes the file as text for models that can't read it: its own text if it has one, else its name and type.
func (f *File) Told() string {
	kind, _, _ := mime.ParseMediaType(f.Kind)
	if strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/xml" || kind == "application/yaml" {
		if b, err := base64.StdEncoding.DecodeString(f.Data); err == nil && utf8.Valid(b) && len(b) > 0 {
			name := f.Name
			if name == "" {
				name = kind
			}
			if len(b) > maxInline {
				b = append([]byte(strings.ToValidUTF8(string(b[:maxInline]), "")), "\n[The rest is left out.]"...)
			}
			return fmt.Sprintf("[The file %s:]\n%s\n[The end of the file.]", inLine(name), b)
		}
	}
	what := "a file"
	switch {
	case kind == "application/pdf":
		what = "a PDF document"
	case strings.HasPrefix(kind, "audio/"), kind == "audio", kind == "input_audio":
		what = "a sound"
	case strings.HasPrefix(kind, "video/"), kind == "video", kind == "video_url":
		what = "a video"
	}
	detail := inLine(f.Name)
	if detail == "" && f.URL != "" && len(f.URL) < 300 {
		detail = inLine(f.URL)
	}
	return told(what, detail)
}

// IsPDF reports whether the file is one, with its data.
func (f *File) IsPDF() bool {
	kind, _, _ := mime.ParseMediaType(f.Kind)
	return kind == "application/pdf" && f.Data != ""
}

// Sound returns the format of a sound with its data, "" for other files.
func (f *File) Sound() string {
	kind, _, _ := mime.ParseMediaType(f.Kind)
	format, is := strings.CutPrefix(kind, "audio/")
	if !is || f.Data == "" {
		return ""
	}
	switch format {
	case "mpeg":
		return "mp3"
	case "x-wav", "wave":
		return "wav"
	}
	return format
}

func told(what, detail string) string {
	if detail != "" {
		detail = " (" + detail + ")"
	}
	return "[Here stands " + what + detail + ", which this model cannot read. Ask for its text, or for an upload of it.]"
}

// inLine returns a name within a line of text.
func inLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '[' || r == ']' {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(strings.ToValidUTF8(s[:min(len(s), 300)], ""))
}
