package llm

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"fawn/agent/llm/llmerr"
)

// Cause is the reason for a failed probe, as far as it can be fixed.
type Cause string

// The causes of a failed probe.
const (
	CauseServer  Cause = "server"  // no server responds at the address
	CauseTrust   Cause = "trust"   // no secure connection is possible
	CauseKey     Cause = "key"     // the key was refused
	CauseNoKey   Cause = "no_key"  // the server requires a key, but none is set
	CauseModel   Cause = "model"   // the server does not have the model
	CauseAddress Cause = "address" // something answers, but it isn't a model
	CauseCredit  Cause = "credit"  // the account has no credit left
	CauseBusy    Cause = "busy"    // the provider is overloaded or limits the rate
	CauseSilent  Cause = "silent"  // the server accepted the call but timed out
	CauseOther   Cause = "other"
)

// Causes lists them all.
func Causes() []Cause {
	return []Cause{CauseServer, CauseTrust, CauseKey, CauseNoKey, CauseModel, CauseAddress, CauseCredit, CauseBusy,
		CauseSilent, CauseOther}
}

// Cause returns the reason for the failure; "" if the model answered. cfg is the probed configuration.
func (p Probed) Cause(cfg Config) Cause {
	if p.OK || p.Err == nil {
		return ""
	}
	text, class, status := Words(p.Err)
	lower := strings.ToLower(text)
	switch class {
	case llmerr.ClassAuth:
		if strings.TrimSpace(cfg.APIKey) == "" {
			return CauseNoKey
		}
		return CauseKey
	case llmerr.ClassQuota:
		return CauseCredit
	case llmerr.ClassTrust:
		return CauseTrust
	case llmerr.ClassBurst, llmerr.ClassBusy:
		return CauseBusy
	case llmerr.ClassNetwork:
		if strings.Contains(lower, llmerr.ErrIdle.Error()) || strings.Contains(lower, "deadline exceeded") {
			return CauseSilent
		}
		return CauseServer
	}
	_, has := p.Offer(cfg.Model)
	switch {
	case len(p.Offers) > 0 && !has, strings.Contains(lower, "model") &&
		(status == http.StatusNotFound || status == http.StatusBadRequest):
		return CauseModel
	case elsewhere(p.Err):
		return CauseAddress
	}
	return CauseOther
}

// Complete adds the scheme that people leave out of an address: http for this machine and private
// networks, where a server seldom has a certificate, otherwise https. Other addresses are unchanged.
func Complete(address string) string {
	address = strings.TrimSpace(address)
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	u, err := url.Parse("//" + address)
	if err != nil || u.Hostname() == "" {
		return address
	}
	if scheme, _, _ := strings.Cut(address, ":"); slices.Contains([]string{"mailto", "javascript", "data", "file"},
		strings.ToLower(scheme)) {
		return address
	}
	if near(u.Hostname()) {
		return "http://" + address
	}
	return "https://" + address
}

// near reports whether a host is this machine or on a private network.
func near(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || slices.ContainsFunc([]string{".local", ".lan", ".internal", ".localhost"},
		func(end string) bool { return strings.HasSuffix(strings.ToLower(host), end) })
}
