package ui

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"fawn/agent/llm"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/web/principal"
	"fawn/web/ui/chats"
	"fawn/web/ui/conversation"
	"fawn/web/ui/export"
)

// SetTick makes live pages change more often than people could see.
func (u *UI) SetTick(d time.Duration) { u.Tick = d }

// SetFeedMemory bounds what is kept for pages that read slowly, in bytes.
func (u *UI) SetFeedMemory(n int) { u.FeedMemory = n }

// SetWindow replaces what knows how much models read.
func (u *UI) SetWindow(window func(name, provider string) int) { u.Handlers.Window = window }

// SetDiscover replaces the look for model servers.
func (u *UI) SetDiscover(find func(context.Context) []llm.Found) { u.settings.Discover = find }

// SetFetch replaces what gets skills at an address.
func (u *UI) SetFetch(client *http.Client) { u.agents.Fetch = client }

// TurnsAt is the inside of element turns as a page at a cursor shows it.
func (u *UI) TurnsAt(ctx context.Context, thread, cursor string) (string, error) {
	run, seq, _ := conversation.ParseCursor(cursor)
	v, err := u.Load(principal.With(ctx, principal.Single(nil)), thread, run, seq, "")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = chat.TurnList(v.Page(v.Scene(false))).Render(i18n.With(ctx, i18n.English), &b)
	return b.String(), err
}

// SetTrashTime says how long deleted threads can be had back.
func (u *UI) SetTrashTime(d time.Duration) { u.chats.Keep = d }

// Excerpt is what a search shows of a message.
var Excerpt = chats.Excerpt

// ZipName is what a file is called in an archive.
var ZipName = export.ZipName
