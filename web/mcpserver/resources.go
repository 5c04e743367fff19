package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"path"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of listed files, and of the conversations they are from.
const (
	listedFiles   = 200
	listedThreads = 20
)

// addResources exposes files of conversations as resources: all can be read by their addresses, and recently presented
// ones are listed.
func (s *Server) addResources(server *sdk.Server) {
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "artifact", Title: "File of a conversation",
		URITemplate: scheme + "://threads/{thread_id}/artifacts{+path}",
		Description: "A file that Fawn has written or was given, by its path, such as /mnt/user-data/outputs/report.md"},
		s.readResource)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method != "resources/list" {
				return next(ctx, method, req)
			}
			return s.listResources(ctx)
		}
	})
}

func (s *Server) listResources(ctx context.Context) (*sdk.ListResourcesResult, error) {
	var threads []struct {
		ID string `json:"thread_id"`
	}
	err := s.api.Call(ctx, http.MethodPost, "/api/threads/search", map[string]any{"limit": listedThreads}, &threads)
	if err != nil {
		return nil, err
	}
	out := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}
	for _, t := range threads {
		files, err := s.presented(ctx, t.ID)
		if gone(err) { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, a := range files {
			if len(out.Resources) == listedFiles {
				return out, nil
			}
			out.Resources = append(out.Resources, &sdk.Resource{URI: a.URI, Name: path.Base(a.Path), MIMEType: a.Type,
				Size: a.Size})
		}
	}
	return out, nil
}

func (s *Server) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	thread, at, ok := parseURI(req.Params.URI)
	if !ok {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	}
	a, err := s.stat(ctx, thread, at)
	if gone(err) {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	}
	if err != nil {
		return nil, err
	}
	if a.Size > maxBlob {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that can be sent here", at, a.Size, maxBlob)
	}
	data, err := s.fetch(ctx, a, thread, 0, maxBlob)
	if err != nil {
		return nil, err
	}
	content := &sdk.ResourceContents{URI: req.Params.URI, MIMEType: a.Type}
	if textual(a.Type) {
		content.Text = string(data)
	} else {
		content.Blob = data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{content}}, nil
}
