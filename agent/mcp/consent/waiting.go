package consent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"fawn/agent/clusterstate"
)

// note is the name prefix of notes about requests, for several servers.
const note = "mcp/login/"

const most = 32 // requests at a time

var errMany = errors.New("too many logins are in progress")

// Login is a pending authorization with its server.
type Login struct {
	Server  string    `json:"server"`
	For     string    `json:"for"` // its address
	Until   time.Time `json:"until"`
	Request *Request  `json:"request"`
}

// Waiting holds the pending logins.
type Waiting struct {
	rows *clusterstate.Rows

	mu   sync.Mutex
	list map[string]Login // by state
}

// NewWaiting keeps them in rows, sealed, for all servers; without any, in memory.
func NewWaiting(rows *clusterstate.Rows) *Waiting {
	return &Waiting{rows: rows, list: map[string]Login{}}
}

func name(state string) string {
	sum := sha256.Sum256([]byte(state))
	return note + hex.EncodeToString(sum[:])
}

// Now returns the time by the clock that logins count by.
func (w *Waiting) Now() time.Time {
	if w.rows == nil {
		return time.Now()
	}
	return w.rows.Now()
}

// Room explains why no login can begin now.
func (w *Waiting) Room(ctx context.Context) error {
	n := 0
	if w.rows != nil {
		if !w.rows.Sealing() {
			return clusterstate.ErrNoKey // neither the pending login nor its token could be stored
		}
		list, err := w.rows.Notes(ctx, note)
		if err != nil {
			return err
		}
		n = len(list)
	} else {
		w.mu.Lock()
		for state, l := range w.list {
			if w.Now().After(l.Until) {
				delete(w.list, state)
			}
		}
		n = len(w.list)
		w.mu.Unlock()
	}
	if n >= most {
		return errMany
	}
	return nil
}

// Put stores a login until a browser returns.
func (w *Waiting) Put(ctx context.Context, l Login) error {
	state := l.Request.State
	if w.rows == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.list) >= most {
			return errMany
		}
		w.list[state] = l
		return nil
	}
	body, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return w.rows.Swap(ctx, nil, clusterstate.Note{Name: name(state), Body: body, Until: l.Until})
}

// Take removes a login; ok is false if there is none with that state.
func (w *Waiting) Take(ctx context.Context, state string) (l Login, ok bool, err error) {
	if w.rows == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		l, ok = w.list[state]
		delete(w.list, state)
		return l, ok && w.Now().Before(l.Until), nil
	}
	at := name(state)
	list, err := w.rows.Notes(ctx, at)
	if err != nil || len(list) == 0 {
		return l, false, err
	}
	if err = w.rows.Swap(ctx, []string{at}); errors.Is(err, clusterstate.ErrChanged) {
		return l, false, nil // another server has it
	}
	if err == nil {
		err = json.Unmarshal(list[0].Body, &l)
	}
	return l, err == nil && l.Request != nil, err
}
