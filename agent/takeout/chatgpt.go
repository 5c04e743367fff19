package takeout

import (
	"archive/zip"
	"encoding/json"
	"io"
	"path"
	"strings"
	"time"
)

type gptNode struct {
	Parent  string      `json:"parent"`
	Message *gptMessage `json:"message"`
}

type gptMessage struct {
	Author struct {
		Role string `json:"role"`
	} `json:"author"`
	CreateTime moment `json:"create_time"`
	Recipient  string `json:"recipient"`
	Content    struct {
		Type  string            `json:"content_type"`
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	Metadata struct {
		Model       string `json:"model_slug"`
		Hidden      bool   `json:"is_visually_hidden_from_conversation"`
		Attachments []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"attachments"`
	} `json:"metadata"`
}

// chatGPT reads a conversation as a tree of nodes.
func (r *reader) chatGPT(c *Conversation, rec *record) error {
	var nodes map[string]gptNode
	if err := json.Unmarshal(rec.Mapping, &nodes); err != nil {
		return err
	}
	r.files.given = map[string]bool{}
	*c = Conversation{App: ChatGPT, ID: rec.ID, Title: rec.Title, Created: rec.CreateTime.Time,
		Updated: rec.UpdateTime.Time}
	if rec.Conversation != "" {
		c.ID = rec.Conversation
	}
	parents := make(map[string]string, len(nodes))
	leaf, newest := rec.CurrentNode, time.Time{}
	for id, n := range nodes {
		parents[id] = n.Parent
		if _, there := nodes[rec.CurrentNode]; !there && n.Message != nil && n.Message.CreateTime.After(newest) {
			leaf, newest = id, n.Message.CreateTime.Time
		}
	}
	var way []string
	way, c.Branches = branch(parents, leaf)
	var made []File // files made by tools, for the next answer
	for _, id := range way {
		m := nodes[id].Message
		if m == nil || m.Metadata.Hidden {
			continue
		}
		text, files := r.gptContent(m)
		role := m.Author.Role
		switch {
		case role == "tool":
			made = append(made, files...)
		case role == "user":
			if len(made) > 0 {
				c.add(Message{Files: made})
			}
			c.add(Message{Human: true, Text: text, At: m.CreateTime.Time, Files: files})
			made = nil
		case role == "assistant" && (m.Recipient == "" || m.Recipient == "all"):
			c.add(Message{Text: text, Model: m.Metadata.Model, At: m.CreateTime.Time, Files: append(made, files...)})
			made = nil
		}
	}
	if len(made) > 0 {
		c.add(Message{Files: made})
	}
	return nil
}

// gptContent returns the text of a message and its files.
func (r *reader) gptContent(m *gptMessage) (string, []File) {
	if m.Content.Type != "text" && m.Content.Type != "multimodal_text" {
		return "", nil // thoughts, calls of tools and their output
	}
	var texts []string
	var files []File
	named := map[string]bool{}
	for _, a := range m.Metadata.Attachments {
		named[assetID(a.ID)] = true
		files = append(files, r.files.file(a.ID, a.Name))
	}
	for _, raw := range m.Content.Parts {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			if m.Author.Role != "tool" && strings.TrimSpace(text) != "" {
				texts = append(texts, withoutMarks(text))
			}
			continue
		}
		var part struct {
			Type  string `json:"content_type"`
			Text  string `json:"text"`
			Asset string `json:"asset_pointer"`
		}
		if json.Unmarshal(raw, &part) != nil {
			continue
		}
		if part.Type == "audio_transcription" && part.Text != "" {
			texts = append(texts, part.Text)
		}
		if part.Type == "image_asset_pointer" && !named[assetID(part.Asset)] {
			files = append(files, r.files.file(part.Asset, ""))
		}
	}
	return strings.Join(texts, "\n\n"), files
}

// withoutMarks removes references to sources, enclosed in private-use characters and meaningless elsewhere.
func withoutMarks(s string) string {
	const begin, end = "\ue200", "\ue201"
	if !strings.Contains(s, begin) {
		return s
	}
	var b strings.Builder
	for {
		head, rest, found := strings.Cut(s, begin)
		b.WriteString(head)
		if !found {
			return b.String()
		}
		if _, rest, found = strings.Cut(rest, end); !found {
			return b.String()
		}
		s = rest
	}
}

// assets are the files of an archive by their ids.
type assets struct {
	byID  map[string]*zip.File
	names map[string]string // original names, by the names in the archive
	given map[string]bool   // ids already used in the conversation
}

// findAssets finds the files whose names begin with an id.
func findAssets(all []*zip.File) assets {
	a := assets{byID: map[string]*zip.File{}}
	for _, f := range all {
		base := path.Base(f.Name)
		if base == "conversation_asset_file_names.json" && f.UncompressedSize64 <= maxNames {
			if in, err := f.Open(); err == nil {
				raw, err := io.ReadAll(io.LimitReader(in, maxNames))
				in.Close()
				if err != nil || json.Unmarshal(raw, &a.names) != nil {
					a.names = nil
				}
			}
		}
		if id := assetID(base); id != "" && f.Mode().IsRegular() {
			a.byID[id] = f
		}
	}
	return a
}

// assetID returns the id of a file in a pointer or a name, "" if it has none.
func assetID(s string) string {
	if _, after, found := strings.Cut(s, "://"); found {
		s = after
	}
	if !strings.HasPrefix(s, "file-") && !strings.HasPrefix(s, "file_") {
		return ""
	}
	n := len("file-")
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z') {
		n++
	}
	return s[:n]
}

// file returns the file that an id or a pointer names. A conversation gets its content once.
func (a assets) file(pointer, name string) File {
	id := assetID(pointer)
	f := a.byID[id]
	if f == nil {
		if name == "" {
			name = "image"
		}
		return File{Name: name}
	}
	base := path.Base(f.Name)
	for _, other := range []string{a.names[base], strings.TrimLeft(strings.TrimPrefix(base, id), "-_"), base} {
		if name == "" && other != "" && !strings.HasPrefix(other, ".") {
			name = path.Base(other)
		}
	}
	if a.given[id] {
		return File{Name: name}
	}
	a.given[id] = true
	return File{Name: name, Size: int64(min(f.UncompressedSize64, 1<<62)), Open: f.Open}
}
