package bots

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/qrlogin"
	"fawn/agent/config"
)

// Scannable reports whether a bot can be signed in by QR code: its owner switched that on, and config.yaml doesn't name
// the token itself.
func (s *Service) Scannable(p channels.Provider) bool {
	snap := s.Config.Current()
	section, _ := snap.File.Channel(p.Name)
	return p.Scan != nil && section.Switch(channels.ScanKey, false) && !snap.Writes("channels."+p.Name+".bot_token")
}

// Digits reports whether a text is a code that WeChat may show; empty is none.
func Digits(text string) bool {
	return len(text) <= 16 && strings.Trim(text, "0123456789") == ""
}

// StartScan begins to sign a bot in by QR code.
func (s *Service) StartScan(ctx context.Context, owner string, p channels.Provider) (qrlogin.Scan, error) {
	switch {
	case !s.Connectable():
		return qrlogin.Scan{}, &Refused{Cause: Off, App: p.Display}
	case !s.Scannable(p):
		return qrlogin.Scan{}, &Refused{Cause: Scanned, App: p.Display}
	}
	if err := s.Config.KeepsSecrets(); err != nil {
		return qrlogin.Scan{}, err
	}
	scanner, err := p.Scan(s.Options(p), nil)
	if err != nil {
		return qrlogin.Scan{}, &Refused{Failing, p.Display, err.Error(), chat.TroubleOf(err)}
	}
	scan, err := s.Hub.Scans().Start(ctx, owner, scanner)
	if err != nil && !errors.Is(err, qrlogin.ErrScanning) && !errors.Is(err, qrlogin.ErrNoScan) {
		err = &Refused{Failing, p.Display, Explain(err), chat.TroubleOf(err)}
	}
	return scan, err
}

// PollScan waits briefly for a scan's progress. When it's done, it sets up the bot with the result.
func (s *Service) PollScan(ctx context.Context, owner string, p channels.Provider, id, digits string) (qrlogin.Scan,
	error) {
	goOn := func(state json.RawMessage) (qrlogin.Scanner, error) { return p.Scan(s.Options(p), state) }
	return s.Hub.Scans().Poll(ctx, owner, id, digits, goOn, func(keys map[string]string) error {
		if !s.Connectable() || !s.Scannable(p) {
			return &Refused{Cause: Scanned, App: p.Display}
		}
		plain, secrets := map[string]string{}, map[string]config.Secret{}
		for key, v := range keys {
			if slices.ContainsFunc(p.Fields, func(f channels.Field) bool { return f.Name == key && f.Secret }) {
				secrets[key] = config.Secret(v)
			} else {
				plain[key] = v
			}
		}
		return s.store(ctx, p, plain, secrets)
	})
}
