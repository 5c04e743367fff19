package views

import (
	"slices"
	"time"
)

// Who is the account viewing a page.
type Who struct {
	Name     string // display name; empty shows the address
	Email    string
	Operator bool // runs the installation
}

// Label returns the account's display name.
func (w Who) Label() string {
	if w.Name != "" {
		return w.Name
	}
	return w.Email
}

// The addresses of signing in and of accounts.
const (
	LoginURL        = "/login"
	LoginCodeURL    = "/ui/login/code"
	LoginPasskeyURL = "/ui/login/passkey"
	SetupURL        = "/setup"
	ResetURL        = "/reset"
	LogoutURL       = "/logout"

	AccountURL        = "/ui/account"
	AccountPasskeyURL = "/ui/account/passkey"
	SessionsURL       = "/ui/account/sessions"
	TokensURL         = "/ui/account/tokens"
	UsersURL          = "/ui/users"
)

// SignIn is GET /login, and the page of the second step.
type SignIn struct {
	Shell    Shell
	Code     bool // the password was right; the code of the second step is required
	Email    string
	Next     string // the requested page
	Keep     bool   // keep me signed in
	Local    bool   // with address and password
	Services []Service
	Passkeys bool   // this address supports passkeys
	Problem  string // why it failed
	Notice   string // a preceding event, such as a new password
}

// Service is another service that people can sign in with.
type Service struct {
	Name  string
	Label string
	URL   string // starts the sign-in
}

// LinkPage is the page of a one-time link: /setup and /reset.
type LinkPage struct {
	Shell    Shell
	Reset    bool   // a new password for an existing account
	Owner    bool   // creates the installation owner's account
	Gone     bool   // the link was used or has expired
	Missing  bool   // the address has no link
	Done     bool   // an owner exists already
	Token    string // token of the link
	Email    string
	Fixed    bool // the invitation sets the address
	Tokens   int  // number of the account's API tokens
	Name     string
	Shortest int // least length of a password
	Problem  string
}

// Confirm asks for a new proof of identity after a while.
type Confirm struct {
	Needed   bool
	Password bool   // a password is set; otherwise they must sign in again
	Code     bool   // a code of an authenticator app is possible
	Back     string // section that asks for it
	Problem  string
}

// Account is the account section of the settings.
type Account struct {
	Confirm     Confirm
	Name, Email string
	Role        string
	Password    bool   // a password is set, so it can be asked for
	Saved       string // the saved item: name, password, ...
	Wrong       string // form that was refused
	Problem     string // why
	Shortest    int    // least length of a password

	TOTP     bool // it is enabled
	Setup    *TOTPSetup
	Recovery []string // new recovery codes, shown once
	Left     int      // unused recovery codes
	Passkeys []Passkey
	CanKey   bool // this address supports passkeys
	Linked   []Linked
	Services []Service // services that can be linked
}

// TOTPSetup is an authenticator app that is being set up.
type TOTPSetup struct {
	Secret string
	URI    string
	QR     QR
}

// QR is a square picture of black and white modules.
type QR struct {
	Size int    // modules per side, including the border
	Path string // SVG path of the black ones
}

// Passkey is one of an account.
type Passkey struct {
	ID    string
	Name  string
	Added time.Time
	Used  time.Time // zero: never
}

// Linked is an account at another service that one can sign in with.
type Linked struct {
	ID      string
	Service string
	Email   string
}

// Session is a browser that is signed in.
type Session struct {
	ID     string
	Device string // for instance Firefox on Linux
	Addr   string
	Used   time.Time
	Since  time.Time
	This   bool
}

// Tokens is the section of API tokens.
type Tokens struct {
	Confirm Confirm
	List    []Token
	Secret  string // token just created, shown once
	Made    string // its name
	Scopes  []string
	Days    []int // possible lifetimes of a token; 0 is unlimited
	Name    string
	Problem string
}

// Token is one API token.
type Token struct {
	ID      string
	Name    string
	Hint    string // its first characters
	Scope   string
	Made    time.Time
	Used    time.Time // zero: never
	Expires time.Time // zero: never
	Expired bool
}

// Users is the section of all accounts, for the installation's owner.
type Users struct {
	List    []User
	Link    string // link just created, shown once
	For     string // its recipient
	Reset   bool   // it sets a new password
	Roles   []string
	Email   string
	Confirm string // id of the account to delete
	Problem string
}

// User is one account.
type User struct {
	ID       string
	Name     string
	Email    string
	Role     string
	Disabled bool
	Invited  bool // hasn't signed in yet
	You      bool
	Code     bool      // signs in with a code after the password
	Fixed    bool      // the viewer may not change it
	Seen     time.Time // zero: never
	Added    time.Time
}

// SectionsOf returns the settings sections visible to a person.
func SectionsOf(s Shell) []string {
	list := Sections()
	if s.Who == nil {
		return list
	}
	more := []string{"account", "sessions", "tokens"}
	if s.Who.Operator {
		more = append(more, "users", "groups", "announcements")
	} else {
		list = slices.DeleteFunc(list, func(section string) bool { return slices.Contains(OperatorSections(), section) })
	}
	at := slices.Index(list, "account")
	return slices.Concat(list[:at], more, list[at+1:])
}

// SectionKey returns the key of the catalogue for the name of a section.
func SectionKey(s Shell, section string) string {
	if section == "account" && s.Who == nil {
		return "settings.accounts"
	}
	return "settings." + section
}

// When writes a moment.
func When(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// Date writes a day.
func Date(t time.Time) string { return t.Local().Format("2006-01-02") }
