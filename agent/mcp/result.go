package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
)

// Limits of results.
const (
	maxText       = 256 << 10 // limit of a result; a longer one becomes a file
	maxStructured = 64 << 10  // shown to clients
	maxParts      = 200
)

// result formats a server's result for the model.
func (s *server) result(ctx context.Context, t *agent.Turn, c agent.ToolCall, tool string, r *sdk.CallToolResult,
	folder, tmp string) (agent.Result, error) {
	w := &writer{server: s, ctx: ctx, turn: t, call: c, folder: folder, tmp: tmp, images: map[string]agent.Image{}}
	for i, part := range r.Content {
		if i == maxParts {
			w.say(fmt.Sprintf("[%d more parts are left out]", len(r.Content)-maxParts))
			break
		}
		w.part(part)
	}
	out := agent.Result{IsError: r.IsError}
	if r.StructuredContent != nil {
		data, err := agent.Encode(r.StructuredContent)
		if err != nil {
			return agent.Result{}, fmt.Errorf("encode a structured result: %w", err)
		}
		if data, err = cleaned(data, w.clean); err != nil {
			return agent.Result{}, err
		}
		if text := w.text.String(); len(data) > 0 && !saysAll(text, data) { // servers put a summary next to it
			if text != "" {
				w.say("[The same as data]")
			}
			w.say(string(data))
		}
		if len(data) > 0 && len(data) <= maxStructured {
			if out.Artifact, err = agent.Encode(map[string]json.RawMessage{"structured_content": data}); err != nil {
				return agent.Result{}, fmt.Errorf("encode a structured result: %w", err)
			}
		}
	}
	text := strings.TrimRight(w.text.String(), "\n")
	switch {
	case text == "" && r.IsError:
		text = "Error: the tool failed without saying why."
	case text == "":
		text = "(no output)"
	}
	out.Content, out.Whole = w.shorten(text)
	if len(w.images) > 0 && t.Options.Vision {
		out.Patch.ViewedImages = w.images
	}
	return out, s.withApp(ctx, &out, tool, c, r, w.clean)
}

// saysAll reports whether a text contains the data already, as JSON in any form or as its only text.
func saysAll(text string, data json.RawMessage) bool {
	var said, is any
	if json.Unmarshal(data, &is) != nil {
		return false
	}
	for _, part := range []string{text, text[strings.IndexByte(text, '\n')+1:]} {
		if json.Unmarshal([]byte(part), &said) == nil && reflect.DeepEqual(said, is) {
			return true
		}
	}
	m, _ := is.(map[string]any)
	for _, v := range m {
		if s, ok := v.(string); ok && len(m) == 1 && strings.TrimSpace(s) == strings.TrimSpace(text) {
			return true // the SDK for Python wraps a text in such an object
		}
		if b, err := json.Marshal(v); err == nil && len(m) == 1 && json.Unmarshal([]byte(text), &said) == nil {
			var inner any
			if json.Unmarshal(b, &inner) == nil && reflect.DeepEqual(inner, said) {
				return true
			}
		}
	}
	return false
}

// writer converts the parts of a result to text; other content becomes a file.
type writer struct {
	server *server
	ctx    context.Context
	turn   *agent.Turn
	call   agent.ToolCall
	folder string // the thread's folder on the server; empty over HTTP
	tmp    string // the folder for temporary files, by its path inside the server
	text   strings.Builder
	images map[string]agent.Image
	files  int
}

// clean removes secrets and paths of this machine from a text.
func (w *writer) clean(s string) string {
	s = w.server.veil.over(s)
	if w.tmp != "" && !strings.HasPrefix(w.tmp, w.folder) {
		s = strings.ReplaceAll(s, w.tmp, userData+"/workspace/"+tempFolder)
	}
	if w.folder != "" {
		s = strings.ReplaceAll(s, w.folder, userData)
	}
	return s
}

// say adds a text verbatim.
func (w *writer) say(s string) {
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	w.text.WriteString(s)
}

func (w *writer) part(part sdk.Content) {
	switch p := part.(type) {
	case *sdk.TextContent:
		w.say(w.clean(p.Text))
	case *sdk.ImageContent:
		w.file("image", p.MIMEType, p.Data)
	case *sdk.AudioContent:
		w.file("audio", p.MIMEType, p.Data)
	case *sdk.ResourceLink:
		w.say(w.clean(strings.TrimSpace(fmt.Sprintf("[Resource %s: %s] %s", agent.Clip(p.URI, 2000),
			agent.Clip(p.Name, 200), agent.Clip(p.Description, 2000)))))
	case *sdk.EmbeddedResource:
		switch r := p.Resource; {
		case r == nil:
		case r.Blob != nil:
			w.file("resource "+w.clean(agent.Clip(r.URI, 500)), r.MIMEType, r.Blob)
		default:
			w.say(w.clean("[Resource " + agent.Clip(r.URI, 500) + "]\n" + r.Text))
		}
	default:
		w.say("[a part of a kind that can't be shown is left out]")
	}
}

// file stores bytes among the thread's outputs and mentions the path.
func (w *writer) file(what, kind string, data []byte) {
	sum := sha256.Sum256(data)
	at, err := w.save(hex.EncodeToString(sum[:6])+extension(kind), data)
	if err != nil {
		w.say(fmt.Sprintf("[The %s of %d bytes could not be kept: %v]", what, len(data), err))
		return
	}
	w.say(fmt.Sprintf("[The %s of %d bytes is in %s]", what, len(data), at))
	if pictures(data, kind) {
		w.images[at] = agent.Image{MimeType: kind, Size: int64(len(data)), Path: at}
	}
}

// save writes a file of this result.
func (w *writer) save(name string, data []byte) (string, error) {
	if w.files++; w.files > 20 {
		return "", fmt.Errorf("there are too many files in one result")
	}
	return w.server.pool.o.Save(w.ctx, w.turn.ThreadID, "mcp/"+w.call.Name+"-"+name, data)
}

// shorten stores a long text in a file, and returns its beginning.
func (w *writer) shorten(text string) (agent.Content, *agent.Whole) {
	if len(text) <= maxText {
		return agent.Text(text), nil
	}
	sum := sha256.Sum256([]byte(text))
	head := agent.Clip(text, maxText)
	at, err := w.save(hex.EncodeToString(sum[:6])+".txt", []byte(text))
	if err != nil {
		return agent.Text(head + fmt.Sprintf("\n[The rest of %d bytes could not be kept: %v]", len(text), err)), nil
	}
	whole := &agent.Whole{Path: at, Bytes: int64(len(text)), Stored: int64(len(text)),
		Lines: int64(strings.Count(text, "\n"))}
	return agent.Text(head + "\n" + whole.Note()), whole
}

// pictures reports whether a file really is an image of the declared type, which models may be shown.
func pictures(data []byte, kind string) bool {
	begins := map[string][]string{"image/png": {"\x89PNG\r\n\x1a\n"}, "image/jpeg": {"\xff\xd8\xff"},
		"image/gif": {"GIF87a", "GIF89a"}, "image/webp": {"RIFF"}}
	for _, b := range begins[kind] {
		if bytes.HasPrefix(data, []byte(b)) {
			return true
		}
	}
	return false
}

// extension returns the file extension of a type, never one that browsers would execute.
func extension(kind string) string {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	known := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
		"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/mp3": ".mp3", "audio/ogg": ".ogg",
		"application/pdf": ".pdf", "application/json": ".json", "text/plain": ".txt", "text/csv": ".csv",
		"text/markdown": ".md", "application/zip": ".zip", "application/gzip": ".gz"}
	if ext, ok := known[strings.TrimSpace(kind)]; ok {
		return ext
	}
	return ".bin"
}
