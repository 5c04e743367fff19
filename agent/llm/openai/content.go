package openai

import (
	"encoding/json"
	"strings"

	"fawn/agent"
	"fawn/agent/llm/wire"
)

// userContent returns a person's message as plain text if possible, which every server accepts, else as blocks; blocks
// unknown to the dialect become text.
func (d *Dialect) userContent(c agent.Content) (blocks []any, text string) {
	if c.Blocks == nil {
		return nil, c.Text
	}
	plain := true
	var texts []string
	for _, raw := range c.Blocks {
		p := wire.ReadPart(raw)
		block, said := d.block(&p)
		if said != "" && !p.Cache {
			texts = append(texts, said)
		} else if block != nil {
			plain = false
		}
		if block == nil {
			continue
		}
		if p.Cache {
			var b struct {
				Cache any `json:"cache_control"`
			}
			if json.Unmarshal(raw, &b) == nil {
				block["cache_control"] = b.Cache
			}
		}
		blocks = append(blocks, block)
	}
	if plain {
		return nil, strings.Join(texts, "\n")
	}
	return blocks, ""
}

// block converts a part to this API's format, nil for an empty one; said is its text, if it is text.
func (d *Dialect) block(p *wire.Part) (block object, said string) {
	switch {
	case p.Image != nil:
		image := object{"url": p.Image.Address()}
		if p.Image.Detail != "" {
			image["detail"] = p.Image.Detail
		}
		return object{"type": "image_url", "image_url": image}, ""
	case p.File == nil:
	case d.Files && p.File.IsPDF():
		name := p.File.Name
		if name == "" {
			name = "document.pdf"
		}
		return object{"type": "file", "file": object{"filename": name,
			"file_data": "data:application/pdf;base64," + p.File.Data}}, ""
	case d.Sound && p.File.Sound() != "":
		return object{"type": "input_audio", "input_audio": object{"data": p.File.Data, "format": p.File.Sound()}}, ""
	default:
		p.Text = p.File.Told()
	}
	if p.Text == "" {
		return nil, ""
	}
	return object{"type": "text", "text": p.Text}, p.Text
}
