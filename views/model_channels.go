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
	InFile    bool // set up in config.yaml, so the page can't change it
	Public    bool // anyone may write to it
	MayChange bool
	Open      bool // unfolded
	Fields    []ChannelField

	Bot         string // its name, with a handle if it has one
	Since       time.Time
	LastIn      time.Time
	LastOut     time.Time
	Limited     time.Time // end of the platform's rate limit
	Reconnects  int
	Waiting     int
	Undelivered int
	Error       *Trouble // the last one; nil if all is well
	ErrorAt     time.Time
	Unsent      *Trouble // why answers wait

	People  []ChannelPerson // accounts of the reader
	Groups  []ChannelGroup
	Offer   *ChannelOffer
	Joined  string // name of an account just connected
	Expired bool   // the shown code is no longer valid
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
	Saved    bool // a value is stored
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
	Minutes int    // validity of the code
	Since   int64  // creation time in milliseconds
}

// ChannelTest is the result of signing in with credentials.
type ChannelTest struct {
	OK    bool
	Bot   string
	Took  string
	Error string   // why it wasn't tried, in the reader's language
	Why   *Trouble // why it failed
	App   string   // telegram
	Lacks []ChannelLack
}

// ChannelLack is a permission missing for a bot.
type ChannelLack struct {
	Need  string // permission's name on the platform
	Loses string // catalogue key of the missing ability
}

// Trouble is why something did not work with a chat app.
type Trouble struct {
	App   string // telegram
	Label string // Telegram
	Cause string // a cause in the catalogue; empty if unknown
	Need  string // missing permission or field
	Raw   string // the original message
}

// ChannelScan is a sign-in by QR code.
type ChannelScan struct {
	ID      string
	QR      QR
	State   string // pending, scanned, verification_required, expired or failed
	Problem string // code of the problem
	Digits  bool   // the app's digits must be entered
	Over    bool   // nothing can be scanned any more
}

// Undelivered is an answer that did not reach its chat.
type Undelivered struct {
	Run  string
	App  string
	Chat string
	Why  *Trouble // nil if unknown
	At   time.Time
}

// Source is the chat app of a conversation; without a name there is none.
type Source struct {
	Name  string // telegram
	Label string // Telegram
}

// ChannelURL returns the address of an action on a chat app: save, test, remove, restart, pair, paired
// or group.
func ChannelURL(name, action string) string {
	return "/ui/channels/by-name/" + url.PathEscape(name) + "/" + action
}

// ChannelRevokeURL returns the address that ends the connection of an account.
func ChannelRevokeURL(id string) string { return "/ui/channels/connections/" + url.PathEscape(id) }

// ChannelRetryURL returns the address that sends an answer again.
func ChannelRetryURL(run string) string { return "/ui/channels/deliveries/" + url.PathEscape(run) }
