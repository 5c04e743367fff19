package channels

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fawn/agent/runs"
	"fawn/store"
)

// awaitRun waits for the end of a run whose answer is sent in one piece, reading the store. The error explains why it
// can't be read.
func (d *delivery) awaitRun(ctx context.Context) error {
	if d.to.Failed != "" {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ans.status, d.ans.failed = runs.Failed, d.to.Failed
		return errEnded
	}
	run, err := d.b.h.cfg.Runs.Wait(ctx, d.run)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return errRemoved
	case err == nil && !runs.Done(run.Status): // the server is stopping
		return runs.ErrClosed
	}
	return err
}

// line waits until earlier answers have been sent. It takes its place only when it's complete, since other answers
// would wait for it.
func (d *delivery) line(ctx context.Context, over chan struct{}) error {
	if d.to.Whole {
		select {
		case <-d.read:
		case <-ctx.Done():
			return ctx.Err()
		}
		d.b.mu.Lock()
		d.before = d.b.tails[d.at]
		d.b.tails[d.at] = over
		d.b.mu.Unlock()
	}
	if d.before == nil {
		return nil
	}
	select {
	case <-d.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// titled returns the text of a complete message: a task's has its title above it, and a failed task is one line.
func (d *delivery) titled(text string, v view) string {
	if d.to.Title == "" {
		return join(text, v.ending)
	}
	if v.ending == "" {
		return "**" + escape(d.to.Title) + "**\n\n" + text
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ans.status == runs.Interrupted {
		return fmt.Sprintf(d.words().taskStopped, escape(d.to.Title))
	}
	return fmt.Sprintf(d.words().taskFailed, escape(d.to.Title), escape(oneLine(d.ans.failed, d.words())))
}

// oneLine returns the beginning of a reason, as one line with a full stop.
func oneLine(why string, say words) string {
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	if why = strings.TrimSpace(why); why == "" {
		why = say.noReason
	}
	if len(why) > longestFailure {
		why = strings.ToValidUTF8(why[:longestFailure], "") + "…"
	}
	return say.ended(why)
}

// escape escapes text for Markdown.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// remembered maps a message to a thread, so that a reply continues there.
func (d *delivery) remembered(message string) []store.ChannelChat {
	if l := d.b.channel().Limits(); message == "" || !l.CanEdit && !l.Keyed {
		return nil // other platforms don't report the message replied to
	}
	return []store.ChannelChat{{Provider: d.b.provider, Chat: d.at.chat, Topic: message, Alias: message,
		Thread: d.to.Thread, Owner: d.to.Owner, Kind: kindResult}}
}

// repliesTo returns the thread of the result that a message replies to, if it belongs to the sender's account.
func (l *line) repliesTo(ctx context.Context, a *admitted) (string, error) {
	if a.who.limited() {
		return "", nil
	}
	for _, message := range a.u.Under {
		c, err := l.b.h.cfg.DB.ChannelChat(ctx, l.b.provider, a.u.Chat, message)
		switch {
		case missing(err):
		case err != nil:
			return "", err
		case c.Kind == kindResult && c.Owner == a.who.owner:
			return c.Thread, nil
		}
	}
	return "", nil
}
