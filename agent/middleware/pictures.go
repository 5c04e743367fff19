package middleware

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"

	"fawn/agent"
	"fawn/agent/llm/wire"
	"fawn/uploads"
)

// Pictures rotates the images of a request upright and strips metadata about their authors; images in unsupported
// formats are replaced by a mention. Messages and files stay unchanged. It runs inside every stage that adds images.
func Pictures(p uploads.Pictures) agent.Middleware {
	return agent.Middleware{
		Name: "pictures",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if slices.ContainsFunc(req.Messages, hasImage) {
					req.Messages = slices.Clone(req.Messages)
					for i, m := range req.Messages {
						var err error
						if req.Messages[i], err = withoutTraces(ctx, p, t.ThreadID, m); err != nil {
							return nil, err
						}
					}
				}
				return next(ctx, t, req)
			}
		},
	}
}

// withoutTraces returns a message with clean images; an error is the end of the run.
func withoutTraces(ctx context.Context, p uploads.Pictures, thread string, m *agent.Message) (*agent.Message, error) {
	if !hasImage(m) {
		return m, nil
	}
	c := *m
	c.Content.Blocks = slices.Clone(m.Content.Blocks)
	for i, raw := range c.Content.Blocks {
		if !image(raw) {
			continue
		}
		block, err := cleanBlock(ctx, p, thread, raw)
		if err != nil {
			return nil, err
		}
		c.Content.Blocks[i] = block
	}
	return &c, nil
}

func cleanBlock(ctx context.Context, p uploads.Pictures, thread string, raw json.RawMessage) (json.RawMessage, error) {
	var b wire.Block
	if json.Unmarshal(raw, &b) != nil {
		return raw, nil
	}
	if b.Type == "input_image" { // an image_url by another name
		b.Type = "image_url"
	}
	img, ok := b.Image()
	if !ok || img.Data == "" {
		return raw, nil
	}
	data, err := base64.StdEncoding.DecodeString(img.Data)
	if err != nil { // a readable image would expose its metadata
		return agent.Encode(textBlock("[An image stands here that cannot be shown: its base64 is damaged.]"))
	}
	clean, kind, err := p.Clean(ctx, thread, data)
	switch {
	case errors.Is(err, uploads.ErrPicture):
		return agent.Encode(textBlock("[An image stands here that cannot be shown: " + err.Error() + ".]"))
	case err != nil:
		return nil, err
	case kind == "" || kind == img.Kind && bytes.Equal(clean, data):
		return raw, nil
	}
	return imageBlock(b, wire.Image{Kind: kind, Data: base64.StdEncoding.EncodeToString(clean)})
}

// imageBlock returns a block with its image replaced.
func imageBlock(b wire.Block, img wire.Image) (json.RawMessage, error) {
	source := map[string]any{"url": img.Address()}
	var deep struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(b.ImageURL, &deep) == nil && deep.Detail != "" {
		source["detail"] = deep.Detail
	}
	block := map[string]any{"type": "image_url", "image_url": source}
	if len(b.Cache) > 0 {
		block["cache_control"] = b.Cache
	}
	return agent.Encode(block)
}
