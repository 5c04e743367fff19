package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

// heard is the part of an update that a sample is judged by. Nothing is no update at all.
type heard struct {
	Text, Quote, Forwarded string
	Files                  string // names
	Voice                  string // name of the recording
	Unread                 chat.Content
	Mentioned, Stops       bool
	Nothing                bool
}

func heardOf(u chat.Update) heard {
	var names []string
	for _, f := range u.Files {
		names = append(names, f.Name)
	}
	voice := ""
	if u.Voice != nil {
		voice = u.Voice.Name
	}
	return heard{Text: u.Text, Voice: voice, Quote: u.Quote, Forwarded: u.Forwarded, Files: strings.Join(names, " "), Unread: u.Unread,
		Mentioned: u.Mentioned, Stops: u.Stops}
}

// events are samples of what a platform sends, among them fields that no adapter knows.
type events struct {
	name    string
	setup   func(t *testing.T) chattest.Setup
	samples []sample
}

var nothing = heard{Nothing: true}

func eventsOf() []events {
	return append([]events{
		{"telegram", func(t *testing.T) chattest.Setup { _, s := telegram(t); return s }, []sample{
			{"unknown fields", `{"text":"a","of_tomorrow":{"x":[1]},"effect_id":"5"}`, heard{Text: "a"}},
			{"forwarded by a person", `{"text":"a","forward_origin":{"type":"user","date":1,"sender_user":{"id":9,"is_bot":false,"first_name":"Bob"}}}`,
				heard{Text: "a", Forwarded: "Bob"}},
			{"forwarded from a hidden person", `{"text":"a","forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Eve"}}`,
				heard{Text: "a", Forwarded: "Eve"}},
			{"forwarded from a channel", `{"text":"a","forward_origin":{"type":"channel","date":1,"message_id":2,"chat":{"id":-1,"type":"channel","title":"News"}}}`,
				heard{Text: "a", Forwarded: "News"}},
			{"a reply with its message", `{"text":"a","reply_to_message":{"message_id":2,"date":1,"text":"said","chat":{"id":4711,"type":"private"},"from":{"id":9,"is_bot":false,"first_name":"Bob"}}}`,
				heard{Text: "a", Quote: "said"}},
			{"a reply to a part", `{"text":"a","quote":{"text":"part","position":3,"is_manual":true},"reply_to_message":{"message_id":2,"date":1,"text":"a part of it","chat":{"id":4711,"type":"private"},"from":{"id":110201543,"is_bot":true,"first_name":"Fawn"}}}`,
				heard{Text: "a", Quote: "part", Mentioned: true}},
			{"a part of a media group", `{"text":null,"media_group_id":"7","photo":[{"file_id":"p","file_unique_id":"u","width":1,"height":1,"file_size":3}],"message_id":77}`,
				heard{Files: "photo-77.jpg"}},
			{"a file without a name", `{"text":null,"message_id":78,"document":{"file_id":"d","file_unique_id":"u"}}`, heard{Files: "document-78"}},
			{"a sticker", `{"text":null,"sticker":{"file_id":"s","file_unique_id":"u","type":"regular","width":1,"height":1,"is_animated":false,"is_video":false,"emoji":"👍"}}`,
				heard{Unread: chat.Sticker}},
			{"a voice message", `{"text":null,"message_id":80,"voice":{"file_id":"v","file_unique_id":"u","duration":3}}`, heard{Unread: chat.Voice, Voice: "voice-80.ogg"}},
			{"a voice message with words", `{"text":null,"message_id":79,"caption":"a","voice":{"file_id":"v","file_unique_id":"u","duration":3}}`,
				heard{Text: "a", Files: "voice-79.ogg"}},
			{"dice", `{"text":null,"dice":{"emoji":"🎲","value":4}}`, heard{Unread: chat.Other}},
			{"a place", `{"text":null,"location":{"latitude":52.5,"longitude":13.25}}`, heard{Text: "Location: 52.500000, 13.250000"}},
			{"a contact", `{"text":null,"contact":{"first_name":"Bob","phone_number":"+49 30 1"}}`, heard{Text: "Contact: Bob +49 30 1"}},
			{"a poll", `{"text":null,"poll":{"id":"1","question":"Which?","options":[{"persistent_id":"1","text":"this","voter_count":0}],"total_voter_count":0,"is_closed":false,"is_anonymous":true,"type":"regular","allows_multiple_answers":false}}`,
				heard{Text: "Which?\n- this"}},
			{"another bot", `{"text":"a","from":{"id":8,"is_bot":true,"first_name":"Other"}}`, nothing},
			{"a join", `{"text":null,"new_chat_members":[{"id":8,"is_bot":false,"first_name":"Bob"}]}`, nothing},
			{"a chat that becomes a supergroup", `{"text":null,"migrate_to_chat_id":-1005}`, nothing},
			{"an anonymous admin", `{"text":"a","from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":{"id":-1,"type":"supergroup","title":"G"}}`, nothing},
		}},
		{"slack", func(t *testing.T) chattest.Setup { _, s := slack(t); return s }, []sample{
			{"unknown fields", `{"text":"a","of_tomorrow":1,"blocks":[{"type":"rich_text","block_id":"x","elements":[]}]}`, heard{Text: "a"}},
			{"an edit", `{"subtype":"message_changed","hidden":true,"message":{"type":"message","text":"b","user":"U1","ts":"1.2"},"previous_message":{"type":"message","text":"a"}}`, nothing},
			{"a deletion", `{"subtype":"message_deleted","hidden":true,"deleted_ts":"1.2","previous_message":{"type":"message","text":"a"}}`, nothing},
			{"a join", `{"subtype":"channel_join","text":"<@U4711> has joined","inviter":"U2"}`, nothing},
			{"another app", `{"text":"a","bot_id":"B2","bot_profile":{"id":"B2"}}`, nothing},
			{"forwarded", `{"text":"look","attachments":[{"is_share":true,"is_msg_unfurl":true,"author_name":"Bob","text":"said &amp; done","fallback":"x","from_url":"https://x.slack.com/archives/C1/p1"}]}`,
				heard{Text: "look\n\nsaid & done", Forwarded: "Bob"}},
			{"forwarded without words", `{"text":"","attachments":[{"is_share":true,"text":"said"}]}`, heard{Text: "said", Forwarded: "somebody"}},
			{"a link that unfolds", `{"text":"see <https://e.org>","attachments":[{"title":"E","text":"a page","from_url":"https://e.org"}]}`, heard{Text: "see https://e.org"}},
			{"to the channel as well", `{"subtype":"thread_broadcast","text":"a","thread_ts":"1.2","root":{"type":"message","ts":"1.2","text":"r"}}`, heard{Text: "a"}},
			{"an action", `{"subtype":"me_message","text":"waves"}`, heard{Text: "waves"}},
			{"a file without a name", `{"subtype":"file_share","text":"","files":[{"name":null,"title":null}]}`, heard{Files: "file-F1"}},
			{"a file that is hidden in a shared channel", `{"subtype":"file_share","text":"","files":[{"file_access":"check_file_info","name":null,"title":null}]}`, heard{Files: "file-F1"}},
			{"a file that was deleted", `{"subtype":"file_share","text":"a","files":[{"mode":"tombstone"}]}`, heard{Text: "a"}},
			{"a voice clip", `{"subtype":"file_share","text":"","files":[{"subtype":"slack_audio","transcription":{"status":"processing"}}]}`, heard{Unread: chat.Voice, Voice: "a.txt"}},
			{"a voice clip that Slack wrote down", `{"subtype":"file_share","text":"","files":[{"subtype":"slack_audio","transcription":{"status":"complete","preview":{"content":"hello","has_more":false}}}]}`,
				heard{Text: "hello"}},
			{"somebody of another workspace", `{"text":"a","user":"U0OTHER","user_team":"T2","source_team":"T2","team":"T2"}`, heard{Text: "a"}},
		}},
		{"discord", func(t *testing.T) chattest.Setup { _, s := discord(t, false); return s }, []sample{
			{"unknown fields", `{"content":"a","of_tomorrow":1,"guild_id":"1","member":{"roles":[],"joined_at":"2026-01-01T00:00:00Z"}}`, heard{Text: "a"}},
			{"a reply", `{"content":"a","type":19,"message_reference":{"type":0,"channel_id":"1","message_id":"2"},"referenced_message":{"author":{"id":"9","username":"bob"},"content":"said"}}`,
				heard{Text: "a", Quote: "said"}},
			{"a reply to a deleted message", `{"content":"a","type":19,"message_reference":{"type":0,"channel_id":"1","message_id":"2"},"referenced_message":{"author":{"id":""}}}`, heard{Text: "a"}},
			{"forwarded", `{"content":"","flags":16384,"message_reference":{"type":1,"channel_id":"1","message_id":"2"},"message_snapshots":[{"message":{"type":0,"content":"said","mentions":[],"mention_roles":[],"embeds":[],"timestamp":"2026-01-01T00:00:00Z","edited_timestamp":null,"flags":0,"components":[],"attachments":[{"id":"7","filename":"a.txt","size":1,"url":"https://cdn.discordapp.com/a","proxy_url":"https://media.discordapp.net/a"}]}}]}`,
				heard{Text: "said", Forwarded: "somebody", Files: "a.txt"}},
			{"a sticker", `{"content":"","sticker_items":[{"id":"1","name":"wave","format_type":1}]}`, heard{Unread: chat.Sticker}},
			{"a voice message", `{"content":"","flags":8192,"attachments":[{"id":"7","filename":"voice-message.ogg","size":1,"url":"https://cdn.discordapp.com/a","proxy_url":"https://media.discordapp.net/a","duration_secs":1,"waveform":"AA"}]}`,
				heard{Unread: chat.Voice, Voice: "voice-message.ogg"}},
			{"a poll", `{"content":"","poll":{"question":{"text":"Which?"},"answers":[{"answer_id":1,"poll_media":{"text":"this"}}]}}`, heard{Text: "Which?\n- this"}},
			{"another bot", `{"content":"a","author":{"bot":true}}`, nothing},
			{"a webhook", `{"content":"a","webhook_id":"5"}`, nothing},
			{"a member joins", `{"content":"","type":7}`, nothing},
			{"a thread begins", `{"content":"","type":21}`, nothing},
		}},
		{"feishu", func(t *testing.T) chattest.Setup { _, s := feishu(t); return s }, []sample{
			{"unknown fields", `{"content":"{\"text\":\"a\",\"of_tomorrow\":1}","update_time":"1","thread_id":"omt_1","user_agent":"x"}`, heard{Text: "a"}},
			{"a post", `{"message_type":"post","content":"{\"title\":\"T\",\"content\":[[{\"tag\":\"text\",\"text\":\"a \",\"style\":[\"bold\"]},{\"tag\":\"a\",\"text\":\"l\",\"href\":\"https://e.org\"}],[{\"tag\":\"img\",\"image_key\":\"img_1\"}],[{\"tag\":\"emotion\",\"emoji_type\":\"OK\"}]]}"}`,
				heard{Text: "T\na l (https://e.org)", Files: "img_1.png"}},
			{"a file without a name", `{"message_type":"file","content":"{\"file_key\":\"file_1\"}"}`, heard{Files: "file_1"}},
			{"a sticker", `{"message_type":"sticker","content":"{\"file_key\":\"s\"}"}`, heard{Unread: chat.Sticker}},
			{"a voice message", `{"message_type":"audio","content":"{\"file_key\":\"v\",\"duration\":2000}"}`, heard{Unread: chat.Voice, Voice: "v.ogg"}},
			{"a place", `{"message_type":"location","content":"{\"name\":\"Gate\",\"longitude\":\"13.2\",\"latitude\":\"52.5\"}"}`, heard{Text: "Location: Gate (52.5, 13.2)"}},
			{"forwarded together", `{"message_type":"merge_forward","content":"Merged and Forwarded Message"}`, heard{Unread: chat.Other}},
			{"a card", `{"message_type":"interactive","content":"{\"title\":\"x\"}"}`, heard{Unread: chat.Other}},
			{"the system", `{"message_type":"system","content":"{\"template\":\"x\"}"}`, nothing},
		}},
		{"dingtalk", func(t *testing.T) chattest.Setup { _, s := dingTalk(t); return s }, []sample{
			{"unknown fields", `{"of_tomorrow":1,"senderPlatform":"Mac","text":{"content":" a "}}`, heard{Text: "a"}},
			{"a reply", `{"text":{"content":"a","isReplyMsg":true,"repliedMsg":{"msgType":"text","content":{"text":"said"}}}}`, heard{Text: "a", Quote: "said"}},
			{"a reply to a picture", `{"text":{"content":"a","isReplyMsg":true,"repliedMsg":{"msgType":"picture","content":{"downloadCode":"c"}}}}`, heard{Text: "a"}},
			{"a voice message that DingTalk wrote down", `{"msgtype":"audio","text":null,"content":{"duration":4000,"downloadCode":"c","recognition":"hello"}}`, heard{Text: "hello"}},
			{"a voice message", `{"msgtype":"audio","text":null,"content":{"duration":4000,"downloadCode":"c"}}`, heard{Unread: chat.Voice}},
			{"a video", `{"msgtype":"video","text":null,"content":{"duration":"3","downloadCode":"c","videoType":"mp4"}}`, heard{Files: "video-1.mp4"}},
			{"pictures and words", `{"msgtype":"richText","text":null,"content":{"richText":[{"text":"a"},{"type":"picture","downloadCode":"c"},{"text":"b"}]}}`, heard{Text: "ab", Files: "picture-1.png"}},
			{"a file without a name", `{"msgtype":"file","text":null,"content":{"downloadCode":"c"}}`, heard{Files: "file"}},
			{"forwarded together", `{"msgtype":"chatRecord","text":null,"content":{"summary":"x"}}`, heard{Unread: chat.Other}},
			{"a kind that robots are not told", `{"msgtype":"unknownMsgType","text":null,"content":{"unknownMsgType":"x"}}`, heard{Unread: chat.Other}},
		}},
		{"wecom", func(t *testing.T) chattest.Setup { _, s := weCom(t); return s }, []sample{
			{"unknown fields", `{"of_tomorrow":1,"response_url":"https://qyapi.weixin.qq.com/x"}`, heard{Text: "plain"}},
			{"a reply", `{"quote":{"msgtype":"text","text":{"content":"said"}}}`, heard{Text: "plain", Quote: "said"}},
			{"a voice message, which WeCom writes down", `{"msgtype":"voice","text":null,"voice":{"content":"hello"}}`, heard{Text: "hello"}},
			{"a voice message without words", `{"msgtype":"voice","text":null,"voice":{"content":""}}`, heard{Unread: chat.Voice}},
			{"a video", `{"msgtype":"video","text":null,"video":{"url":"https://ww-aibot-img-1258476243.cos.ap-guangzhou.myqcloud.com/x","aeskey":"k"}}`, heard{Files: "video-1"}},
			{"pictures and words", `{"msgtype":"mixed","text":null,"mixed":{"msg_item":[{"msgtype":"text","text":{"content":"a"}},{"msgtype":"image","image":{"url":"https://x.myqcloud.com/i","aeskey":"k"}}]}}`,
				heard{Text: "a", Files: "image-1"}},
			{"a kind of tomorrow", `{"msgtype":"hologram","text":null,"hologram":{}}`, heard{Unread: chat.Other}},
		}},
	}, weChatEvents()...)
}

// TestEventsAreReadAsThePlatformsSendThem has each adapter read samples of events. Their over are the fields that differ
// from a plain message; the stand-ins check the whole against descriptions.
func TestEventsAreReadAsThePlatformsSendThem(t *testing.T) {
	for _, app := range eventsOf() {
		t.Run(app.name, func(t *testing.T) {
			t.Parallel()
			s := app.setup(t)
			in := chattest.NewInbox()
			run(t, s, in)
			for i, c := range app.samples {
				seen := len(in.Updates())
				s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "plain", Over: c.fields(t)})
				end := fmt.Sprint("end ", i)
				s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: end})
				in.WaitText(t, end)
				got := in.Updates()[seen:]
				switch {
				case c.want == nothing && len(got) == 1:
				case len(got) != 2 || got[0].Problem != "" || heardOf(got[0]) != c.want:
					t.Errorf("%s: %+v, want %+v", c.name, got[:len(got)-1], c.want)
				}
			}
		})
	}
}

type sample struct {
	name, over string
	want       heard
}

// fields reads the sample. Objects that platforms describe in full are completed by those of a stand-in.
func (c sample) fields(t *testing.T) map[string]any {
	var over map[string]any
	if err := json.Unmarshal([]byte(c.over), &over); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if list, ok := over["files"].([]any); ok { // Slack's
		for i, one := range list {
			whole := chattest.SlackFile("F1", "a.txt", 1)
			for k, v := range one.(map[string]any) {
				whole[k] = v
			}
			list[i] = whole
		}
	}
	if author, ok := over["author"].(map[string]any); ok { // Discord's
		whole := chattest.DiscordUser("8", "Other", false)
		for k, v := range author {
			whole[k] = v
		}
		over["author"] = whole
	}
	if m, ok := over["referenced_message"].(map[string]any); ok {
		author := m["author"].(map[string]any)
		id, _ := author["id"].(string)
		content, _ := m["content"].(string)
		over["referenced_message"] = chattest.DiscordMessage("2", "1", chattest.DiscordUser(id, "Bob", false), content)
		if id == "" {
			delete(over, "referenced_message")
		}
	}
	return over
}

// TestAReactionAsksToStop reads the reactions of the platforms that tell bots of them.
func TestAReactionAsksToStop(t *testing.T) {
	for name, setup := range map[string]func(t *testing.T) chattest.Setup{
		"telegram": func(t *testing.T) chattest.Setup { _, s := telegram(t); return s },
		"slack":    func(t *testing.T) chattest.Setup { _, s := slack(t); return s },
		"discord":  func(t *testing.T) chattest.Setup { _, s := discord(t, false); return s },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			in := chattest.NewInbox()
			ch := run(t, s, in)
			s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "question"})
			to := in.WaitText(t, "question").Address
			ref := must.Get(ch.Send(t.Context(), to, chat.Post{Text: "…", Key: "k", Grows: true}))(t)
			react := s.Fake.(interface {
				React(chat, person, message, emoji string)
			}).React
			react(to.Chat, s.Person, ref.Message, "👍")
			react(to.Chat, s.Person, ref.Message, "👎")
			s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "after"})
			in.WaitText(t, "after")
			all := in.Updates()
			if len(all) != 3 || !all[1].Stops || all[1].Message != ref.Message || all[1].Address != to ||
				all[1].Sender.ID != s.Person || all[1].Text != "" {
				t.Errorf("%+v", all)
			}
		})
	}
}
