package wire

import (
	"encoding/json"
	"strings"
)

// Block is one block of a message's content, in the shapes clients use.
type Block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ImageURL json.RawMessage `json:"image_url"`
	URL      string          `json:"url"`
	Base64   string          `json:"base64"`
	Data     string          `json:"data"`
	Mime     string          `json:"mime_type"`
	Source   struct {
		URL       string `json:"url"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	Cache json.RawMessage `json:"cache_control"`
}

// Image is an image: its address, or its type and base64 data, and the level of detail.
type Image struct{ URL, Kind, Data, Detail string }

// Image returns the picture of a block; ok is false for blocks of other kinds and for pictures that are somewhere else
// still, as in a provider's own file store.
func (b *Block) Image() (out Image, ok bool) {
	switch b.Type {
	case "image_url":
		var deep struct {
			URL    string `json:"url"`
			Detail string `json:"detail"`
		}
		if json.Unmarshal(b.ImageURL, &out.URL) != nil && json.Unmarshal(b.ImageURL, &deep) == nil {
			out.URL, out.Detail = deep.URL, deep.Detail
		}
	case "image":
		switch {
		case b.URL != "":
			out.URL = b.URL
		case b.Source.URL != "":
			out.URL = b.Source.URL
		case b.Base64+b.Data != "":
			out.Kind, out.Data = b.Mime, b.Base64+b.Data
		default:
			out.Kind, out.Data = b.Source.MediaType, b.Source.Data
		}
	}
	if rest, is := strings.CutPrefix(out.URL, "data:"); is {
		if kind, data, is := strings.Cut(rest, ";base64,"); is {
			out.URL, out.Kind, out.Data = "", kind, data
		}
	}
	if out.Data != "" && out.Kind == "" {
		out.Kind = "image/png"
	}
	return out, out.URL != "" || out.Data != ""
}

// Address returns where the picture is, as one address.
func (i Image) Address() string {
	if i.Data == "" {
		return i.URL
	}
	return "data:" + i.Kind + ";base64," + i.Data
}
