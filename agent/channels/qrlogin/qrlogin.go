// Package qrlogin manages current sign-ins of bots by QR code.
package qrlogin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fawn/agent/channels/chat"
	"fawn/agent/clusterstate"
)

// ScanTime is the lifetime of a QR code.
const ScanTime = 3 * time.Minute

// note is the name prefix of notes about sign-ins.
const note = "signin/"

// A Scanner signs a bot in by a QR code.
type Scanner interface {
	// Code returns the text encoded in the QR code.
	Code(ctx context.Context) (string, error)
	// Poll waits briefly for progress. Calls don't overlap.
	Poll(ctx context.Context, digits string) chat.Scanned
	// State returns the state from which a scanner resumes, perhaps on another server.
	State() json.RawMessage
}

// Scan is the visible state of a sign-in by QR code.
type Scan struct {
	ID      string
	Code    string // text encoded in the QR code
	State   chat.ScanState
	Problem string
	Until   time.Time
}

// Errors of scans.
var (
	ErrScanning = errors.New("somebody else is signing this bot in")
	ErrNoScan   = errors.New("this sign-in has ended")
)

// Scans manages sign-ins by QR code, one at a time. They are stored as notes, so any server sharing these can continue
// one.
type Scans struct {
	notes clusterstate.Notes

	mu      sync.Mutex
	looked  string        // the last state polled here
	looking chan struct{} // one token, available while no poll is in progress
}

// New stores sign-ins in notes; nil for a single server.
func New(notes clusterstate.Notes) *Scans {
	return &Scans{notes: cmp.Or[clusterstate.Notes](notes, &clusterstate.Alone{})}
}

// scanning is the stored state of a sign-in. Each change has its own note, and only one server can claim the last.
type scanning struct {
	Scan
	Owner   string
	Scanner json.RawMessage
	Changes int
}

func (s *scanning) name() string { return fmt.Sprintf("%s%s/%d", note, s.ID, s.Changes) }

func (s *scanning) over() bool {
	return s.State != chat.ScanWaits && s.State != chat.ScanSeen && s.State != chat.ScanDigits
}

func (s *scanning) left() (clusterstate.Note, error) {
	body, err := json.Marshal(s)
	return clusterstate.Note{Name: s.name(), Body: body, Until: s.Until.Add(ScanTime)}, err
}

// Start begins a sign-in for an owner and ends their previous one.
func (s *Scans) Start(ctx context.Context, owner string, scanner Scanner) (Scan, error) {
	one := &scanning{Owner: owner,
		Scan: Scan{ID: rand.Text(), State: chat.ScanWaits, Until: s.notes.Now().Add(ScanTime)}}
	list, err := s.list(ctx)
	if err != nil {
		return Scan{}, err
	}
	var last []string
	for _, now := range list {
		if now.Owner != owner && !now.over() {
			return Scan{}, ErrScanning
		}
		last = append(last, now.name())
	}
	begun, err := one.left()
	if err != nil {
		return Scan{}, err
	}
	if err := s.notes.Swap(ctx, last, begun); errors.Is(err, clusterstate.ErrChanged) {
		return Scan{}, ErrScanning
	} else if err != nil {
		return Scan{}, err
	}
	if one.Code, err = scanner.Code(ctx); err != nil {
		gone := s.notes.Swap(context.WithoutCancel(ctx), []string{begun.Name}) // also if the caller has left
		if gone == nil || errors.Is(gone, clusterstate.ErrChanged) {
			return Scan{}, err
		}
		return Scan{}, errors.Join(err, gone)
	}
	one.Scanner = scanner.State()
	if changed, err := s.change(ctx, one); err != nil || !changed {
		return Scan{}, cmp.Or(err, ErrNoScan)
	}
	return one.Scan, nil
}

// list returns the stored sign-ins, including expired ones.
func (s *Scans) list(ctx context.Context) ([]*scanning, error) {
	notes, err := s.notes.Notes(ctx, note)
	if err != nil {
		return nil, fmt.Errorf("read sign-ins: %w", err)
	}
	var out []*scanning
	for _, n := range notes {
		one := &scanning{}
		if err := json.Unmarshal(n.Body, one); err != nil {
			return nil, fmt.Errorf("sign-in %s: %w", strings.TrimPrefix(n.Name, note), err)
		}
		if !one.over() && !s.notes.Now().Before(one.Until) {
			one.State, one.Problem = chat.ScanExpired, ""
		}
		out = append(out, one)
	}
	return out, nil
}

// change stores a new state. It returns false if the state changed meanwhile or is gone.
func (s *Scans) change(ctx context.Context, one *scanning) (bool, error) {
	was := one.name()
	one.Changes++
	n, err := one.left()
	if err != nil {
		return false, err
	}
	if err := s.notes.Swap(ctx, []string{was}, n); errors.Is(err, clusterstate.ErrChanged) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("store a sign-in: %w", err)
	}
	return true, nil
}

// find returns the sign-in of an owner.
func (s *Scans) find(ctx context.Context, owner, id string) (*scanning, error) {
	list, err := s.list(ctx)
	for _, one := range list {
		if one.Owner == owner && one.ID == id {
			return one, nil
		}
	}
	return nil, cmp.Or(err, ErrNoScan)
}

// Get returns the last polled state of a sign-in.
func (s *Scans) Get(ctx context.Context, owner, id string) (Scan, error) {
	one, err := s.find(ctx, owner, id)
	if err != nil {
		return Scan{}, err
	}
	return one.Scan, nil
}

// turn returns the queue for callers polling a sign-in.
func (s *Scans) turn(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looked != id {
		s.looked, s.looking = id, make(chan struct{}, 1)
		s.looking <- struct{}{}
	}
	return s.looking
}

// Poll waits briefly for progress, with a scanner resumed from its state. When the sign-in succeeds, keep stores its
// result once; if that fails, the sign-in fails too.
func (s *Scans) Poll(ctx context.Context, owner, id, digits string, from func(state json.RawMessage) (Scanner, error),
	keep func(map[string]string) error) (Scan, error) {
	if _, err := s.find(ctx, owner, id); err != nil {
		return Scan{}, err
	}
	looking := s.turn(id)
	select {
	case <-looking:
		defer func() { looking <- struct{}{} }()
	case <-ctx.Done():
		return Scan{}, ctx.Err()
	}
	one, err := s.find(ctx, owner, id)
	if err != nil || one.over() {
		return s.Get(ctx, owner, id)
	}
	scanner, err := from(one.Scanner)
	if err != nil {
		return Scan{}, err
	}
	progress := scanner.Poll(ctx, digits)
	if !s.notes.Now().Before(one.Until) {
		return s.Get(ctx, owner, id)
	}
	one.State, one.Problem, one.Scanner = progress.State, progress.Problem, scanner.State()
	if progress.State == chat.ScanDone {
		one.Scanner = nil
	}
	ctx = context.WithoutCancel(ctx) // complete the sign-in even if the caller has left
	if changed, err := s.change(ctx, one); err != nil {
		return Scan{}, err
	} else if !changed { // cancelled meanwhile, or another server stored the same state
		return s.Get(ctx, owner, id)
	}
	if progress.State != chat.ScanDone {
		return one.Scan, nil
	}
	if err := keep(progress.Keys); err != nil {
		one.State = chat.ScanFailed
		_, lost := s.change(ctx, one)
		return one.Scan, errors.Join(err, lost)
	}
	return one.Scan, nil
}

// Cancel ends a sign-in.
func (s *Scans) Cancel(ctx context.Context, owner, id string) error {
	for {
		one, err := s.find(ctx, owner, id)
		if err != nil {
			return err
		}
		if err := s.notes.Swap(ctx, []string{one.name()}); !errors.Is(err, clusterstate.ErrChanged) {
			return err
		}
	}
}
