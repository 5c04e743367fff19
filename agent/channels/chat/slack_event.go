package chat

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

type slackCallback struct {
	EventID string `json:"event_id"`
	Event   struct {
		Type        string `json:"type"`
		Subtype     string `json:"subtype"`
		Channel     string `json:"channel"`
		ChannelType string `json:"channel_type"`
		User        string `json:"user"`
		Bot         string `json:"bot_id"`
		Team        string `json:"team"`
		Text        string `json:"text"`
		TS          string `json:"ts"`
		Thread      string `json:"thread_ts"`
		ParentUser  string `json:"parent_user_id"`
		Files       []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
			Type string `json:"mimetype"`
			Size int64  `json:"size"`
		} `json:"files"`
	} `json:"event"`
}

// update is false for what nobody wrote to the bot. A mention comes as two events, which have one id.
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
	for _, f := range e.Files {
		u.Files = append(u.Files, FileRef{ID: f.ID, Name: f.Name, Type: f.Type, Size: f.Size})
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
	return u, u.Text != "" || len(u.Files) > 0 || u.Mentioned
}

func slackTime(ts string) time.Time {
	sec, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(sec, 10, 64)
	if err != nil {
		return time.Now()
	}
	return time.Unix(n, 0)
}

// slackWords is a text as people see it, without the bot's name at its start, and whether it names the bot.
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

// slackReference is what stands between < and >.
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
