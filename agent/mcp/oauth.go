package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fawn/agent"
)

// OAuth obtains a server's tokens without a person.
type OAuth struct {
	TokenURL     string
	Grant        string // client_credentials or refresh_token
	ClientID     string
	ClientSecret string
	Basic        bool // the client's id and secret go into a header instead of the form
	RefreshToken string
	Scope        string
	Audience     string
	TokenField   string
	TypeField    string
	ExpiryField  string
	DefaultType  string
	Skew         time.Duration // how long before its expiry a token is renewed
	Params       map[string]string
}

// Limits of a request for a token.
const (
	tokenTime  = 15 * time.Second
	tokenBytes = 1 << 20
	tokenLife  = time.Hour // default if the response has no expiry
)

// errSpent marks a refusal of the refresh token.
var errSpent = errors.New("the refresh token was rejected")

// tokens are the tokens of one server. At most one request for them is in progress.
type tokens struct {
	conf   OAuth
	veil   *veil
	client *http.Client
	keep   func(refresh string) // stores a refresh token that replaced another
	clock  func() time.Time

	login   bool                                          // a login is required if there is no refresh token
	renewed func(access, refresh string, until time.Time) // called with each new token; nil for none

	turn  chan struct{}                                     // held while renewing
	among func(ctx context.Context) (end func(), err error) // the same among several servers; nil for a single one

	mu      sync.Mutex
	value   string // value of the header
	refused string // a token rejected by the server
	until   time.Time
	refresh string
}

func newTokens(o OAuth, v *veil, refresh string, keep func(string)) *tokens {
	t := &tokens{conf: o, veil: v, keep: keep, refresh: cmp.Or(refresh, o.RefreshToken), clock: time.Now,
		turn: make(chan struct{}, 1)}
	v.hide(t.refresh)
	t.client = &http.Client{Timeout: tokenTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the token address must not redirect") // keep the secrets from other hosts
	}}
	return t
}

// fresh returns the header's value while its token is good.
func (t *tokens) fresh() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value, t.value != "" && t.clock().Add(t.conf.Skew).Before(t.until)
}

// header returns the value of the Authorization header.
func (t *tokens) header(ctx context.Context) (string, error) {
	if v, ok := t.fresh(); ok {
		return v, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if v, ok := t.fresh(); ok { // another caller renewed it
		return v, nil
	}
	if t.among != nil && t.conf.Grant == "refresh_token" {
		end, err := t.among(ctx)
		if err != nil {
			return "", err
		}
		defer end()
		if v, ok := t.fresh(); ok { // another server renewed it
			return v, nil
		}
	}
	// A token request must not be lost because its caller left.
	if err := t.renew(context.WithoutCancel(ctx)); err != nil {
		if errors.Is(err, errLogin) {
			return "", err
		}
		return "", fmt.Errorf("get an OAuth token: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value, nil
}

// drop forgets a token that the server refused.
func (t *tokens) drop(value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = value
	if t.value == value {
		t.value = ""
	}
}

// renew requests a token. The caller holds turn.
func (t *tokens) renew(ctx context.Context) error {
	form := url.Values{"grant_type": {t.conf.Grant}}
	set := func(key, value string) {
		if value != "" {
			form.Set(key, value)
		}
	}
	for k, v := range t.conf.Params {
		set(k, v)
	}
	t.mu.Lock()
	refresh := t.refresh
	t.mu.Unlock()
	switch {
	case t.conf.Grant == "refresh_token":
		switch {
		case refresh == "" && t.login:
			return errLogin
		case refresh == "":
			return errors.New("refresh_token is not set")
		}
		form.Set("refresh_token", refresh)
	case t.conf.ClientID == "" || t.conf.ClientSecret == "":
		return errors.New("client_id and client_secret are needed")
	}
	if !t.conf.Basic {
		set("client_id", t.conf.ClientID)
		set("client_secret", t.conf.ClientSecret)
	}
	set("scope", t.conf.Scope)
	set("audience", t.conf.Audience)
	answer, err := t.ask(ctx, form)
	if errors.Is(err, errSpent) && t.login {
		t.mu.Lock()
		t.refresh = "" // it is no longer valid
		t.mu.Unlock()
		return errLogin
	}
	if err != nil {
		return err
	}
	token, _ := answer[t.conf.TokenField].(string)
	if token == "" {
		return fmt.Errorf("the answer has no %q", t.conf.TokenField)
	}
	kind, _ := answer[t.conf.TypeField].(string)
	if kind = cmp.Or(kind, t.conf.DefaultType); strings.EqualFold(kind, "bearer") {
		kind = "Bearer" // some servers compare it
	}
	rotated, _ := answer["refresh_token"].(string)
	t.veil.hide(token, rotated)
	t.mu.Lock()
	t.value, t.until = kind+" "+token, t.clock().Add(lifetime(answer[t.conf.ExpiryField]))
	if rotated != "" && rotated != t.refresh {
		t.refresh = rotated
	} else {
		rotated = ""
	}
	refresh, until := t.refresh, t.until
	t.mu.Unlock()
	switch {
	case t.renewed != nil:
		t.renewed(token, refresh, until)
	case rotated != "" && t.conf.Grant == "refresh_token":
		t.keep(rotated)
	}
	return nil
}

// lifetime parses a token's lifetime.
func lifetime(v any) time.Duration {
	seconds := math.NaN()
	switch v := v.(type) {
	case float64:
		seconds = v
	case string:
		if n, err := json.Number(v).Float64(); err == nil {
			seconds = n
		}
	}
	if !(seconds > 0 && seconds < 10*365*24*3600) {
		return tokenLife
	}
	return time.Duration(seconds * float64(time.Second))
}

// ask posts the form. Of an error response, only the standard fields are reported.
func (t *tokens) ask(ctx context.Context, form url.Values) (map[string]any, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.conf.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("token_url is not a valid address")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if t.conf.Basic {
		req.SetBasicAuth(url.QueryEscape(t.conf.ClientID), url.QueryEscape(t.conf.ClientSecret))
	}
	resp, err := t.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // its wrapper repeats the address
		}
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, tokenBytes))
	if err != nil {
		return nil, err
	}
	var answer map[string]any
	bad := json.Unmarshal(body, &answer)
	if resp.StatusCode/100 != 2 {
		code, _ := answer["error"].(string)
		why, _ := answer["error_description"].(string)
		err := fmt.Errorf("%s %s", resp.Status, agent.Head(t.veil.over(strings.TrimSpace(code+" "+why)), 300))
		if code == "invalid_grant" {
			err = fmt.Errorf("%w: %w", errSpent, err)
		}
		return nil, err
	}
	if bad != nil {
		return nil, errors.New("the answer is not a JSON object")
	}
	return answer, nil
}
