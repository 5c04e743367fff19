package channels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"fawn/agent"
	"fawn/agent/channels/chat"
)

// maxVoice limits a voice message, in bytes: as much as transcription APIs take.
const maxVoice = 25 << 20

// listens reports whether a message is a voice message that can be transcribed now.
func (b *bot) listens(u chat.Update) bool {
	cfg := &b.h.cfg
	return u.Unread == chat.Voice && u.Voice != nil && cfg.Listen != nil && (cfg.Listens == nil || cfg.Listens())
}

// errLong ends the download of a voice message that is too large.
var errLong = errors.New("the voice message is too large")

// recording keeps a voice message up to its limit.
type recording struct{ bytes.Buffer }

func (r *recording) Write(p []byte) (int, error) {
	if r.Len()+len(p) > maxVoice {
		return 0, errLong
	}
	return r.Buffer.Write(p)
}

// listen transcribes a voice message. If that fails, the returned text says so for the agent to report; an error means
// try again.
func (t *turn) listen(ctx context.Context, u chat.Update) (string, error) {
	name := path.Base(strings.ReplaceAll(u.Voice.Name, "\\", "/"))
	if !strings.Contains(name, ".") {
		name += ".ogg"
	}
	var sound recording
	err := t.l.b.channel().Fetch(ctx, *u.Voice, &sound)
	text := ""
	if err == nil {
		text, err = t.l.b.h.cfg.Listen(ctx, name, &sound)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	reason := "nothing is said in it"
	switch {
	case errors.Is(err, errLong):
		reason = "it is too large"
	case err != nil:
		reason = "it could not be transcribed"
		t.l.b.h.cfg.Log.Warn("couldn't transcribe a voice message", "channel", t.l.b.provider, "err", err)
	}
	if text = strings.TrimSpace(agent.Head(strings.ToValidUTF8(text, ""), maxText)); text != "" {
		return text, nil
	}
	return fmt.Sprintf(unheard, reason), nil
}
