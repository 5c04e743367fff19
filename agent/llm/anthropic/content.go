package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"fawn/agent"
	"fawn/agent/llm/wire"
)

// keyThoughts is the key in additional_kwargs for data about the thoughts in reasoning_content: each one's length in
// bytes and its signature, or its redacted data.
const keyThoughts = "thinking_blocks"

// thought is one entry of keyThoughts.
type thought struct {
	Bytes     int    `json:"bytes"`
	Signature string `json:"signature,omitempty"`
	Hidden    string `json:"data,omitempty"` // encrypted thought that is only sent back
}

// thoughts returns an answer's thinking blocks as received. Thoughts of other providers have no signature and are left
// out, as are truncated or changed ones.
func thoughts(m *agent.Message) []sdk.ContentBlockParamUnion {
	raw, err := json.Marshal(m.Kwargs[keyThoughts])
	if err != nil {
		return nil
	}
	var list []thought
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	text, _ := m.Kwargs["reasoning_content"].(string)
	var out []sdk.ContentBlockParamUnion
	for _, t := range list {
		switch {
		case t.Hidden != "":
			out = append(out, sdk.NewRedactedThinkingBlock(t.Hidden))
		case t.Bytes < 0 || t.Bytes > len(text) || t.Signature == "":
			return nil
		default:
			out = append(out, sdk.NewThinkingBlock(t.Signature, text[:t.Bytes]))
			text = text[t.Bytes:]
		}
	}
	if text != "" {
		return nil
	}
	return out
}

// answerBlocks returns the blocks of an answer: thoughts, text, calls.
func answerBlocks(m *agent.Message) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	words := m.Content.String()
	if len(m.ToolCalls) > 0 || strings.TrimSpace(words) != "" { // reasoning alone isn't an answer
		out = thoughts(m)
	}
	if strings.TrimSpace(words) != "" {
		out = append(out, sdk.NewTextBlock(strings.TrimRight(words, " \t\r\n"))) // white space at the end is refused
	}
	for _, c := range m.ToolCalls {
		args := c.Args
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		out = append(out, sdk.NewToolUseBlock(callID(c.ID), args, c.Name))
	}
	return out
}

// callID returns an id in the letters the API takes; calls of other providers may have others.
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}

func resultBlock(m *agent.Message) sdk.ContentBlockParamUnion {
	out := &sdk.ToolResultBlockParam{ToolUseID: callID(m.ToolCallID)}
	for _, b := range personBlocks(m.Content) {
		part := sdk.ToolResultBlockParamContentUnion{OfText: b.OfText, OfImage: b.OfImage, OfDocument: b.OfDocument}
		out.Content = append(out.Content, part)
	}
	if m.Status == "error" {
		out.IsError = sdk.Bool(true)
	}
	return sdk.ContentBlockParamUnion{OfToolResult: out}
}

// personBlocks converts a person's text, images and PDF documents; other files are described as text.
func personBlocks(c agent.Content) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	say := func(text string) {
		if strings.TrimSpace(text) != "" {
			out = append(out, sdk.NewTextBlock(text))
		}
	}
	if c.Blocks == nil {
		say(c.Text)
		return out
	}
	for _, raw := range c.Blocks {
		p := wire.ReadPart(raw)
		switch {
		case p.Image != nil && p.Image.Data != "":
			out = append(out, sdk.NewImageBlockBase64(p.Image.Kind, p.Image.Data))
		case p.Image != nil:
			out = append(out, sdk.NewImageBlock(sdk.URLImageSourceParam{URL: p.Image.URL}))
		case p.File != nil && p.File.IsPDF():
			out = append(out, sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: p.File.Data}))
		case p.File != nil:
			say(p.File.Told())
		default:
			say(p.Text)
		}
	}
	return out
}
