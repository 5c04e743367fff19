package takeout_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/takeout"
)

// chatGPT has two answers to one question, a hidden message, a tool that draws, and marks of sources.
const chatGPT = `[{"id":"c1","title":"Bees","create_time":1700000000.5,"update_time":1700000100,"current_node":"a2","mapping":{
 "root":{"parent":null,"message":null},
 "s":{"parent":"root","message":{"author":{"role":"system"},"content":{"content_type":"text","parts":["be nice"]},"metadata":{"is_visually_hidden_from_conversation":true}}},
 "q":{"parent":"s","message":{"author":{"role":"user"},"create_time":1700000001,"content":{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer","asset_pointer":"file-service://file-Ab1"},"What is this?"]},"metadata":{"attachments":[{"id":"file-Ab1","name":"bee.png"},{"id":"file-Gone2","name":"notes.pdf"}]}}},
 "a1":{"parent":"q","message":{"author":{"role":"assistant"},"recipient":"all","content":{"content_type":"text","parts":["A wasp."]},"metadata":{"model_slug":"gpt-4o"}}},
 "t":{"parent":"q","message":{"author":{"role":"assistant"},"recipient":"dalle.text2im","content":{"content_type":"text","parts":["{}"]},"metadata":{}}},
 "d":{"parent":"t","message":{"author":{"role":"tool"},"recipient":"all","content":{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer","asset_pointer":"sediment://file_0f"}]},"metadata":{}}},
 "a2":{"parent":"d","message":{"author":{"role":"assistant"},"recipient":"all","content":{"content_type":"text","parts":["A bee.\ue200cite\ue202turn0\ue201"]},"metadata":{"model_slug":"gpt-5"}}}}}]`

const claude = `[{"uuid":"u1","name":"Tea","created_at":"2025-01-02T03:04:05.6Z","updated_at":"2025-01-03T00:00:00Z","chat_messages":[
 {"uuid":"m1","sender":"human","text":"Which tea?","content":[],"created_at":"2025-01-02T03:04:06Z","attachments":[{"file_name":"list.pdf","extracted_content":"green, black"}],"files":[{"file_name":"cup.jpg"}]},
 {"uuid":"m2","sender":"assistant","text":"old","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Green."},{"type":"tool_use"},{"type":"text","text":"Or black."}]}]}]`

const openWebUI = `[{"id":"w1","title":"Rain","updated_at":1710000100,"created_at":1710000000,"chat":{"models":["llama"],"history":{"currentId":"3","messages":{
 "1":{"id":"1","parentId":null,"role":"user","content":"Will it rain?","timestamp":1710000001,"files":[{"type":"image","url":"data:image/png;base64,aGVsbG8="}]},
 "2":{"id":"2","parentId":"1","role":"assistant","content":"No.","model":"llama"},
 "3":{"id":"3","parentId":"1","role":"assistant","content":"<details type=\"reasoning\" done=\"true\">\nclouds\n</details>\nYes.","model":"llama3"}}}}}]`

func read(t testing.TB, data []byte) ([]*takeout.Conversation, takeout.Unreadable, error) {
	t.Helper()
	var all []*takeout.Conversation
	bad, err := takeout.Read(t.Context(), bytes.NewReader(data), int64(len(data)), func(c *takeout.Conversation) error {
		all = append(all, c)
		return nil
	})
	return all, bad, err
}

// tell is a conversation as one text.
func tell(t testing.TB, c *takeout.Conversation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %q %s %d\n", c.App, c.ID, c.Title, c.Created.Format("2006-01-02 15:04:05"), c.Branches)
	for _, m := range c.Messages {
		fmt.Fprintf(&b, "%v %q %s", m.Human, m.Text, m.Model)
		for _, f := range m.Files {
			content := "-"
			if f.Open != nil {
				r := must.Get(f.Open())(t)
				data, err := io.ReadAll(r)
				if err != nil || r.Close() != nil {
					t.Fatal(err)
				}
				content = string(data)
			}
			fmt.Fprintf(&b, " [%s: %s]", f.Name, content)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func archive(t testing.TB, files ...string) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, z.Close())
	return buf.Bytes()
}

func TestExportsBecomeConversations(t *testing.T) {
	gpt := archive(t, "user.json", "{}", "export/conversations-000.json", chatGPT, "file-Ab1-bee.png", "PNG", "file_0f.dat", "DRAWN",
		"conversation_asset_file_names.json", `{"file_0f.dat":"hive.webp"}`)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"ChatGPT": {gpt, `chatgpt c1 "Bees" 2023-11-14 22:13:20 1
true "What is this?"  [bee.png: PNG] [notes.pdf: -]
false "A bee." gpt-5 [hive.webp: DRAWN]
`},
		"Claude": {archive(t, "conversations.json", claude, "projects.json", "[]"), `claude u1 "Tea" 2025-01-02 03:04:05 0
true "Which tea?"  [list.pdf.txt: green, black] [cup.jpg: -]
false "Green.\n\nOr black." 
`},
		"Open WebUI": {[]byte(openWebUI), `open-webui w1 "Rain" 2024-03-09 16:00:00 1
true "Will it rain?"  [image.png: hello]
false "Yes." llama3
`},
		"one chat": {[]byte(" " + strings.Trim(openWebUI, "[]")), `open-webui w1 "Rain" 2024-03-09 16:00:00 1
true "Will it rain?"  [image.png: hello]
false "Yes." llama3
`},
	} {
		all, bad, err := read(t, c.data)
		if err != nil || bad.Count > 0 || len(all) != 1 {
			t.Errorf("%s: %d conversations, %d unreadable, %v", name, len(all), bad.Count, err)
			continue
		}
		if got := tell(t, all[0]); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestOneBrokenChatLeavesTheOthers(t *testing.T) {
	data := `[{"mapping":{"a":3},"title":"odd"},` + strings.Trim(claude, "[") // its list goes on
	all, bad, err := read(t, []byte(data))
	if err != nil || len(all) != 1 || bad.Count != 1 || bad.Title != "odd" {
		t.Errorf("%d conversations, %+v, %v", len(all), bad, err)
	}
}

func TestWhatIsNoExportIsRefused(t *testing.T) {
	circle := `[{"id":"c","current_node":"a","mapping":{"a":{"parent":"b","message":null},"b":{"parent":"a","message":null}}}]`
	if all, _, err := read(t, []byte(circle)); err != nil || len(all) != 1 || len(all[0].Messages) != 0 {
		t.Errorf("circle: %d %v", len(all), err)
	}
	whole := archive(t, "conversations.json", claude)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":     {nil, takeout.ErrFormat},
		"text":      {[]byte("hello"), takeout.ErrFormat},
		"number":    {[]byte("3"), takeout.ErrFormat},
		"other":     {[]byte(`[{"a":1},{"b":2}]`), takeout.ErrFormat},
		"object":    {[]byte(`{"a":1}`), takeout.ErrFormat},
		"other zip": {archive(t, "a.txt", "x"), takeout.ErrFormat},
		"cut":       {[]byte(claude[:len(claude)-1] + `,{"uuid":"u2","chat_`), takeout.ErrDamaged},
		"cut zip":   {whole[:len(whole)/2], takeout.ErrDamaged},
	} {
		if _, _, err := read(t, c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endless is JSON of one conversation that never ends.
type endless struct{}

func (endless) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	const head = `[{"title":"`
	if off < int64(len(head)) {
		copy(p, head[off:])
	}
	return len(p), nil
}

func TestAConversationIsBounded(t *testing.T) {
	_, err := takeout.Read(t.Context(), endless{}, 1<<40, func(*takeout.Conversation) error { return nil })
	if !errors.Is(err, takeout.ErrTooLarge) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{chatGPT, claude, openWebUI, "[", `{"mapping":{}}`} {
		f.Add([]byte(s))
	}
	f.Add(archive(f, "conversations.json", chatGPT, "file-Ab1-bee.png", "PNG"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = takeout.Read(t.Context(), bytes.NewReader(data), int64(len(data)), func(c *takeout.Conversation) error {
			if c.App == "" {
				t.Error("a conversation of no app")
			}
			return nil
		})
	})
}

func TestTooManyElementsLeaveTheOtherChats(t *testing.T) {
	for name, c := range map[string]string{
		"messages":    `{"uuid":"u","name":"many","chat_messages":[{}` + strings.Repeat(",{}", 20_000) + `]}`,
		"attachments": `{"uuid":"u","name":"many","chat_messages":[{"attachments":[{}` + strings.Repeat(",{}", 100) + `]}]}`,
		"files":       `{"id":"u","title":"many","chat":{"messages":[{"Files":[{}` + strings.Repeat(",{}", 100) + `]}]}}`,
		"parts":       `{"id":"u","title":"many","mapping":{"a":{"message":{"content":{"parts":[1` + strings.Repeat(",1", 20_000) + `]}}}}}`,
	} {
		all, bad, err := read(t, []byte("["+c+","+strings.Trim(claude, "[")))
		if err != nil || len(all) != 1 || bad.Count != 1 || bad.Title != "many" {
			t.Errorf("%s: %d conversations, %+v, %v", name, len(all), bad, err)
		}
	}
}

func TestAFileIsGivenOnceToAConversation(t *testing.T) {
	a := `{"id":"file-Ab1","name":"bee.png"}`
	all, _, err := read(t, archive(t, "conversations.json", strings.Replace(chatGPT, a, a+strings.Repeat(","+a, 9), 1), "file-Ab1-bee.png", "PNG"))
	if err != nil || len(all) != 1 {
		t.Fatal(len(all), err)
	}
	if got := tell(t, all[0]); strings.Count(got, "[bee.png: PNG]") != 1 || strings.Count(got, "[bee.png: -]") != 9 {
		t.Error(got)
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := takeout.Read(ctx, strings.NewReader(claude), int64(len(claude)), func(*takeout.Conversation) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// lines is JSON of a conversation that is one long text of line ends.
type lines struct{ size int64 }

func (l lines) ReadAt(p []byte, at int64) (int, error) {
	if at >= l.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), l.size-at)
	for i := range n {
		switch at := at + i; {
		case at < 2:
			p[i] = "[\""[at]
		case at >= l.size-2:
			p[i] = "\"]"[at-l.size+2]
		default:
			p[i] = `\n`[at%2]
		}
	}
	return int(n), nil
}

// TestLongTextsAreReadOnce: each byte is looked at once, whatever is escaped. Reading ahead to the end of a text behind every
// escape would take minutes.
func TestLongTextsAreReadOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	long := lines{48 << 20}
	bad, err := takeout.Read(ctx, long, long.size, func(*takeout.Conversation) error { return nil })
	if ctx.Err() != nil || bad.Large != 1 && !errors.Is(err, takeout.ErrTooLarge) {
		t.Errorf("%+v, %v", bad, err)
	}
}
