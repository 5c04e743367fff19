package chat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

type slackCallback struct {
	EventID string `json:"event_id"`
	Event   struct {
		Type        string      `json:"type"`
		Subtype     string      `json:"subtype"`
		Channel     string      `json:"channel"`
		ChannelType string      `json:"channel_type"`
		User        string      `json:"user"`
		Bot         string      `json:"bot_id"`
		Team        string      `json:"team"`
		Text        string      `json:"text"`
		TS          string      `json:"ts"`
		Thread      string      `json:"thread_ts"`
		ParentUser  string      `json:"parent_user_id"`
		Files       []slackFile `json:"files"`
		Attachments []struct {
			Share  bool   `json:"is_share"`
			Unfurl bool   `json:"is_msg_unfurl"`
			Author string `json:"author_name"`
			Text   string `json:"text"`
		} `json:"attachments"`
		Reaction string `json:"reaction"`
		Item     struct {
			Type    string `json:"type"`
			Channel string `json:"channel"`
			TS      string `json:"ts"`
		} `json:"item"`
		EventTS string `json:"event_ts"`
	} `json:"event"`
}

// slackFile is a file of a message. In channels shared with other workspaces only its id may be set.
type slackFile struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Title      string `json:"title"`
	Type       string `json:"mimetype"`
	Size       int64  `json:"size"`
	Mode       string `json:"mode"`
	Kind       string `json:"subtype"`
	Access     string `json:"file_access"`
	Transcript struct {
		Status  string `json:"status"`
		Preview struct {
			Content string `json:"content"`
			More    bool   `json:"has_more"`
		} `json:"preview"`
	} `json:"transcription"`
}

// gone reports whether a file was deleted or is hidden from the bot.
func (f *slackFile) gone() bool {
	return f.Mode == "tombstone" || f.Mode == "hidden_by_limit" || f.Access == "access_denied" ||
		f.Access == "file_not_found"
}

// slackStops returns the names of the stop signs.
func slackStops() []string {
	return []string{"octagonal_sign", "no_entry", "raised_hand", "hand", "-1", "thumbsdown"}
}

// reaction returns false for reactions that don't ask to stop. Under identifies the topic of the bot's message.
func (s *Slack) reaction(c slackCallback, who slackIdentity) (Update, bool) {
	e := c.Event
	name, _, _ := strings.Cut(e.Reaction, "::") // a skin tone
	if e.Item.Type != "message" || e.User == "" || e.User == who.User || !slices.Contains(slackStops(), name) {
		return Update{}, false
	}
	u := Update{ID: "reaction:" + c.EventID, Message: e.Item.TS, Under: []string{e.Item.TS}, Stops: true,
		Address: Address{Chat: e.Item.Channel, Group: !strings.HasPrefix(e.Item.Channel, "D")},
		Sender:  Person{ID: e.User, Workspace: who.Team, WorkspaceName: who.Called}, At: slackTime(e.EventTS)}
	if u.Group {
		u.Topic, u.Mentioned = e.Item.TS, true
	}
	return u, true
}

// update returns false for messages not written to the bot. A mention arrives as two events with one id.
func (s *Slack) update(env slackEnvelope) (Update, bool) {
	if env.Type != "events_api" {
		return Update{}, false
	}
	var c slackCallback
	if err := json.Unmarshal(env.Payload, &c); err != nil {
		var id struct {
			EventID string `json:"event_id"`
		}
		if json.Unmarshal(env.Payload, &id) != nil || id.EventID == "" {
			id.EventID = env.ID
		}
		return Update{ID: "event:" + id.EventID, Problem: "not understood: " + s.c.redact(err.Error())}, true
	}
	s.mu.Lock()
	who := s.who
	s.mu.Unlock()
	e := c.Event
	switch {
	case e.Type == "reaction_added":
		return s.reaction(c, who)
	case e.Type != "message" && e.Type != "app_mention", e.Bot != "", e.User == "", e.User == who.User,
		e.User == "USLACKBOT":
		return Update{}, false
	case e.Subtype != "" && e.Subtype != "file_share" && e.Subtype != "thread_broadcast" && e.Subtype != "me_message":
		return Update{}, false // edits, joins and the like
	}
	u := Update{
		ID: e.Channel + ":" + e.TS, Message: e.TS,
		Address: Address{Chat: e.Channel, Group: e.ChannelType != "im" && !strings.HasPrefix(e.Channel, "D")},
		Sender:  Person{ID: e.User, Workspace: who.Team, WorkspaceName: who.Called},
		At:      slackTime(e.TS),
	}
	u.Text, u.Mentioned = slackWords(e.Text, who.User)
	u.Mentioned = u.Mentioned || e.ParentUser != "" && e.ParentUser == who.User
	for _, a := range e.Attachments {
		if a.Share || a.Unfurl && u.Text == "" {
			words, _ := slackWords(a.Text, "")
			u.Forwarded = cmp.Or(a.Author, unnamed)
			u.Text = strings.TrimSpace(u.Text + "\n\n" + words)
		}
	}
	for _, f := range e.Files {
		switch {
		case f.gone():
		case f.Kind == "slack_audio" && u.Text == "": // recorded in Slack, which may transcribe it
			if u.Unread = Voice; f.Transcript.Status == "complete" && !f.Transcript.Preview.More {
				u.Text = strings.TrimSpace(f.Transcript.Preview.Content)
			}
			u.Voice = &FileRef{ID: f.ID, Name: cmp.Or(f.Name, f.Title, "voice-"+f.ID), Type: f.Type, Size: f.Size}
		default:
			u.Files = append(u.Files, FileRef{ID: f.ID, Name: cmp.Or(f.Name, f.Title, "file-"+f.ID), Type: f.Type,
				Size: f.Size})
		}
	}
	if u.Text != "" || len(u.Files) > 0 {
		u.Unread, u.Voice = "", nil
	}
	if e.Thread != "" && e.Thread != e.TS {
		u.Under = []string{e.Thread}
	}
	if u.Group {
		u.Topic = e.TS
		if e.Thread != "" {
			u.Topic = e.Thread
		}
	}
	return u, !u.empty()
}

func slackTime(ts string) time.Time {
	sec, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(sec, 10, 64)
	if err != nil {
		return time.Now()
	}
	return time.Unix(n, 0)
}

// slackWords returns a text as shown to people, without the bot's name at its start, and whether it mentions the bot.
func slackWords(text, bot string) (string, bool) {
	name := "<@" + bot
	mentioned := bot != "" && (strings.Contains(text, name+">") || strings.Contains(text, name+"|"))
	text = strings.TrimSpace(text)
	if mentioned && strings.HasPrefix(text, name) {
		_, text, _ = strings.Cut(text, ">")
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<")
		b.WriteString(before)
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, ">")
		if !closed {
			b.WriteString("<" + rest)
			break
		}
		b.WriteString(slackReference(inside))
		text = after
	}
	return strings.TrimSpace(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(b.String())), mentioned
}

// slackReference returns the text between < and >.
func slackReference(s string) string {
	target, label, labelled := strings.Cut(s, "|")
	switch {
	case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"):
		if labelled && label != "" {
			return target[:1] + label
		}
		return target
	case strings.HasPrefix(target, "!"):
		if labelled && label != "" {
			return label
		}
		return "@" + target[1:]
	case labelled && label != target && !strings.HasSuffix(target, "//"+label):
		return label + " (" + target + ")"
	}
	return target
}
