package browser

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/chromedp/chromedp"
)

// maxState limits the stored state of a session, in bytes.
const maxState = 1 << 20

// state is the part of a session that another browser can restore.
type state struct {
	Address string           `json:"address"`
	Cookies []map[string]any `json:"cookies"`
}

// keep stores changed cookies and the address.
func (s *session) keep(ctx context.Context, address string) {
	if s.b.cfg.Save == nil {
		return
	}
	st := state{Address: address}
	if !strings.HasPrefix(address, "http") {
		st.Address = ""
	}
	var got struct {
		Cookies []map[string]any `json:"cookies"`
	}
	to := chromedp.FromContext(s.ctx).Browser
	if err := to.Call(ctx, "Storage.getCookies", map[string]any{"browserContextId": string(s.where)}, &got); err != nil {
		s.b.cfg.Log.Warn("couldn't read browser cookies", "thread", s.thread, "err", err)
		return
	}
	for _, c := range got.Cookies {
		one := map[string]any{}
		for _, name := range []string{"name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "partitionKey"} {
			if v, ok := c[name]; ok {
				one[name] = v
			}
		}
		if at, ok := c["expires"].(float64); ok && at > 0 {
			one["expires"] = at
		}
		st.Cookies = append(st.Cookies, one)
	}
	raw, err := json.Marshal(st)
	if err != nil || string(raw) == s.told {
		return
	}
	if len(raw) > maxState {
		s.b.cfg.Log.Warn("browser cookies exceed the limit; not saved", "thread", s.thread, "bytes", len(raw))
		return
	}
	if err := s.b.cfg.Save(s.thread, raw); err != nil {
		s.b.cfg.Log.Warn("couldn't save browser state", "thread", s.thread, "err", err)
		return
	}
	s.told = string(raw)
}

// restore restores the stored state and opens the last address.
func (s *session) restore(ctx context.Context) error {
	if s.b.cfg.Load == nil {
		return nil
	}
	raw, err := s.b.cfg.Load(s.thread)
	var st state
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &st)
	}
	if err != nil {
		s.b.cfg.Log.Warn("couldn't read browser state", "thread", s.thread, "err", err)
		return nil
	}
	to := chromedp.FromContext(s.ctx).Browser
	for _, c := range st.Cookies { // one by one: a browser rejects the whole list if it rejects one
		if err := to.Call(ctx, "Storage.setCookies", map[string]any{"browserContextId": string(s.where),
			"cookies": []any{c}}, nil); err != nil {
			s.b.cfg.Log.Debug("couldn't restore a cookie", "thread", s.thread, "err", err)
		}
	}
	if st.Address == "" {
		return nil
	}
	t, err := s.current()
	if err != nil {
		return nil //nolint:nilerr // there is nothing to show it in
	}
	if err := s.open(ctx, t, st.Address); err != nil && s.over() {
		return err
	}
	s.took()
	s.note("the browser was started again: cookies are as before, and %s was opened again; what was typed or chosen on the page is lost", st.Address)
	return nil
}
