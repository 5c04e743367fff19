package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	Language  string `json:"language_code"`
}

func (u *telegramUser) name() string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

type telegramUpdate struct {
	ID       int64             `json:"update_id"`
	Message  *telegramMessage  `json:"message"`
	Reaction *telegramReaction `json:"message_reaction"`
}

type telegramChat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"`
	Title string `json:"title"`
}

// telegramReaction is a change of a person's reactions to a message.
type telegramReaction struct {
	Chat telegramChat  `json:"chat"`
	ID   int64         `json:"message_id"`
	User *telegramUser `json:"user"`
	Date int64         `json:"date"`
	New  []struct {
		Emoji string `json:"emoji"`
	} `json:"new_reaction"`
}

// update returns false for reactions that don't ask to stop, and for anonymous ones.
func (r *telegramReaction) update(id int64) (Update, bool) {
	if r == nil || r.User == nil || r.User.IsBot {
		return Update{}, false
	}
	for _, one := range r.New {
		if stopSign(one.Emoji) {
			message := strconv.FormatInt(r.ID, 10)
			u := Update{ID: "reaction:" + strconv.FormatInt(id, 10), Message: message, Under: []string{message},
				Stops: true, At: time.Unix(r.Date, 0),
				Address: Address{Chat: strconv.FormatInt(r.Chat.ID, 10), Group: r.Chat.Type != "private"},
				Sender:  Person{ID: strconv.FormatInt(r.User.ID, 10), Name: r.User.name(), Lang: r.User.Language}}
			if u.Group {
				u.ChatName, u.Topic, u.Mentioned = r.Chat.Title, "m"+message, true
			}
			return u, true
		}
	}
	return Update{}, false
}

// telegramOrigin is the origin of a forwarded message.
type telegramOrigin struct {
	User *telegramUser `json:"sender_user"`
	Name string        `json:"sender_user_name"`
	From *telegramChat `json:"sender_chat"`
	Chat *telegramChat `json:"chat"`
}

func (o *telegramOrigin) name() string {
	switch {
	case o == nil:
		return ""
	case o.User != nil && o.User.name() != "":
		return o.User.name()
	case o.From != nil && o.From.Title != "":
		return o.From.Title
	case o.Chat != nil && o.Chat.Title != "":
		return o.Chat.Title
	}
	return cmp.Or(o.Name, unnamed)
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
	Origin          *telegramOrigin  `json:"forward_origin"`
	Quote           *struct {
		Text string `json:"text"`
	} `json:"quote"`
	Contact *struct {
		First string `json:"first_name"`
		Last  string `json:"last_name"`
		Phone string `json:"phone_number"`
	} `json:"contact"`
	Location *telegramLocation `json:"location"`
	Venue    *struct {
		Title   string `json:"title"`
		Address string `json:"address"`
	} `json:"venue"`
	Poll *struct {
		Question string `json:"question"`
		Options  []struct {
			Text string `json:"text"`
		} `json:"options"`
	} `json:"poll"`
	Sticker   json.RawMessage `json:"sticker"`
	Story     json.RawMessage `json:"story"`
	Dice      json.RawMessage `json:"dice"`
	Game      json.RawMessage `json:"game"`
	PaidMedia json.RawMessage `json:"paid_media"`
	Checklist json.RawMessage `json:"checklist"`
}

type telegramLocation struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// things names content other than text and files.
func (m *telegramMessage) things() string {
	var lines []string
	if v := m.Venue; v != nil {
		lines = append(lines, strings.TrimSpace(v.Title+", "+v.Address))
	}
	if l := m.Location; l != nil {
		lines = append(lines, fmt.Sprintf("Location: %.6f, %.6f", l.Latitude, l.Longitude))
	}
	if c := m.Contact; c != nil {
		lines = append(lines, "Contact: "+strings.Join(strings.Fields(c.First+" "+c.Last+" "+c.Phone), " "))
	}
	if p := m.Poll; p != nil {
		lines = append(lines, p.Question)
		for _, o := range p.Options {
			lines = append(lines, "- "+o.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// unread returns the content that can't be read, if there is any.
func (m *telegramMessage) unread() Content {
	switch {
	case m.Voice != nil:
		return Voice
	case m.Sticker != nil:
		return Sticker
	case m.Story != nil, m.Dice != nil, m.Game != nil, m.PaidMedia != nil, m.Checklist != nil:
		return Other
	}
	return "" // a join, a new title and the like
}

// update returns false for messages not written to the bot.
func (m *telegramMessage) update(me Me) (Update, bool) {
	if m == nil || m.From == nil || m.From.IsBot {
		return Update{}, false
	}
	id := strconv.FormatInt(m.ID, 10)
	u := Update{
		ID:      strconv.FormatInt(m.Chat.ID, 10) + ":" + id,
		Address: Address{Chat: strconv.FormatInt(m.Chat.ID, 10), Group: m.Chat.Type != "private"},
		Message: id, ChatName: m.Chat.Title, Album: m.Album, At: time.Unix(m.Date, 0),
		Sender: Person{ID: strconv.FormatInt(m.From.ID, 10), Name: m.From.name(), Lang: m.From.Language},
		Files:  m.files(),
	}
	u.Text, u.Mentioned = m.words(me)
	u.Text, u.Forwarded = cmp.Or(u.Text, m.things()), m.Origin.name()
	if m.Voice != nil && u.Text == "" && len(u.Files) > 0 {
		u.Voice, u.Files = &u.Files[0], nil
	}
	if u.Text == "" && len(u.Files) == 0 {
		u.Unread = m.unread()
	}
	if u.empty() {
		return Update{}, false
	}
	if r := m.ReplyTo; r != nil && r.ID != m.Thread {
		u.Under = []string{strconv.FormatInt(r.ID, 10)}
		if r.From != nil && strconv.FormatInt(r.From.ID, 10) == me.ID {
			u.Mentioned = true
		} else {
			u.Quote = cmp.Or(r.Text, r.Caption)
		}
	}
	if m.Quote != nil { // a part of it, or of a message in another chat
		u.Quote = m.Quote.Text
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

// words returns the text without the bot's name at its start, and whether it mentions the bot.
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
