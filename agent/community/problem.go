package community

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"fawn/sandbox/netguard"
)

// Class is the kind of failure of a service or page.
type Class string

// Classes.
const (
	BadKey     Class = "key"       // the key is missing or refused
	RateLimit  Class = "rate"      // too many requests at the moment
	Quota      Class = "quota"     // the plan's quota is used up
	Timeout    Class = "timeout"   // no answer in time
	Captcha    Class = "captcha"   // it presents a challenge
	Empty      Class = "empty"     // no content
	Down       Class = "down"      // unreachable or broken
	Malformed  Class = "malformed" // the answer has an unexpected format
	Rejected   Class = "rejected"  // the service rejects the request
	Forbidden  Class = "forbidden" // the guard refuses the address
	Unreadable Class = "type"      // not convertible to text
	TooLarge   Class = "size"      // the content exceeds the limit
)

// Problem is the reason why a service or page returned nothing. It contains nothing from the request or response except
// its fields: both may hold secrets.
type Problem struct {
	Provider string
	Class    Class
	Status   int    // status of the HTTP answer; 0 without one
	Detail   string // our own words; may be empty
}

// Error describes the problem for models and people.
func (p *Problem) Error() string {
	text := p.Provider + ": " + p.words()
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if p.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", p.Status)
	}
	return text
}

func (p *Problem) words() string {
	switch p.Class {
	case BadKey:
		return "invalid API key, or no API key"
	case RateLimit:
		return "rate limit reached"
	case Quota:
		return "the quota of the plan is used up"
	case Timeout:
		return "timed out"
	case Captcha:
		return "asks for a captcha"
	case Empty:
		return "no results found"
	case Malformed:
		return "the answer can't be read"
	case Rejected:
		return "the request was rejected"
	case Forbidden:
		return "the address isn't allowed"
	case Unreadable:
		return "can't be read as text"
	case TooLarge:
		return "too large"
	}
	return "temporarily unavailable"
}

// ofStatus returns the usual meaning of a status.
func ofStatus(status int) Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return BadKey
	case http.StatusPaymentRequired:
		return Quota
	case http.StatusTooManyRequests:
		return RateLimit
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return Timeout
	}
	if status >= 500 {
		return Down
	}
	return Rejected
}

// ofError returns the class of an error of [netguard.Client]. Its text is not passed on: it names the address, which
// may hold more than a model should see again.
func ofError(err error) (Class, string) {
	var refused *netguard.Refused
	var timeout net.Error
	switch {
	case errors.As(err, &refused):
		return Forbidden, refused.Reason
	case errors.Is(err, netguard.ErrURL), errors.Is(err, netguard.ErrHost):
		return Forbidden, "only http and https at usual ports, without user names and with at most 5 redirects"
	case errors.Is(err, netguard.ErrTooLarge):
		return TooLarge, ""
	case errors.Is(err, netguard.ErrType):
		return Unreadable, ""
	case errors.Is(err, netguard.ErrUnresolved):
		return Down, "the name doesn't resolve"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return Timeout, ""
	}
	return Down, "the connection failed"
}
