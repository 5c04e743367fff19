package sso

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"fawn/sandbox/netguard"
)

// Limits of services' responses.
const (
	maxAnswer = 1 << 20 // bytes of a body
	patience  = 15 * time.Second
)

var errTooLarge = errors.New("the answer is too large")

// road leads to one service: straight to the host that the owner chose, and through the guard to
// all others, which the service names.
type road struct {
	issuer          *url.URL
	direct, guarded *http.Transport
}

func clientFor(issuer string, guard *netguard.Guard) (*http.Client, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the issuer %q must begin with https:// or http://", issuer)
	}
	dial := &net.Dialer{Timeout: 10 * time.Second}
	transport := func() *http.Transport {
		return &http.Transport{TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2: true, DisableKeepAlives: true}
	}
	r := &road{issuer: u, direct: transport(), guarded: transport()}
	r.direct.DialContext, r.guarded.DialContext = dial.DialContext, guard.DialContext
	return &http.Client{Transport: r, Timeout: patience,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("more than three redirects")
			}
			if via[0].Method != http.MethodGet {
				return http.ErrUseLastResponse // a secret is only sent to its own host
			}
			return nil
		}}, nil
}

// RoundTrip implements [http.RoundTripper].
func (r *road) RoundTrip(req *http.Request) (*http.Response, error) {
	t := r.guarded
	if req.URL.Scheme == r.issuer.Scheme && req.URL.Host == r.issuer.Host {
		t = r.direct
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = netguard.LimitBody(resp.Body, maxAnswer, errTooLarge)
	return resp, nil
}
