//go:build !nowechat

package chat

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// weChatMedia locates a file and holds its key.
type weChatMedia struct {
	URL   string `json:"full_url"`
	Query string `json:"encrypt_query_param"`
	Key   string `json:"aes_key"`
}

type weChatPart struct {
	Media weChatMedia `json:"media"`
	Key   string      `json:"aeskey"`
	Name  string      `json:"file_name"`
	Text  string      `json:"text"`
}

type weChatItem struct {
	Type  int        `json:"type"`
	Text  weChatPart `json:"text_item"`
	Image weChatPart `json:"image_item"`
	Voice weChatPart `json:"voice_item"`
	File  weChatPart `json:"file_item"`
	Video weChatPart `json:"video_item"`
}

type weChatMessage struct {
	ID      json.Number  `json:"message_id"`
	Client  string       `json:"client_id"`
	From    string       `json:"from_user_id"`
	Kind    int          `json:"message_type"`
	Created int64        `json:"create_time_ms"`
	Token   string       `json:"context_token"`
	Items   []weChatItem `json:"item_list"`
}

// update returns false for messages not written to the bot. token is needed to answer.
func (w *WeChat) update(raw json.RawMessage) (u Update, token string, ok bool) {
	var m weChatMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		var id struct {
			ID json.RawMessage `json:"message_id"`
		}
		_ = json.Unmarshal(raw, &id) // then it is the sum of all
		sum := fnv.New64a()
		_, _ = sum.Write(raw)
		name := cmp.Or(strings.Trim(string(id.ID), `"`), strconv.FormatUint(sum.Sum64(), 36))
		return Update{ID: "message:" + name, Problem: "not understood: " + w.c.redact(err.Error())}, "", true
	}
	id := cmp.Or(m.ID.String(), m.Client)
	if m.Kind != 1 || m.From == "" || id == "" {
		return Update{}, "", false
	}
	u = Update{ID: id, Message: id, Address: Address{Chat: m.From}, Sender: Person{ID: m.From}, At: time.Now()}
	if m.Created > 0 {
		u.At = time.UnixMilli(m.Created)
	}
	var texts []string
	for _, it := range m.Items {
		switch it.Type {
		case weChatText:
			texts = append(texts, it.Text.Text)
		case weChatVoice:
			texts = append(texts, it.Voice.Text)
		case weChatImage:
			w.file(&u, it.Image, "image", ".jpg", "image/jpeg")
		case weChatDoc:
			w.file(&u, it.File, "file", "", "")
		case weChatVideo:
			w.file(&u, it.Video, "video", ".mp4", "video/mp4")
		}
	}
	texts = slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" })
	u.Text = strings.TrimSpace(strings.Join(texts, "\n"))
	if u.Text == "" && len(u.Files) == 0 && slices.ContainsFunc(m.Items, func(it weChatItem) bool {
		return it.Type == weChatVoice
	}) {
		u.Unread = Voice
	}
	return u, m.Token, !u.empty()
}

func (w *WeChat) file(u *Update, p weChatPart, name, ending, kind string) {
	address := p.Media.URL
	if address == "" && p.Media.Query != "" {
		address = w.cdn + "/download?encrypted_query_param=" + url.QueryEscape(p.Media.Query)
	}
	if key := cmp.Or(p.Key, p.Media.Key); address != "" && key != "" {
		name := cmp.Or(p.Name, name+"-"+strconv.Itoa(len(u.Files)+1)+ending)
		u.Files = append(u.Files, FileRef{ID: key + " " + address, Name: name, Type: kind})
	}
}

// The tokens of recent senders are stored with the cursor in a fixed number of slots: a message rewrites one short
// entry, and strangers can't make the list grow.
const (
	weChatSlots   = 256
	weChatPerSlot = 16
)

func weChatSlot(person string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(person))
	return "tokens " + strconv.Itoa(int(sum.Sum32()%weChatSlots))
}

// weChatNote moves a person's token to the front.
func weChatNote(slot, person, token string) string {
	var list [][2]string
	_ = json.Unmarshal([]byte(slot), &list) // empty at first
	list = slices.DeleteFunc(list, func(e [2]string) bool { return e[0] == person })
	list = append([][2]string{{person, token}}, list...)
	b, err := json.Marshal(list[:min(len(list), weChatPerSlot)])
	if err != nil {
		return slot
	}
	return string(b)
}

// weChatFind returns a person's token, empty if it is not known.
func weChatFind(slot, person string) string {
	var list [][2]string
	_ = json.Unmarshal([]byte(slot), &list)
	for _, e := range list {
		if e[0] == person {
			return e[1]
		}
	}
	return ""
}
