package channels

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"fawn/agent/channels/chat"
)

// ScanTime is how long a QR code can be scanned.
const ScanTime = 3 * time.Minute

// A Scanner signs a bot in by a QR code.
type Scanner interface {
	// Code is what the picture holds.
	Code(ctx context.Context) (string, error)
	// Look waits a moment for news of it. It isn't called twice at once.
	Look(ctx context.Context, digits string) chat.Scanned
}

// Scan is a sign-in by QR code as it is shown.
type Scan struct {
	ID      string
	Code    string // what the picture holds
	State   chat.ScanState
	Problem string
	Until   time.Time
}

// Errors of scans.
var (
	ErrScanning = errors.New("somebody else is signing this bot in")
	ErrNoScan   = errors.New("this sign-in is over")
)

// Scans are the sign-ins by QR code, of which there is one at a time. They are kept in memory: a server that is
// restarted has forgotten them, and its owner begins anew. The zero value is ready.
type Scans struct {
	mu  sync.Mutex
	now *scanning
}

type scanning struct {
	Scan
	owner   string
	scanner Scanner
	looking chan struct{} // holds a token while nobody looks
}

func (s *scanning) over() bool {
	return s.State != chat.ScanWaits && s.State != chat.ScanSeen && s.State != chat.ScanDigits
}

// Scans are the sign-ins by QR code.
func (h *Hub) Scans() *Scans { return &h.scans }

// Start begins a sign-in for an owner, whose last one ends.
func (s *Scans) Start(ctx context.Context, owner string, scanner Scanner) (Scan, error) {
	one := &scanning{owner: owner, scanner: scanner, looking: make(chan struct{}, 1),
		Scan: Scan{ID: rand.Text(), State: chat.ScanWaits, Until: time.Now().Add(ScanTime)}}
	one.looking <- struct{}{}
	s.mu.Lock()
	if now := s.now; now != nil && now.owner != owner && !now.over() && time.Now().Before(now.Until) {
		s.mu.Unlock()
		return Scan{}, ErrScanning
	}
	s.now = one
	s.mu.Unlock()
	code, err := scanner.Code(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != one {
		return Scan{}, ErrNoScan
	}
	if err != nil {
		s.now = nil
		return Scan{}, err
	}
	one.Scan.Code = code
	return one.Scan, nil
}

// find is the sign-in of an owner. s.mu is held.
func (s *Scans) find(owner, id string) (*scanning, error) {
	one := s.now
	if one == nil || one.owner != owner || one.ID != id {
		return nil, ErrNoScan
	}
	if !one.over() && !time.Now().Before(one.Until) {
		one.State, one.Problem = chat.ScanExpired, ""
	}
	return one, nil
}

// Get is a sign-in as it was when it was looked at last.
func (s *Scans) Get(owner, id string) (Scan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, err := s.find(owner, id)
	if err != nil {
		return Scan{}, err
	}
	return one.Scan, nil
}

// Look waits a moment for news. When the sign-in is done, keep stores what it brought, once: if that fails, so does the
// sign-in.
func (s *Scans) Look(ctx context.Context, owner, id, digits string, keep func(map[string]string) error) (Scan, error) {
	s.mu.Lock()
	one, err := s.find(owner, id)
	s.mu.Unlock()
	if err != nil {
		return Scan{}, err
	}
	looking := one.looking
	select {
	case <-looking:
		defer func() { looking <- struct{}{} }()
	case <-ctx.Done():
		return Scan{}, ctx.Err()
	}
	s.mu.Lock()
	one, err = s.find(owner, id)
	s.mu.Unlock()
	if err != nil || one.over() {
		return s.Get(owner, id)
	}
	news := one.scanner.Look(ctx, digits)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.find(owner, id); err != nil { // cancelled meanwhile
		return Scan{}, err
	}
	if one.over() {
		return one.Scan, nil
	}
	one.State, one.Problem = news.State, news.Problem
	if news.State == chat.ScanDone {
		if err := keep(news.Keys); err != nil {
			one.State = chat.ScanFailed
			return one.Scan, err
		}
	}
	return one.Scan, nil
}

// Cancel ends a sign-in.
func (s *Scans) Cancel(owner, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.find(owner, id); err != nil {
		return err
	}
	s.now = nil
	return nil
}
