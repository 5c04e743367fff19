package chat_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat/chattest"
	"fawn/web/e2e/gate"
)

// pythonWith makes an environment of Python that has packages of chattest/record/requirements.txt, and returns its
// interpreter.
func pythonWith(ctx context.Context, t *testing.T, packages ...string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("FAWN_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	list := must.Get(os.ReadFile(filepath.Join("chattest", "record", "requirements.txt")))(t)
	env := t.TempDir()
	install := []string{filepath.Join(env, "bin", "pip"), "install", "-q"}
	for line := range strings.Lines(string(list)) {
		if name, _, _ := strings.Cut(line, "=="); slices.Contains(packages, name) {
			install = append(install, strings.TrimSpace(line))
		}
	}
	if len(install) != len(packages)+3 {
		t.Fatalf("requirements.txt lacks one of %q", packages)
	}
	for _, args := range [][]string{{python, "-m", "venv", env}, install} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	return filepath.Join(env, "bin", "python")
}

// said is what an SDK read of a message.
type said struct {
	ID, Kind, Sender, Chat, Text, Topic, Event string
	Group, Mentioned                           bool
}

// TestTheSDKsReadTheStandIns has the SDKs of the platforms without a published description connect to the stand-ins in
// place of the adapters: they open the connection, answer its frames, and read each sample of an event.
func TestTheSDKsReadTheStandIns(t *testing.T) {
	gate.In(t, gate.Cluster, "it installs three SDKs from PyPI")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	python := pythonWith(ctx, t, "lark-oapi", "dingtalk-stream", "wecom-aibot-sdk")
	credentials := map[string][2]string{"feishu": {chattest.FeishuApp, chattest.FeishuSecret},
		"dingtalk": {chattest.DingTalkClient, chattest.DingTalkSecret}, "wecom": {chattest.WeComBot, chattest.WeComSecret}}
	for _, app := range eventsOf() {
		with, ok := credentials[app.name]
		if !ok {
			continue
		}
		t.Run(app.name, func(t *testing.T) {
			s := app.setup(t)
			var errors bytes.Buffer
			sdk := exec.CommandContext(ctx, python, filepath.Join("chattest", "record", "hear.py"), app.name,
				s.Fake.State().URL, with[0], with[1])
			sdk.Stderr = &errors
			out, err := sdk.StdoutPipe()
			if err == nil {
				err = sdk.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := make(chan said)
			go func() {
				defer close(lines)
				for scan := bufio.NewScanner(out); scan.Scan(); {
					var one said
					if json.Unmarshal(scan.Bytes(), &one) != nil { // the logger of an SDK writes to it, too
						continue
					}
					lines <- one
				}
			}()
			defer func() {
				_ = sdk.Process.Kill()
				for range lines {
				}
				_ = sdk.Wait()
			}()
			next := func(what string) said {
				select {
				case one, ok := <-lines:
					if ok {
						return one
					}
				case <-time.After(time.Minute):
				}
				_ = sdk.Process.Kill()
				_ = sdk.Wait()
				t.Fatalf("%s was not read:\n%s", what, errors.String())
				return said{}
			}
			seen := map[string]bool{}
			check := func(what string, one, want said) {
				if one.ID == "" || one.Event == "" || seen[one.ID] {
					t.Errorf("%s: %+v", what, one)
				}
				seen[one.ID] = true
				one.ID, one.Event = "", ""
				if !want.Mentioned { // a name in the text counts as well
					one.Mentioned = false
				}
				if one != want {
					t.Errorf("%s is read as %+v, want %+v", what, one, want)
				}
			}
			private := s.Fake.Chat(s.Person)
			if app.name == "dingtalk" { // which has an id of its own for it
				private = "cid" + s.Person
			}
			for _, c := range app.samples {
				over := c.fields(t)
				s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "plain", Over: over})
				one := next(c.name)
				kind := "text"
				for _, field := range []string{"msgtype", "message_type"} {
					if v, ok := over[field].(string); ok {
						kind = v
					}
				}
				check(c.name, one, said{Kind: kind, Sender: s.Person, Chat: private, Text: one.Text})
			}
			s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "a file", File: &chattest.Sent{Name: "a.txt", Data: []byte("x")}})
			check("a file", next("a file"), said{Kind: "file", Sender: s.Person, Chat: private})
			s.Fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: "long " + strings.Repeat("in parts ", 100)})
			one := next("a long one")
			check("a long one", one, said{Kind: "text", Sender: s.Person, Chat: private, Text: one.Text})
			s.Fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Name: "Ada", Text: "together", Mention: true})
			one = next("a mention")
			if !strings.HasSuffix(one.Text, "together") {
				t.Errorf("a mention has the text %q", one.Text)
			}
			check("a mention", one, said{Kind: "text", Sender: s.Person, Chat: s.Group, Text: one.Text, Group: true, Mentioned: true})
			if !s.Unconfirmed { // the SDK's answers are understood as well
				s.Fake.State().WaitConfirmed("together")
			}
		})
	}
}
