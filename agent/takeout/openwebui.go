package takeout

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
)

type webuiMessage struct {
	ID     string `json:"id"`
	Parent string `json:"parentId"`
	Role   string `json:"role"`
	Text   string `json:"content"`
	Model  string `json:"model"`
	At     moment `json:"timestamp"`
	Files  []struct {
		Name string `json:"name"`
		URL  string `json:"url"`
		File struct {
			Name string `json:"filename"`
			Data struct {
				Text string `json:"content"`
			} `json:"data"`
		} `json:"file"`
	} `json:"files"`
}

// openWebUI reads a chat as a tree of messages, or as a list in old exports.
func openWebUI(c *Conversation, rec *record) error {
	var chat struct {
		Title   string `json:"title"`
		At      moment `json:"timestamp"`
		History struct {
			Messages map[string]webuiMessage `json:"messages"`
			Current  string                  `json:"currentId"`
		} `json:"history"`
		Messages []webuiMessage `json:"messages"`
	}
	if err := json.Unmarshal(rec.Chat, &chat); err != nil {
		return err
	}
	*c = Conversation{App: OpenWebUI, ID: rec.ID, Title: rec.Title, Created: rec.CreatedAt.Time, Updated: rec.UpdatedAt.Time}
	if c.Title == "" {
		c.Title = chat.Title
	}
	if c.Created.IsZero() {
		c.Created = chat.At.Time
	}
	list := chat.Messages
	if h := chat.History; len(h.Messages) > 0 && h.Messages[h.Current].Role != "" {
		parents := make(map[string]string, len(h.Messages))
		for id, m := range h.Messages {
			parents[id] = m.Parent
		}
		var way []string
		way, c.Branches = branch(parents, h.Current)
		list = nil
		for _, id := range way {
			list = append(list, h.Messages[id])
		}
	}
	for _, m := range list {
		if m.Role != "user" && m.Role != "assistant" {
			continue
		}
		out := Message{Human: m.Role == "user", Text: m.Text, At: m.At.Time}
		if !out.Human {
			out.Model, out.Text = m.Model, withoutDetails(m.Text)
		}
		for _, f := range m.Files {
			name := f.Name
			if name == "" {
				name = f.File.Name
			}
			if strings.HasPrefix(f.URL, "data:") {
				out.Files = append(out.Files, dataFile(name, f.URL))
			} else {
				out.Files = append(out.Files, textFile(name, f.File.Data.Text))
			}
		}
		c.add(out)
	}
	return nil
}

// withoutDetails removes reasoning and tool calls, which are HTML in the answer.
func withoutDetails(s string) string {
	const begin, end = "<details type=\"", "</details>"
	var b strings.Builder
	for {
		at := strings.Index(s, begin)
		if at < 0 {
			b.WriteString(s)
			return strings.TrimSpace(b.String())
		}
		kind := s[at+len(begin):]
		stop := strings.Index(kind, end)
		if stop < 0 || !strings.HasPrefix(kind, "reasoning") && !strings.HasPrefix(kind, "tool_calls") &&
			!strings.HasPrefix(kind, "code_interpreter") {
			b.WriteString(s[:at+len(begin)])
			s = kind
			continue
		}
		b.WriteString(s[:at])
		s = kind[stop+len(end):]
	}
}

// dataFile returns a file embedded in a data URL.
func dataFile(name, url string) File {
	head, data, found := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	kind, encoded := strings.CutSuffix(head, ";base64")
	if name == "" {
		name = "file"
		if sub, image := strings.CutPrefix(kind, "image/"); image {
			name = "image." + strings.NewReplacer("jpeg", "jpg", "svg+xml", "svg").Replace(sub)
		}
	}
	if !found || !encoded {
		return File{Name: name}
	}
	return File{Name: name, Size: int64(base64.StdEncoding.DecodedLen(len(data))), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))), nil
	}}
}
