package once

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/httpx"
)

// Headers of requests, and of responses about an earlier result.
const (
	Header   = "Idempotency-Key"
	Replayed = "Idempotent-Replayed"
)

const (
	maxKey  = 255            // bytes
	keyTime = 24 * time.Hour // how long a key is remembered
)

// Key is a request's key. The zero value means that it has none.
type Key struct {
	name string // name of the note with its claim
	sum  string // hash of the request's path and content
}

// Read reads the key of a request with this body. Keys are separate per owner.
func Read(r *http.Request, owner string, body []byte) (Key, error) {
	values := r.Header.Values(Header)
	if len(values) == 0 {
		return Key{}, nil
	}
	key := strings.TrimSpace(values[0])
	if len(values) > 1 || key == "" || len(key) > maxKey {
		return Key{}, httpx.Errorf(http.StatusUnprocessableEntity, "%s: want one key of 1 to %d characters", Header, maxKey)
	}
	name := sha256.Sum256([]byte(owner + "\n" + key))
	sum := sha256.Sum256([]byte(r.URL.Path + "\n" + string(body)))
	return Key{"idempotency/" + hex.EncodeToString(name[:]), hex.EncodeToString(sum[:])}, nil
}

// Given reports whether the request had a key.
func (k Key) Given() bool { return k.name != "" }

// Part returns the key of one of several operations that a request starts.
func (k Key) Part(name string) Key {
	if k.Given() {
		k.name += "/" + name
	}
	return k
}

// ID returns a UUID that is the same for each request with the key.
func (k Key) ID() string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(k.name)).String() }

// Claim is the stored record of the first request with a key.
type Claim struct {
	Sum  string          `json:"sum"`
	Run  string          `json:"run"`            // the id that its run has got, or gets
	Done bool            `json:"done"`           // the run was stored
	Plan json.RawMessage `json:"plan,omitempty"` // the decisions of the request, such as its thread
}

// Keys stores the keys of requests. It is safe for concurrent use.
type Keys struct {
	db    *store.DB
	log   *slog.Logger
	turns [64]chan struct{} // requests with the same key begin one after the other here
}

// New returns the keys of a server.
func New(db *store.DB, log *slog.Logger) *Keys {
	k := &Keys{db: db, log: log}
	for i := range k.turns {
		k.turns[i] = make(chan struct{}, 1)
	}
	return k
}

// Turn waits until no other request with the key begins here, or ctx ends.
func (k *Keys) Turn(ctx context.Context, key Key) (done func(), err error) {
	turn := k.turns[sha256.Sum256([]byte(key.name))[0]%byte(len(k.turns))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Run starts a request's run with start, or finds the one started by an earlier request with the key; there reports
// which. The run's id is chosen with the claim, so concurrent attempts, and repeated ones after a crash, store one run.
// The key of a refused request is free again. Without a key it calls start without an id.
func (k *Keys) Run(ctx context.Context, key Key, start func(id string) (store.Run, error)) (r store.Run, there bool, err error) {
	if !key.Given() {
		r, err = start("")
		return r, false, err
	}
	done, err := k.Turn(ctx, key)
	if err != nil {
		return r, false, err
	}
	defer done()
	mine, first, err := k.Claim(ctx, key, nil)
	if err != nil {
		return r, false, err
	}
	stored := func() (run store.Run, there bool, err error) {
		run, err = k.db.Run(ctx, mine.Run)
		if errors.Is(err, store.ErrNotFound) {
			return run, false, nil
		}
		return run, err == nil, err
	}
	if !first {
		if r, there, err := stored(); there || err != nil {
			return r, there, err
		}
		if mine.Done {
			return r, false, Gone()
		}
	}
	r, err = start(mine.Run)
	if err != nil {
		if other, there, readErr := stored(); there && readErr == nil { // another server was first
			return other, true, nil
		}
		if !errors.Is(err, runs.ErrStorage) {
			k.Free(ctx, key)
		}
		return r, false, err
	}
	k.Settle(ctx, key, mine, r.ThreadID)
	return r, false, nil
}

// Gone refuses a request whose run was deleted since.
func Gone() error {
	return httpx.Errorf(http.StatusGone, "The run that was started with this %s has been deleted", Header)
}

// Claim claims a key with a plan, or returns the existing claim.
func (k *Keys) Claim(ctx context.Context, key Key, plan json.RawMessage) (_ Claim, first bool, err error) {
	mine := Claim{Sum: key.sum, Run: uuid.Must(uuid.NewV7()).String(), Plan: plan}
	for _, take := range [][]string{nil, {key.name}} { // the second time in place of one whose time is over
		if err = k.note(ctx, take, key.name, mine, false, ""); err == nil {
			return mine, true, nil
		}
		if !errors.Is(err, store.ErrChanged) {
			return mine, false, fmt.Errorf("store a key: %w", err)
		}
		theirs, known, err := k.Lookup(ctx, key)
		if known || err != nil {
			return theirs, false, err
		}
	}
	return mine, false, fmt.Errorf("store a key: %w", err)
}

// Lookup returns the claim of an earlier request with a key; known is false if there is none. A claim of another request is
// an error, and so is one whose thread has been deleted.
func (k *Keys) Lookup(ctx context.Context, key Key) (claim Claim, known bool, err error) {
	list, err := k.db.Notes(ctx, key.name)
	if err != nil {
		return claim, false, err
	}
	i := slices.IndexFunc(list, func(n store.Note) bool { return n.Name == key.name })
	if i < 0 {
		return claim, false, nil
	}
	if len(list[i].Body) == 0 {
		return claim, false, Gone()
	}
	if err := json.Unmarshal(list[i].Body, &claim); err != nil {
		return claim, false, fmt.Errorf("read a key: %w", err)
	}
	if claim.Sum != key.sum {
		return claim, false, httpx.Errorf(http.StatusUnprocessableEntity,
			"%s: another request was sent with this key less than 24 hours ago; use a new one", Header)
	}
	return claim, true, nil
}

// Settle marks the run of a claim as stored. The claim's details are deleted with the run's thread.
func (k *Keys) Settle(ctx context.Context, key Key, claim Claim, thread string) {
	claim.Done = true
	if err := k.note(ctx, nil, key.name, claim, true, thread); err != nil {
		k.log.Warn("couldn't store an idempotency key", "run", claim.Run, "err", err)
	}
}

// Free makes a key usable again after its request was refused, unless another server has executed it meanwhile.
func (k *Keys) Free(ctx context.Context, key Key) {
	if claim, known, err := k.Lookup(context.WithoutCancel(ctx), key); err == nil && known && claim.Done {
		return
	}
	if err := k.db.SwapNotes(context.WithoutCancel(ctx), []string{key.name}); err != nil && !errors.Is(err, store.ErrChanged) {
		k.log.Warn("couldn't release an idempotency key", "err", err)
	}
}

// note stores a claim. over replaces an existing one.
func (k *Keys) note(ctx context.Context, take []string, name string, what Claim, over bool, thread string) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	// a client that disconnects now repeats the request
	return k.db.SwapNotes(context.WithoutCancel(ctx), take, store.Note{Name: name, Body: body, Until: k.db.Now().Add(keyTime),
		Over: over, Thread: thread})
}
