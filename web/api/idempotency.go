package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/httpx"
)

const (
	keyHeader         = "Idempotency-Key"
	replayHeader      = "Idempotent-Replayed" // on an answer about a run that was there
	maxIdempotencyKey = 255                   // bytes
	keyTime           = 24 * time.Hour        // for which a key is known
)

// keyed is what a request with a key is known by.
type keyed struct {
	name string // of the note with its claim, "" without a key
	sum  string // of where it went and what it said
}

// claim is what is kept of the first request with a key.
type claim struct {
	Sum  string `json:"sum"`
	Run  string `json:"run"`  // the id that its run has got, or gets
	Done bool   `json:"done"` // the run was stored
}

// keys lets requests with the same key begin their runs one after the other.
type keys struct {
	once  sync.Once
	turns [64]chan struct{}
}

// turn waits until no other request with the key begins its run, or ctx ends.
func (k *keys) turn(ctx context.Context, name string) (done func(), err error) {
	k.once.Do(func() {
		for i := range k.turns {
			k.turns[i] = make(chan struct{}, 1)
		}
	})
	turn := k.turns[sha256.Sum256([]byte(name))[0]%byte(len(k.turns))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// keyOf reads the key of a request that begins a run. Keys are their owner's.
func (m mount) keyOf(c echo.Context, body []byte) (keyed, error) {
	values := c.Request().Header.Values(keyHeader)
	if len(values) == 0 {
		return keyed{}, nil
	}
	key := strings.TrimSpace(values[0])
	if len(values) > 1 || key == "" || len(key) > maxIdempotencyKey {
		return keyed{}, httpx.Errorf(http.StatusUnprocessableEntity, "%s: want one key of 1 to %d characters", keyHeader, maxIdempotencyKey)
	}
	name := sha256.Sum256([]byte(m.Owner(c) + "\n" + key))
	sum := sha256.Sum256([]byte(c.Request().URL.Path + "\n" + string(body)))
	return keyed{"idempotency/" + hex.EncodeToString(name[:]), hex.EncodeToString(sum[:])}, nil
}

// begin starts the run of a request, or finds the one that a request with the same key has started. The id of the run is
// chosen with the claim, so that servers which try at once, or again after a crash, store one run.
func (m mount) begin(c echo.Context, req runRequest) (r store.Run, there bool, err error) {
	ctx := c.Request().Context()
	if req.key.name == "" {
		r, err = m.Runs.Start(ctx, req.Request)
		return r, false, err
	}
	done, err := m.keys.turn(ctx, req.key.name)
	if err != nil {
		return r, false, err
	}
	defer done()
	mine, first, err := m.claimed(c, req.key)
	if err != nil {
		return r, false, err
	}
	stored := func() (bool, error) {
		r, err = m.DB.Run(ctx, mine.Run)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	if !first {
		if there, err := stored(); there || err != nil {
			return r, there, err
		}
		if mine.Done {
			return r, false, httpx.Errorf(http.StatusGone, "The run that was started with this %s has been deleted", keyHeader)
		}
	}
	req.ID = mine.Run
	r, err = m.Runs.Start(ctx, req.Request)
	if err != nil {
		if there, readErr := stored(); there && readErr == nil { // another server was first
			return r, true, nil
		}
		if !errors.Is(err, runs.ErrStorage) { // it was refused: the key is free again
			if free := m.DB.SwapNotes(ctx, []string{req.key.name}); free != nil && !errors.Is(free, store.ErrChanged) {
				m.Log.Warn("couldn't release an idempotency key", "err", free)
			}
		}
		return r, false, err
	}
	mine.Done = true
	if err := m.note(c, nil, req.key.name, mine, true); err != nil {
		m.Log.Warn("couldn't store an idempotency key", "run", r.ID, "err", err)
	}
	return r, false, nil
}

// note writes a claim down. Over replaces the one that is there.
func (m mount) note(c echo.Context, take []string, name string, what claim, over bool) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	// a client that leaves now sends the request again
	return m.DB.SwapNotes(context.WithoutCancel(c.Request().Context()), take, store.Note{Name: name, Body: body, Until: m.DB.Now().Add(keyTime), Over: over})
}

// claimed takes a key, or gives the claim that is there.
func (m mount) claimed(c echo.Context, k keyed) (_ claim, first bool, err error) {
	mine := claim{Sum: k.sum, Run: uuid.Must(uuid.NewV7()).String()}
	for _, take := range [][]string{nil, {k.name}} { // the second time in place of one whose time is over
		if err = m.note(c, take, k.name, mine, false); err == nil {
			return mine, true, nil
		}
		if !errors.Is(err, store.ErrChanged) {
			return mine, false, fmt.Errorf("store a key: %w", err)
		}
		list, err := m.DB.Notes(c.Request().Context(), k.name)
		if err != nil {
			return mine, false, err
		}
		i := slices.IndexFunc(list, func(n store.Note) bool { return n.Name == k.name })
		if i < 0 {
			continue
		}
		var theirs claim
		if err := json.Unmarshal(list[i].Body, &theirs); err != nil {
			return mine, false, fmt.Errorf("read a key: %w", err)
		}
		if theirs.Sum != k.sum {
			return mine, false, httpx.Errorf(http.StatusUnprocessableEntity,
				"%s: another request was sent with this key less than 24 hours ago; use a new one", keyHeader)
		}
		return theirs, false, nil
	}
	return mine, false, fmt.Errorf("store a key: %w", err)
}
