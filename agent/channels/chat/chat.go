// Package chat holds the clients of chat apps: one adapter per platform, each a thin client of the platform's own API
// over connections that it opens itself. Adapters know neither threads nor runs nor the store, and none knows another;
// agent/channels connects them with runs. Begin with chat.go, the contract, then telegram.go, the simplest adapter.
package chat

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// A Channel is one bot on one platform. All methods are safe for concurrent use, and none of them retries: the type of
// an error tells how a call failed (Rate, Gone, Fatal; anything else may be tried again), and the caller decides.
type Channel interface {
	// Run connects, reads and reconnects until ctx ends or nothing can help without the owner (Fatal). It confirms an
	// update to the platform only after in.Take returned nil for it, and stops reading while Take fails or blocks.
	Run(ctx context.Context, in Inbox) error
	// Send posts a message. With the Key of an earlier call it returns the earlier message, where Limits.Keyed says so.
	Send(ctx context.Context, to Address, p Post) (Ref, error)
	// Edit replaces a message. An edit without differences isn't an error.
	Edit(ctx context.Context, at Ref, p Post) error
	// Upload posts a file. Key is as for Send.
	Upload(ctx context.Context, to Address, f File, key string) (Ref, error)
	// Typing shows a typing indicator for some seconds or until the answer arrives.
	Typing(ctx context.Context, to Address) error
	// Fetch writes the contents of a received file to w. It stops with w's error, which allows w to set a limit.
	Fetch(ctx context.Context, f FileRef, w io.Writer) error
	// Check signs in and returns the bot's identity.
	Check(ctx context.Context) (Me, error)
	// Limits returns the platform's limits. It needs no connection.
	Limits() Limits
}

// Known is a Channel that knows its bot's identity without signing in. Platforms that deliver each message once need
// it, because messages that arrive during Check would be lost.
type Known interface {
	Self() Me
}

// Attacher is a Channel that can add a file to an existing message, which may be repeated where Upload may not.
type Attacher interface {
	Attach(ctx context.Context, at Ref, f File) error
}

// An Inbox stores received updates.
type Inbox interface {
	// Take stores updates in order, together with the cursor's entries. They are durable when it returns nil. Known
	// updates are skipped, so an adapter may pass redelivered ones.
	Take(ctx context.Context, batch []Update, cursor map[string]string) error
	// Cursor returns the entry as last stored, empty if there is none. Keys are the adapter's own.
	Cursor(key string) string
	// Status reports that the connection is up (nil), or the reason for retrying.
	Status(err error)
}

// Update is a message written to the bot, or visible to it. Adapters omit messages of bots (including this one),
// edits, joins and the like. Of reactions they report only requests to stop.
type Update struct {
	ID      string      `json:"id"` // unique on this platform and the same when delivered again
	Address `json:"to"` // destination of an answer
	Message string      `json:"message"` // the platform's id of the message, for ReplyTo
	// Under lists the messages this one replies to, nearest first. In a group, a message under one of a known topic
	// belongs to that topic, regardless of Topic.
	Under     []string  `json:"under,omitempty"`
	Sender    Person    `json:"sender"`
	ChatName  string    `json:"chat_name,omitempty"` // title of the group
	Text      string    `json:"text,omitempty"`      // without the mention of the bot at its start
	Mentioned bool      `json:"mentioned,omitempty"` // mentions the bot, or answers one of its messages
	Files     []FileRef `json:"files,omitempty"`
	Album     string    `json:"album,omitempty"`     // shared by messages sent together
	Quote     string    `json:"quote,omitempty"`     // quoted text of the message it answers
	Forwarded string    `json:"forwarded,omitempty"` // original author of a forwarded message
	Unread    Content   `json:"unread,omitempty"`    // kind of unreadable content, if there is no text and no file
	Voice     *FileRef  `json:"voice,omitempty"`     // the recording, if Unread is Voice
	Stops     bool      `json:"stops,omitempty"`     // a reaction to Message asks to stop; there is no text
	At        time.Time `json:"at"`
	Problem   string    `json:"problem,omitempty"` // why the update could not be read; then only ID and Problem are set
}

// Content is the kind of a message's content besides text and files.
type Content string

// The kinds of content that can't be read.
const (
	Voice   Content = "voice"
	Sticker Content = "sticker"
	Other   Content = "other"
)

// unnamed is the author of a forwarded message if the platform hides the name.
const unnamed = "somebody"

// empty reports whether there is nothing to answer.
func (u *Update) empty() bool {
	return u.Text == "" && len(u.Files) == 0 && !u.Mentioned && u.Unread == ""
}

// stopSigns are the reactions that ask to stop. Telegram offers only the last of them.
const stopSigns = "🛑⛔✋👎"

// stopSign reports whether an emoji asks to stop, whatever its skin tone.
func stopSign(emoji string) bool {
	emoji = strings.TrimRight(emoji, "\ufe0f🏻🏼🏽🏾🏿")
	return emoji != "" && strings.Contains(stopSigns, emoji)
}

// A Person is an account of the platform.
type Person struct {
	ID            string `json:"id"`
	Name          string `json:"name,omitempty"`
	Workspace     string `json:"workspace,omitempty"` // the team or tenant, if the platform has them
	WorkspaceName string `json:"workspace_name,omitempty"`
	Lang          string `json:"lang,omitempty"` // language tag, if the platform reports it
}

// Address is a place to write to. Topic separates the conversations of a chat. Only the adapter knows its form; elsewhere
// it is a key. It is empty in private chats.
type Address struct {
	Chat  string `json:"chat"`
	Topic string `json:"topic,omitempty"`
	Group bool   `json:"group,omitempty"` // read by more people than the bot and one other
}

// A Ref is a message the bot wrote.
type Ref struct {
	Address
	Message string
}

// A Post is a message to write.
type Post struct {
	Text    string // Markdown, which the adapter renders; within Limits.Max as Limits.Count counts it
	Key     string // identical when the same message is sent again
	ReplyTo string // Update.Message of what it answers; empty for none
	Plain   bool   // Text isn't Markdown and is shown verbatim
	Grows   bool   // edits follow, until a Final one
	Final   bool   // the last edit; without it more may come
}

// A File is a file to post.
type File struct {
	Name    string
	Type    string // its media type
	Size    int64
	Image   bool // show it as a picture if the platform can
	ReplyTo string
	Open    func() (io.ReadCloser, error) // may be called again for a retry
}

// A FileRef names a file that someone sent. ID is all that Fetch needs, and never contains a token.
type FileRef struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	Size int64  `json:"size,omitempty"` // 0 if not known
}

// Me is the bot's own account.
type Me struct {
	ID     string
	Name   string
	Handle string // its unique name, as in links to it
}

// Limits are a platform's.
type Limits struct {
	Max            int                   // most that a message holds, in the unit of Count
	Count          func(text string) int // size of a message once rendered
	EditEvery      time.Duration         // least time between two edits in a private chat
	GroupEditEvery time.Duration
	MaxFile        int64 // bytes of a file the bot may post
	MaxImage       int64 // size limit of images; larger ones are sent as files
	CanEdit        bool  // false: posted messages can't be changed
	Keyed          bool  // Send with a Key it has seen returns the earlier message
	Ends           bool  // an edit that is Final differs from one that is not, even with the same text
	MayStay        bool  // Send may return Stays
	Chat           Bucket
	Group          Bucket
	Bot            Bucket // limit over all chats
	Format         Format
}

// Bucket allows N calls per Per. Zero means no limit.
type Bucket struct {
	N   int
	Per time.Duration
}

// Format is a platform's text format. The adapter renders it; other code reads from it which elements get lost.
type Format string

// The formats.
const (
	FormatPlain    Format = "plain"
	FormatMarkdown Format = "markdown"
	FormatEntities Format = "entities" // plain text with a list of formatted ranges
)

// Rate means that the platform wants fewer calls.
type Rate struct {
	After time.Duration // how long to wait; 0 if unspecified
	Chat  bool          // limits this chat only; otherwise the whole bot
}

func (r *Rate) Error() string {
	if r.After > 0 {
		return "too many requests; the platform asks to wait " + r.After.String()
	}
	return "too many requests"
}

// Gone means that a message or a whole chat can no longer be written to: it was deleted, or the bot was blocked or
// removed.
type Gone struct {
	Message bool  // only the message; the chat is still there
	Cause   Cause // empty is ChatGone
	Reason  string
}

func (g *Gone) Error() string { return g.Reason }

// Fatal means that no further try helps until the owner does something. Reason and Remedy are sentences for people and
// contain no secrets.
type Fatal struct {
	Cause  Cause
	Need   string // missing permission or setting, as in a Trouble
	Reason string
	Remedy string
	Retry  time.Duration // when a retry may still be worthwhile; 0 for never
}

func (f *Fatal) Error() string { return f.Reason }

// Stays means that no growing message can be created now, but perhaps one that isn't edited later.
type Stays struct{ Reason string }

func (s *Stays) Error() string { return s.Reason }

// Unsent reports whether an error of Send or Upload proves that nothing was sent: the platform wasn't reached, or it
// rejected the message. After any other error the message may exist or not.
func Unsent(err error) bool {
	_, rate := errors.AsType[*Rate](err)
	_, gone := errors.AsType[*Gone](err)
	_, fatal := errors.AsType[*Fatal](err)
	_, refused := errors.AsType[*Refused](err)
	_, stays := errors.AsType[*Stays](err)
	_, status := errors.AsType[*statusError](err)
	_, declined := errors.AsType[*declinedError](err)
	_, lookup := errors.AsType[*net.DNSError](err)
	op, network := errors.AsType[*net.OpError](err)
	return rate || gone || fatal || refused || stays || status || declined || lookup || network && op.Op == "dial"
}

// declinedError is a refusal that may be temporary.
type declinedError struct{ text string }

func (e *declinedError) Error() string { return e.text }

// Refused means that the platform permanently rejects the request, for instance because a file is too large. The chat and
// the bot still work.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// A ScanState is the progress of a sign-in by QR code.
type ScanState string

// The states.
const (
	ScanWaits   ScanState = "pending"
	ScanSeen    ScanState = "scanned"
	ScanDigits  ScanState = "verification_required" // the app shows digits for the user to enter
	ScanDone    ScanState = "confirmed"
	ScanExpired ScanState = "expired"
	ScanFailed  ScanState = "failed"
)

// Scanned is the outcome of a QR code.
type Scanned struct {
	State ScanState
	// Problem is network, invalid_response, verification_rejected, verification_blocked or already_bound; empty for
	// none.
	Problem string
	Keys    map[string]string // keys to configure, once signed in
}
