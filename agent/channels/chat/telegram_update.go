package chat

import (
	"strconv"
	"strings"
	"time"
)

type telegramUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

func (u *telegramUser) name() string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

type telegramUpdate struct {
	ID      int64            `json:"update_id"`
	Message *telegramMessage `json:"message"`
}

type telegramFile struct {
	ID   string `json:"file_id"`
	Name string `json:"file_name"`
	Type string `json:"mime_type"`
	Size int64  `json:"file_size"`
}

type telegramEntity struct {
	Type   string        `json:"type"`
	Offset int           `json:"offset"`
	Length int           `json:"length"`
	User   *telegramUser `json:"user"`
}

type telegramMessage struct {
	ID      int64         `json:"message_id"`
	Thread  int64         `json:"message_thread_id"`
	IsTopic bool          `json:"is_topic_message"`
	From    *telegramUser `json:"from"`
	Date    int64         `json:"date"`
	Chat    struct {
		ID    int64  `json:"id"`
		Type  string `json:"type"`
		Title string `json:"title"`
	} `json:"chat"`
	ReplyTo         *telegramMessage `json:"reply_to_message"`
	Album           string           `json:"media_group_id"`
	Text            string           `json:"text"`
	Entities        []telegramEntity `json:"entities"`
	Caption         string           `json:"caption"`
	CaptionEntities []telegramEntity `json:"caption_entities"`
	Photo           []telegramFile   `json:"photo"`
	Document        *telegramFile    `json:"document"`
	Audio           *telegramFile    `json:"audio"`
	Voice           *telegramFile    `json:"voice"`
	Video           *telegramFile    `json:"video"`
	VideoNote       *telegramFile    `json:"video_note"`
}

// update is false for what nobody wrote to the bot.
func (m *telegramMessage) update(me Me) (Update, bool) {
	if m == nil || m.From == nil || m.From.IsBot {
		return Update{}, false
	}
	id := strconv.FormatInt(m.ID, 10)
	u := Update{
		ID:      strconv.FormatInt(m.Chat.ID, 10) + ":" + id,
		Address: Address{Chat: strconv.FormatInt(m.Chat.ID, 10), Group: m.Chat.Type != "private"},
		Message: id, ChatName: m.Chat.Title, Album: m.Album, At: time.Unix(m.Date, 0),
		Sender: Person{ID: strconv.FormatInt(m.From.ID, 10), Name: m.From.name()},
		Files:  m.files(),
	}
	u.Text, u.Mentioned = m.words(me)
	if u.Text == "" && len(u.Files) == 0 && !u.Mentioned {
		return Update{}, false
	}
	if r := m.ReplyTo; r != nil && r.ID != m.Thread {
		u.Under = []string{strconv.FormatInt(r.ID, 10)}
		if r.From != nil && strconv.FormatInt(r.From.ID, 10) == me.ID {
			u.Mentioned = true
		}
	}
	switch {
	case !u.Group:
		u.ChatName = ""
	case m.IsTopic:
		u.Topic = "t" + strconv.FormatInt(m.Thread, 10)
	case len(u.Under) > 0:
		u.Topic = "m" + u.Under[0]
	default:
		u.Topic = "m" + id
	}
	return u, true
}

// words is the text without the bot's name at its start, and whether it names the bot.
func (m *telegramMessage) words(me Me) (string, bool) {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	handle := "@" + strings.ToLower(me.Handle)
	mentioned, cut := false, text
	for _, e := range entities {
		before, part, after, ok := utf16Cut(text, e.Offset, e.Length)
		if !ok {
			continue
		}
		lower := strings.ToLower(part)
		switch {
		case e.Type == "mention" && lower == handle,
			e.Type == "text_mention" && e.User != nil && strconv.FormatInt(e.User.ID, 10) == me.ID:
			mentioned = true
			if strings.TrimSpace(before) == "" {
				cut = after
			}
		case e.Type == "bot_command" && strings.HasSuffix(lower, handle):
			mentioned = true
			cut = before + part[:len(part)-len(handle)] + after
		}
	}
	return strings.TrimSpace(cut), mentioned
}

func (m *telegramMessage) files() []FileRef {
	var all []FileRef
	add := func(f *telegramFile, name, kind string) {
		if f == nil {
			return
		}
		r := FileRef{ID: f.ID, Name: f.Name, Type: f.Type, Size: f.Size}
		if r.Name == "" {
			r.Name = name
		}
		if r.Type == "" {
			r.Type = kind
		}
		all = append(all, r)
	}
	id := strconv.FormatInt(m.ID, 10)
	if n := len(m.Photo); n > 0 {
		best := &m.Photo[0]
		for i := range m.Photo {
			if m.Photo[i].Size >= best.Size {
				best = &m.Photo[i]
			}
		}
		add(best, "photo-"+id+".jpg", "image/jpeg")
	}
	add(m.Document, "document-"+id, "")
	add(m.Audio, "audio-"+id+".mp3", "audio/mpeg")
	add(m.Voice, "voice-"+id+".ogg", "audio/ogg")
	add(m.Video, "video-"+id+".mp4", "video/mp4")
	add(m.VideoNote, "video-"+id+".mp4", "video/mp4")
	return all
}
