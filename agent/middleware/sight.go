package middleware

import (
	"context"
	"encoding/json"
	"slices"

	"fawn/agent"
)

// unseen replaces an image that the model can't see.
const unseen = "[An image stands here, which this model cannot see.]"

// BlindKey is the remark on a run with images for a model that can't see them.
const BlindKey = "vision_warning"

// Sight removes images from requests to models without vision, which would refuse them. If degrade is false it ends the
// run instead, with the error from refuse.
func Sight(degrade bool, refuse func() error) agent.Middleware {
	return agent.Middleware{
		Name: "sight",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if !req.Options.NoImages || !slices.ContainsFunc(req.Messages, hasImage) {
					return next(ctx, t, req)
				}
				if !degrade {
					return nil, refuse()
				}
				t.Note(BlindKey, "the model cannot see images; it was told that there are some")
				req.Messages = slices.Clone(req.Messages)
				for i, m := range req.Messages {
					if hasImage(m) {
						req.Messages[i] = blindfolded(m)
					}
				}
				return next(ctx, t, req)
			}
		},
	}
}

// image reports whether a block is an image in any of the shapes clients use.
func image(raw json.RawMessage) bool {
	var b struct{ Type string }
	return json.Unmarshal(raw, &b) == nil && (b.Type == "image_url" || b.Type == "image" || b.Type == "input_image")
}

func hasImage(m *agent.Message) bool { return slices.ContainsFunc(m.Content.Blocks, image) }

func blindfolded(m *agent.Message) *agent.Message {
	c := *m
	c.Content.Blocks = slices.Clone(m.Content.Blocks)
	for i, raw := range c.Content.Blocks {
		if image(raw) {
			c.Content.Blocks[i] = json.RawMessage(`{"type":"text","text":"` + unseen + `"}`)
		}
	}
	return &c
}
