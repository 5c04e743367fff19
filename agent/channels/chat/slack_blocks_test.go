package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
	"fawn/web/e2e/gate"
)

// layouts are answers and the blocks that Slack shows them as.
func layouts() map[string][]string {
	table := "| name | size |\n|---|--:|\n| **a** | [1](https://e.org) |\n| `b` |\n"
	return map[string][]string{
		"just *words*\n\nand more": nil,
		"# Plan\n\nDo it.\n\n### Small\n\n- a\n- b <!channel>\n\n> quoted":      {"header", "section"},
		"Run:\n\n```sh\nls -l <a>\n```\n\nthen\n\n---\n\ndone":                  {"section", "rich_text", "section", "divider", "section"},
		table + "\nand\n\n" + table:                                             {"table", "section"},
		"| a |\n|---|\n" + strings.Repeat("| b |\n", 120):                       nil,
		strings.Repeat("| a ", 21) + "|\n" + strings.Repeat("|---", 21) + "|\n": nil,
		"# T\n\n" + strings.Repeat("a line of words\n", 200):                    {"header", "section", "section"},
		"# T\n\n" + strings.Repeat("x", 3500):                                   nil,
		strings.Repeat("---\n\n", 51):                                           nil,
		"# " + strings.Repeat("long ", 40) + "\n\n---":                          {"section", "divider"},
	}
}

func TestSlackLaysAnswersOut(t *testing.T) {
	fake, s := slack(t)
	ch := must.Get(s.New(chat.Options{BaseURL: fake.State().URL}))(t)
	to := chat.Address{Chat: "D1"}
	last := func() chattest.Shown { all := fake.State().Shown("D1"); return all[len(all)-1] }
	for text, want := range layouts() {
		if _, err := ch.Send(t.Context(), to, chat.Post{Text: text}); err != nil {
			t.Errorf("%.60q: %v", text, err)
		} else if got := last(); !slices.Equal(got.Blocks, want) || got.Text == "" {
			t.Errorf("%.60q is %q, want %q", text, got.Blocks, want)
		}
	}
	ref := must.Get(ch.Send(t.Context(), to, chat.Post{Text: "# T"}))(t)
	if err := ch.Edit(t.Context(), ref, chat.Post{Text: "words"}); err != nil || len(last().Blocks) > 0 {
		t.Errorf("%v, and the old blocks stay: %q", err, last().Blocks)
	}
	fake.State().Fail(chattest.Fault{Op: "edit", Kind: chattest.Unformatted}, chattest.Fault{Op: "send", Kind: chattest.Unformatted})
	if err := ch.Edit(t.Context(), ref, chat.Post{Text: "# T"}); err != nil || len(last().Blocks) > 0 || last().Text != "*T*" {
		t.Errorf("%v: refused blocks are %+v", err, last())
	}
	if _, err := ch.Send(t.Context(), to, chat.Post{Text: "---\n\nx"}); err != nil || len(last().Blocks) > 0 {
		t.Errorf("%v: refused blocks are %+v", err, last())
	}
}

// FuzzSlackBlocks: whatever they are made of, the stand-in finds nothing that the reference of Block Kit forbids.
func FuzzSlackBlocks(f *testing.F) {
	for text := range layouts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 || strings.TrimSpace(text) == "" {
			return
		}
		fake, s := slack(t)
		ch := must.Get(s.New(chat.Options{BaseURL: fake.State().URL}))(t)
		for _, p := range chat.Split(text, ch.Limits()) {
			if _, err := ch.Send(t.Context(), chat.Address{Chat: "D1"}, chat.Post{Text: p.Text}); err != nil {
				t.Errorf("%q: %v", p.Text, err)
			}
		}
	})
}

// TestSlackBlocksAreThoseOfItsSDK has the models of slack-sdk read and judge the blocks.
func TestSlackBlocksAreThoseOfItsSDK(t *testing.T) {
	gate.In(t, gate.Cluster, "it installs slack-sdk from PyPI")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	python := pythonWith(ctx, t, "slack-sdk")
	judge := exec.CommandContext(ctx, python, filepath.Join("chattest", "record", "blocks.py"))
	judge.Stdin = bytes.NewReader(blocksOf(t))
	if out, err := judge.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}

// blocksOf catches the blocks of all layouts, a list in each line.
func blocksOf(t *testing.T) []byte {
	var all bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Blocks json.RawMessage }
		if raw, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(raw, &body) != nil {
			t.Errorf("%v: %s", err, raw)
		}
		if len(body.Blocks) > 0 {
			all.Write(append(body.Blocks, '\n'))
		}
		_, _ = io.WriteString(w, `{"ok":true,"ts":"1.2"}`)
	}))
	defer server.Close()
	ch := must.Get(chat.NewSlack(chat.SlackConfig{BotToken: chattest.SlackBotToken, AppToken: chattest.SlackAppToken,
		Options: chat.Options{BaseURL: server.URL}}))(t)
	for text := range layouts() {
		must.Try(ch.Send(t.Context(), chat.Address{Chat: "D1"}, chat.Post{Text: text}))(t)
	}
	return all.Bytes()
}
