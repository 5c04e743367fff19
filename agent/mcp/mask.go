package mcp

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"fawn/agent"
)

// veil hides the secrets of a server. New tokens are added.
type veil struct {
	mu    sync.Mutex
	words agent.Secrets
	mask  func(string) string
}

// maxVeiled limits the secrets a server's veil hides; newer tokens replace older ones beyond it.
const maxVeiled = 256

func newVeil(s Server) *veil {
	v := &veil{words: agent.Secrets{}}
	all := append([]string{}, s.Secrets...)
	for _, h := range s.Headers {
		all = append(all, h)
		if _, token, ok := strings.Cut(h, " "); ok { // "Bearer …"
			all = append(all, token)
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
		for _, values := range u.Query() {
			for _, value := range values {
				all = append(all, value, url.QueryEscape(value))
			}
		}
	}
	if o := s.OAuth; o != nil {
		all = append(all, o.ClientSecret, o.RefreshToken)
		for _, p := range o.Params {
			all = append(all, p)
		}
	}
	if s.Client != nil {
		all = append(all, s.Client.Secret)
	}
	v.hide(all...)
	return v
}

// hide adds values.
func (v *veil) hide(values ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	words := maps.Clone(v.words)
	for _, value := range values {
		words[strconv.Itoa(len(words)%maxVeiled)] = value
	}
	v.words = words
	if v.mask = v.words.Masker(); v.mask == nil {
		v.mask = func(s string) string { return s }
	}
}

// over returns a text without the secrets.
func (v *veil) over(s string) string {
	v.mu.Lock()
	mask := v.mask
	v.mu.Unlock()
	return mask(s)
}
