package completions

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"fawn/web/inproc"
	"fawn/web/route"
)

// message is one of a conversation, in the form of chat completions or of responses.
type message struct {
	Type    string          `json:"type"` // type of an item of responses
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`

	// Of calls that the client's model made and of their results, which become text.
	Calls  json.RawMessage `json:"tool_calls"`
	Call   string          `json:"tool_call_id"`
	CallID string          `json:"call_id"`
	Name   string          `json:"name"`
	Args   string          `json:"arguments"`
	Output json.RawMessage `json:"output"`

	text   string
	images []string // addresses, data: or https:
	files  []file
}

// file is a file in a message.
type file struct {
	name string
	data []byte
}

// part is a piece of a message's content in either form.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	Image    json.RawMessage `json:"image_url"` // {"url"} or the address
	Data     string          `json:"file_data"`
	Filename string          `json:"filename"`
	File     struct {
		Data     string `json:"file_data"`
		Filename string `json:"filename"`
		ID       string `json:"file_id"`
	} `json:"file"`
	Audio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
}

// Most messages of a request, and most parts of a message: far more than a conversation has.
const (
	maxMessages = 20_000
	maxParts    = 1_000
)

// bounded decodes a list one element at a time and refuses more than most: a short text can stand for millions.
func bounded[T any](b []byte, most int) ([]T, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("want a list")
	}
	var out []T
	for d.More() {
		if len(out) == most {
			return nil, fmt.Errorf("want at most %d entries", most)
		}
		var one T
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// read parses a message. at is its position, for errors.
func (m *message) read(at string) error {
	switch m.Type {
	case "", "message":
	case "function_call":
		m.Role, m.text = "assistant", "Called "+m.Name+" with "+m.Args
		return nil
	case "function_call_output":
		m.Role, m.text = "user", "The result of "+m.CallID+": "+textOf(m.Output)
		return nil
	case "reasoning", "item_reference":
		return nil
	default:
		return invalid(at+".type", "items of the type "+route.Cut(m.Type, 40)+" are not supported")
	}
	switch m.Role {
	case "developer":
		m.Role = "system"
	case "system", "user", "assistant":
	case "tool", "function":
		m.Role, m.text = "user", strings.TrimSpace("The result of the client's tool "+m.Name+" "+m.Call)+": "+textOf(m.Content)
		return nil
	default:
		return invalid(at+".role", "want system, developer, user, assistant or tool, got "+route.Cut(m.Role, 40))
	}
	if route.Given(m.Content) == nil {
		if m.Role == "assistant" {
			m.text = textOf(m.Calls)
			return nil
		}
		return invalid(at+".content", "is required")
	}
	if json.Unmarshal(m.Content, &m.text) == nil {
		if m.text == "" && m.Role == "assistant" {
			m.text = textOf(m.Calls)
		}
		return nil
	}
	parts, err := bounded[part](m.Content, maxParts)
	if err != nil {
		return invalid(at+".content", "want text or a list of parts: "+err.Error())
	}
	var texts []string
	for i, p := range parts {
		where := fmt.Sprintf("%s.content[%d]", at, i)
		switch p.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		case "image_url", "input_image":
			address := textOf(p.Image)
			var object struct{ URL string }
			if json.Unmarshal(p.Image, &object) == nil {
				address = object.URL
			}
			if !strings.HasPrefix(address, "data:image/") && !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
				return invalid(where, "want an image as a data: or http address")
			}
			m.images = append(m.images, address)
		case "file", "input_file":
			if p.File.Data != "" {
				p.Data, p.Filename = p.File.Data, p.File.Filename
			}
			f, err := fileOf(p.Data, p.Filename)
			if err != nil {
				return invalid(where, err.Error())
			}
			m.files = append(m.files, f)
		case "input_audio":
			f, err := fileOf(p.Audio.Data, "audio."+p.Audio.Format)
			if err != nil {
				return invalid(where, err.Error())
			}
			m.files = append(m.files, f)
		default:
			return invalid(where, "parts of the type "+route.Cut(p.Type, 40)+" are not supported")
		}
	}
	m.text = strings.Join(texts, "\n")
	return nil
}

// textOf returns a JSON string without its quotes, or the JSON of anything else.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(route.Given(raw))
}

// fileOf reads the data of a file: base64, or a data: address.
func fileOf(data, name string) (file, error) {
	if data == "" {
		return file{}, fmt.Errorf("want the file itself as file_data; files by id aren't supported")
	}
	kind := ""
	if rest, ok := strings.CutPrefix(data, "data:"); ok {
		head, body, found := strings.Cut(rest, ",")
		if !found || !strings.HasSuffix(head, ";base64") {
			return file{}, fmt.Errorf("want file_data as base64, or data:…;base64,…")
		}
		kind, data = strings.TrimSuffix(head, ";base64"), body
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return file{}, fmt.Errorf("file_data is not valid base64: %w", err)
	}
	if name == "" {
		name = "file"
		if ends, err := mime.ExtensionsByType(kind); err == nil && len(ends) > 0 {
			name += ends[0]
		}
	}
	return file{name, raw}, nil
}

// sent returns a message as a run takes it.
func (m *message) sent() map[string]any {
	var content any = m.text
	if len(m.images) > 0 {
		blocks := []any{}
		if m.text != "" {
			blocks = append(blocks, map[string]string{"type": "text", "text": m.text})
		}
		for _, address := range m.images {
			blocks = append(blocks, map[string]any{"type": "image_url", "image_url": map[string]string{"url": address}})
		}
		content = blocks
	}
	return map[string]any{"role": m.Role, "content": content}
}

// upload stores the files of messages in the thread. Files stored by an earlier request with the key are skipped.
func (s *Server) upload(ctx context.Context, v *conversation) error {
	var list []file
	for _, m := range v.sent() {
		list = append(list, m.files...)
	}
	if len(list) == 0 {
		return nil
	}
	there := map[string]int{} // sizes by name
	if v.key.Given() {
		var kept struct {
			Files []struct {
				Name string `json:"filename"`
				Size int    `json:"size"`
			} `json:"files"`
		}
		if err := s.API.Call(ctx, http.MethodGet, threadPath(v.at.Thread, "uploads", "list"), nil, &kept); err != nil {
			return err
		}
		for _, f := range kept.Files {
			there[f.Name] = f.Size
		}
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	none := true
	for _, f := range list {
		if size, known := there[f.name]; known && size == len(f.data) {
			continue
		}
		none = false
		w, err := form.CreateFormFile("files", f.name)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	if err := form.Close(); err != nil || none {
		return err
	}
	_, err := s.API.Request(ctx, http.MethodPost, threadPath(v.at.Thread, "uploads"), form.FormDataContentType(), &body, inproc.MaxAnswer)
	return err
}
