package views

import (
	"net/url"
	"time"
)

// Channels is the section of chat apps.
type Channels struct {
	Apps        []ChannelApp
	Undelivered []Undelivered // answers that did not reach their chats, newest first
	MayChange   bool          // may set up bots and view shared data
	Closed      bool          // accounts can't be connected
	Missing     bool          // this server has no bots
}

// ChannelState is the state of a bot.
type ChannelState string

// The states of a bot.
const (
	ChannelNew       ChannelState = "new" // never set up
	ChannelOff       ChannelState = "off"
	ChannelStarting  ChannelState = "starting"
	ChannelConnected ChannelState = "connected"
	ChannelFailed    ChannelState = "failed"
)

// ChannelApp is a chat app.
type ChannelApp struct {
	Name      string // telegram
	Label     string // Telegram
	State     ChannelState
	InFile    bool // config.yaml sets it up, the page cannot
	Public    bool // anyone may write to it
	MayChange bool
	Open      bool // unfolded
	Fields    []ChannelField

	Bot         string // its name, with a handle where it has one
	Since       time.Time
	LastIn      time.Time
	LastOut     time.Time
	Limited     time.Time // until when the platform wants fewer calls
	Reconnects  int
	Waiting     int
	Undelivered int
	Error       *Trouble // the last one; nil when all is well
	ErrorAt     time.Time
	Unsent      *Trouble // why answers wait

	People  []ChannelPerson // accounts of the reader
	Groups  []ChannelGroup
	Offer   *ChannelOffer
	Joined  string // the name of an account that was just connected
	Expired bool   // the code that was shown is no longer valid
	Test    *ChannelTest
	CanScan bool // it can be signed in by QR code
	Trial   bool // its adapter is experimental
	Scan    *ChannelScan
	Problem string   // why an action was refused, in the reader's language
	Refused *Trouble // why the platform refused it
}

// ChannelField is a credential of a bot, without secret values.
type ChannelField struct {
	Name     string
	Label    string // for fields missing from the catalogue
	Secret   bool
	Optional bool
	Saved    bool // there is one
	Value    string
}

// ChannelPerson is an account of a chat app that counts as the reader's.
type ChannelPerson struct {
	ID        string
	Name      string
	Account   string
	Workspace string
	Since     time.Time
}

// ChannelGroup is a group chat that the bot was added to.
type ChannelGroup struct {
	Chat string
	Name string
	On   bool
}

// ChannelOffer is a code that connects an account.
type ChannelOffer struct {
	Code    string
	Link    string // opens the bot with the code
	Minutes int    // it can be used
	Since   int64  // when it was made, in milliseconds
}

// ChannelTest is the result of signing in with credentials.
type ChannelTest struct {
	OK    bool
	Bot   string
	Took  string
	Error string   // why it was not tried, in the reader's language
	Why   *Trouble // why it failed
	App   string   // telegram
	Lacks []ChannelLack
}

// ChannelLack is a permission missing for a bot.
type ChannelLack struct {
	Need  string // its name on the platform
	Loses string // catalogue key of the missing ability
}

// Trouble is why something did not work with a chat app.
type Trouble struct {
	App   string // telegram
	Label string // Telegram
	Cause string // one the catalogue explains; empty when it is not known
	Need  string // the permission or the field that is missing
	Raw   string // the original message
}

// ChannelScan is a sign-in by QR code.
type ChannelScan struct {
	ID      string
	QR      QR
	State   string // pending, scanned, verification_required, expired or failed
	Problem string // a word for the problem
	Digits  bool   // the app's digits must be entered
	Over    bool   // nothing can be scanned any more
}

// Undelivered is an answer that did not reach its chat.
type Undelivered struct {
	Run  string
	App  string
	Chat string
	Why  *Trouble // nil when that is not known
	At   time.Time
}

// Source is the chat app of a conversation; without a name there is none.
type Source struct {
	Name  string // telegram
	Label string // Telegram
}

// ChannelURL returns an action on a chat app: save, test, remove, restart, pair, paired or group.
func ChannelURL(name, action string) string {
	return "/ui/channels/by-name/" + url.PathEscape(name) + "/" + action
}

// ChannelRevokeURL ends the connection of an account.
func ChannelRevokeURL(id string) string { return "/ui/channels/connections/" + url.PathEscape(id) }

// ChannelRetryURL sends an answer again.
func ChannelRetryURL(run string) string { return "/ui/channels/deliveries/" + url.PathEscape(run) }
