package chat

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// A Cause is the reason of a platform's failure, for people. It is empty if unknown.
type Cause string

// The causes.
const (
	NoName       Cause = "name"         // the platform's address cannot be looked up
	NoConnection Cause = "connect"      // no server responds there
	NoTLS        Cause = "tls"          // the connection is not secure
	Slow         Cause = "timeout"      // no answer in time
	Lost         Cause = "lost"         // the connection broke off
	Foreign      Cause = "answer"       // the answer doesn't come from the platform
	Faulty       Cause = "server"       // the platform reports an internal error
	Limited      Cause = "rate"         // too many calls
	BadToken     Cause = "token"        // the credentials are not accepted
	NoPermission Cause = "permission"   // the app may not do this
	SwitchedOff  Cause = "switch"       // something is off in the settings of the app
	NoBot        Cause = "nobot"        // the app has no bot
	Elsewhere    Cause = "elsewhere"    // another program uses the bot
	Outdated     Cause = "outdated"     // the platform's API has changed
	ChatGone     Cause = "chat"         // the bot may no longer write to the chat
	Late         Cause = "late"         // the person's last message is too old for an answer
	Declined     Cause = "refused"      // the platform rejects it
	Deleted      Cause = "deleted"      // the post was deleted here
	Disconnected Cause = "disconnected" // the account's owner disconnected it
)

// A Trouble is a platform's error in a storable and translatable form.
type Trouble struct {
	Cause Cause
	Need  string // the missing permission or token field, in the platform's words
	Text  string // the original message
}

// TroubleOf classifies an error of a Channel.
func TroubleOf(err error) Trouble {
	t := Trouble{Cause: network(err), Text: err.Error()}
	if e, ok := errors.AsType[*Fatal](err); ok {
		t.Cause, t.Need = e.Cause, e.Need
	} else if e, ok := errors.AsType[*Gone](err); ok && !e.Message {
		t.Cause = ChatGone
		if e.Cause != "" {
			t.Cause = e.Cause
		}
	} else if _, ok := errors.AsType[*Rate](err); ok {
		t.Cause = Limited
	} else if _, ok := errors.AsType[*Refused](err); ok {
		t.Cause = Declined
	}
	return t
}

// network returns the cause of an error that didn't come from the platform.
func network(err error) Cause {
	_, name := errors.AsType[*net.DNSError](err)
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	op, dials := errors.AsType[*net.OpError](err)
	timed, times := errors.AsType[net.Error](err)
	status, answered := errors.AsType[*statusError](err)
	_, fault := errors.AsType[*faultError](err)
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case name:
		return NoName
	case cert, record, alert:
		return NoTLS
	case errors.Is(err, context.DeadlineExceeded), times && timed.Timeout():
		return Slow
	case dials && op.Op == "dial":
		return NoConnection
	case fault, answered && status.Status >= http.StatusInternalServerError:
		return Faulty
	case answered, syntax, kind:
		return Foreign
	case dials, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Lost
	}
	return ""
}

// String returns the form that is stored.
func (t Trouble) String() string {
	if t.Cause == "" {
		return t.Text
	}
	return "[" + strings.TrimSpace(string(t.Cause)+" "+t.Need) + "] " + t.Text
}

// ParseTrouble parses the result of [Trouble.String]. Anything else becomes its text.
func ParseTrouble(stored string) Trouble {
	head, text, ok := strings.Cut(stored, "] ")
	if !ok || !strings.HasPrefix(head, "[") {
		return Trouble{Text: stored}
	}
	cause, need, _ := strings.Cut(head[1:], " ")
	return Trouble{Cause: Cause(cause), Need: need, Text: text}
}

// faultError is a response that reports an internal error of the platform.
type faultError struct{ text string }

func (e *faultError) Error() string { return e.text }
