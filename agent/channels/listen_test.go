package channels_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fawn/agent/channels/chat"
)

// TestVoiceMessagesAreTranscribed: what is said is the message; where that can't be found out, the agent is told why.
func TestVoiceMessagesAreTranscribed(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url), listen: func(_ context.Context, name string, audio io.Reader) (string, error) {
		b, err := io.ReadAll(audio)
		switch {
		case err != nil:
			return "", err
		case strings.HasPrefix(name, "broken"):
			return "", errors.New("no model answers")
		case strings.HasPrefix(name, "silent"):
			return " ", nil
		}
		return fmt.Sprintf(" %s of %d bytes ", name, len(b)), nil
	}})
	voice := func(name string) chat.Update {
		return chat.Update{Unread: chat.Voice, Voice: &chat.FileRef{ID: "v", Name: name}}
	}
	p.write(said("ada", voice("../hello")))
	p.await(t, "ada", "re: hello.ogg of 13 bytes")
	p.write(said("bob", voice("broken.ogg")))
	p.await(t, "bob", "re: (Sent a voice message, but it could not be transcribed)")
	p.write(said("cyd", voice("silent.ogg")))
	p.await(t, "cyd", "re: (Sent a voice message, but nothing is said in it)")
	w.settled(t)
}
