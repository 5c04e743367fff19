package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/web/inproc"
)

// Limits of the parts of a file sent at once.
const (
	maxText = 64 << 10 // limit of a text part, in bytes
	maxBlob = 4 << 20  // limit of any other file, and of a resource, in bytes
)

// scheme is the scheme of files' addresses: fawn://threads/ID/artifacts/mnt/user-data/outputs/NAME.
const scheme = "fawn"

// artifact is a file of a conversation.
type artifact struct {
	Path string `json:"path"`
	Type string `json:"mime_type,omitempty"`
	Size int64  `json:"size"`
	URI  string `json:"uri" jsonschema:"address of the resource with its content"`
}

func (a artifact) link() *sdk.ResourceLink {
	return &sdk.ResourceLink{URI: a.URI, Name: path.Base(a.Path), MIMEType: a.Type, Size: &a.Size}
}

// artifactURI returns the address of a file as a resource.
func artifactURI(thread, at string) string {
	u := url.URL{Scheme: scheme, Host: "threads", Path: "/" + thread + "/artifacts" + at}
	return u.String()
}

// parseURI returns the thread and the path of a resource.
func parseURI(uri string) (thread, at string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != scheme || u.Host != "threads" {
		return "", "", false
	}
	thread, at, ok = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/artifacts/")
	return thread, "/" + at, ok && thread != ""
}

// filePath returns where the API has a file.
func filePath(thread, at string) string {
	return inproc.ThreadPath(thread, "artifacts") + (&url.URL{Path: at}).EscapedPath()
}

// described describes the files at the last of some paths. Missing ones are left out.
func (s *Server) described(ctx context.Context, thread string, paths []string) ([]artifact, error) {
	var out []artifact
	for _, p := range paths[max(0, len(paths)-listedFiles):] {
		a, err := s.stat(ctx, thread, p)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (s *Server) stat(ctx context.Context, thread, at string) (artifact, error) {
	r, err := s.api.Request(ctx, http.MethodHead, filePath(thread, at), "", nil, 0)
	if err != nil {
		return artifact{}, err
	}
	return fileOf(r, thread, at)
}

// gone reports whether a file is missing or unreadable.
func gone(err error) bool {
	var told *inproc.Refusal
	return errors.As(err, &told) && told.Status < 500
}

// fileOf parses a file's description from a response.
func fileOf(r *inproc.Reply, thread, at string) (artifact, error) {
	a := artifact{Path: at, Type: r.Header().Get("Content-Type"), URI: artifactURI(thread, at)}
	length := r.Header().Get("Content-Length")
	if _, total, ok := strings.Cut(r.Header().Get("Content-Range"), "/"); ok {
		length = total
	}
	var err error
	if a.Size, err = strconv.ParseInt(length, 10, 64); err != nil {
		return a, fmt.Errorf("the size of %s: %w", at, err)
	}
	return a, nil
}

// fetch reads a part of a file. An empty file has no parts.
func (s *Server) fetch(ctx context.Context, a artifact, thread string, from int64, most int) ([]byte, error) {
	if from >= a.Size {
		return nil, nil
	}
	r, err := s.api.Request(ctx, http.MethodGet, filePath(thread, a.Path), "", nil, most,
		"Range", fmt.Sprintf("bytes=%d-%d", from, from+int64(most)-1))
	if err != nil {
		return nil, err
	}
	return r.Body.Bytes(), nil
}

// textual reports whether a type is text that a model can read directly.
func textual(kind string) bool {
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return false
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+json") ||
		kind == "application/json" || kind == "application/xml" || kind == "application/javascript" ||
		kind == "application/yaml" || kind == "application/x-yaml"
}

type artifactList struct {
	Artifacts []artifact `json:"artifacts"`
}

type inThread struct {
	Thread string `json:"thread_id" jsonschema:"the conversation"`
}

func (s *Server) artifacts(ctx context.Context, _ *sdk.CallToolRequest,
	in inThread) (*sdk.CallToolResult, *artifactList, error) {
	list, err := s.presented(ctx, in.Thread)
	if err != nil {
		return nil, nil, err
	}
	out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%d files", len(list))}}}
	for _, a := range list {
		out.Content = append(out.Content, a.link())
	}
	return out, &artifactList{append([]artifact{}, list...)}, nil
}

// presented returns the files a thread has presented.
func (s *Server) presented(ctx context.Context, thread string) ([]artifact, error) {
	var state struct {
		Values values `json:"values"`
	}
	if err := s.api.Call(ctx, http.MethodGet, inproc.ThreadPath(thread, "state"), nil, &state); err != nil {
		return nil, err
	}
	return s.described(ctx, thread, state.Values.Artifacts)
}

type reading struct {
	Thread string `json:"thread_id" jsonschema:"the conversation"`
	Path   string `json:"path" jsonschema:"path of the file, as list_artifacts tells it"`
	Offset int64  `json:"offset,omitempty" jsonschema:"where in a text to begin, in bytes"`
}

// part describes the read part of a file.
type part struct {
	artifact
	Next *int64 `json:"next_offset,omitempty" jsonschema:"where the rest of the text begins; absent at its end"`
}

func (s *Server) read(ctx context.Context, _ *sdk.CallToolRequest, in reading) (*sdk.CallToolResult, *part, error) {
	if in.Offset < 0 {
		return nil, nil, errors.New("offset: want 0 or more")
	}
	if !strings.HasPrefix(in.Path, "/") {
		return nil, nil, errors.New("path: want one that begins with /mnt/user-data")
	}
	a, err := s.stat(ctx, in.Thread, in.Path)
	if err != nil {
		return nil, nil, s.worded(err, in.Path)
	}
	out := &part{artifact: a}
	if textual(a.Type) {
		data, err := s.fetch(ctx, a, in.Thread, in.Offset, maxText)
		if err != nil {
			return nil, nil, err
		}
		data = wholeRunes(data)
		if next := in.Offset + int64(len(data)); next < a.Size && len(data) > 0 {
			out.Next = &next
		}
		text := string(data)
		if out.Next != nil {
			text += fmt.Sprintf("\n\n[bytes %d to %d of %d; go on with offset %d]", in.Offset, *out.Next, a.Size,
				*out.Next)
		}
		return contents(&sdk.TextContent{Text: text}), out, nil
	}
	if a.Size > maxBlob {
		return contents(&sdk.TextContent{Text: fmt.Sprintf("%s has %d bytes, more than can be sent here.",
			a.Path, a.Size)}, a.link()), out, nil
	}
	data, err := s.fetch(ctx, a, in.Thread, 0, maxBlob)
	if err != nil {
		return nil, nil, err
	}
	if kind, _, _ := mime.ParseMediaType(a.Type); strings.HasPrefix(kind, "image/") {
		return contents(&sdk.ImageContent{Data: data, MIMEType: kind}), out, nil
	}
	whole := &sdk.ResourceContents{URI: a.URI, MIMEType: a.Type, Blob: data}
	return contents(&sdk.EmbeddedResource{Resource: whole}), out, nil
}

func contents(list ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: list} }

// worded adds a text to the refusals of HEAD requests, which have no body.
func (s *Server) worded(err error, at string) error {
	var told *inproc.Refusal
	switch {
	case !errors.As(err, &told):
		return err
	case told.Status == http.StatusNotFound:
		return fmt.Errorf("there is no file %s in this conversation", at)
	case told.Status == http.StatusForbidden, told.Status == http.StatusBadRequest:
		return fmt.Errorf("%s is not a file that can be read: paths begin with /mnt/user-data", at)
	}
	return err
}

// wholeRunes leaves a cut character at the end out.
func wholeRunes(b []byte) []byte {
	for n := 1; n <= min(len(b), utf8.UTFMax-1); n++ {
		if at := len(b) - n; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}
