package takeout

import (
	"encoding/json"
	"io"
	"strings"
)

type claudeMessage struct {
	UUID    string  `json:"uuid"`
	Parent  *string `json:"parent_message_uuid"`
	Sender  string  `json:"sender"`
	Text    string  `json:"text"`
	At      moment  `json:"created_at"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Attachments []struct {
		Name string `json:"file_name"`
		Text string `json:"extracted_content"`
	} `json:"attachments"`
	Files []struct {
		Name string `json:"file_name"`
	} `json:"files"`
}

// claude parses a conversation from a list of messages. Newer exports include each message's parent.
func claude(c *Conversation, rec *record) error {
	var list []claudeMessage
	if err := json.Unmarshal(rec.ChatMessages, &list); err != nil {
		return err
	}
	*c = Conversation{App: Claude, ID: rec.UUID, Title: rec.Name, Created: rec.CreatedAt.Time, Updated: rec.UpdatedAt.Time}
	parents, byID := map[string]string{}, map[string]claudeMessage{}
	for _, m := range list {
		if m.Parent == nil || m.UUID == "" {
			break
		}
		parents[m.UUID], byID[m.UUID] = *m.Parent, m
	}
	if len(parents) == len(list) && len(list) > 0 {
		var way []string
		way, c.Branches = branch(parents, list[len(list)-1].UUID)
		list = list[:0]
		for _, id := range way {
			list = append(list, byID[id])
		}
	}
	for _, m := range list {
		out := Message{Human: m.Sender == "human", Text: m.Text, At: m.At.Time}
		if !out.Human {
			out.Model = rec.Model
		}
		var texts []string
		for _, part := range m.Content {
			if part.Type == "text" && part.Text != "" {
				texts = append(texts, part.Text)
			}
		}
		if len(texts) > 0 {
			out.Text = strings.Join(texts, "\n\n")
		}
		for _, a := range m.Attachments {
			out.Files = append(out.Files, textFile(a.Name, a.Text))
		}
		for _, f := range m.Files {
			out.Files = append(out.Files, File{Name: f.Name})
		}
		c.add(out)
	}
	return nil
}

// textFile returns a file of which the export has the text. A text with no name was pasted.
func textFile(name, text string) File {
	if name == "" {
		name = "pasted.txt"
	}
	if text == "" {
		return File{Name: name}
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 { // its text, no longer in the document's format
		switch strings.ToLower(name[dot:]) {
		case ".pdf", ".docx", ".doc", ".xlsx", ".xls", ".pptx", ".ppt", ".odt", ".ods", ".odp", ".rtf", ".epub":
			name += ".txt"
		}
	}
	return File{Name: name, Size: int64(len(text)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}
