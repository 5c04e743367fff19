package openai

import (
	"encoding/json"
	"strings"

	"fawn/agent"
	"fawn/agent/llm/wire"
)

// userContent is a person's message as text when it is only text, which every server
// understands, else as blocks.
func userContent(c agent.Content) (blocks []json.RawMessage, text string) {
	if c.Blocks == nil {
		return nil, c.Text
	}
	plain := true
	var texts []string
	for _, raw := range c.Blocks {
		var b wire.Block
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		if b.Type == "text" && b.Cache == nil {
			texts = append(texts, b.Text)
		} else {
			plain = false
		}
		blocks = append(blocks, wireBlock(raw, &b))
	}
	if plain {
		return nil, strings.Join(texts, "\n")
	}
	return blocks, ""
}

// wireBlock turns the image shapes of other APIs into OpenAI's; anything else passes.
func wireBlock(raw json.RawMessage, b *wire.Block) json.RawMessage {
	img, ok := b.Image()
	if !ok || b.Type == "image_url" && b.ImageURL[0] == '{' { // already in its shape
		return raw
	}
	out, err := json.Marshal(map[string]any{"type": "image_url", "image_url": map[string]string{"url": img.Address()}})
	if err != nil { // strings always encode
		return raw
	}
	return out
}
