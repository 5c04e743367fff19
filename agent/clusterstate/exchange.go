package clusterstate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	pollEvery = time.Second      // polling interval for replies with a lost wake-up
	noteTime  = 5 * time.Second  // limit of storing a request or reply
	repliedBy = 10 * time.Minute // how long repeated replies get the first result
)

// ErrLate means that a request got no reply in time.
var ErrLate = errors.New("no reply in time")

// Exchange passes requests of this server to clients of any server, and their replies back. Requests and replies are
// notes. It is safe for concurrent use once its fields are set.
type Exchange struct {
	Notes    Notes
	Log      *slog.Logger
	What     string // what a request is, for log lines, such as "an MCP server's question"
	Requests string // prefix of the names of requests, such as "mcp/question/"
	Replies  string
	Most     int // open requests per thread and server

	Many    error // returned by Ask for more than Most open requests
	None    error // returned by Reply for a missing request
	Replied error // returned by Reply for a request with a reply

	mu   sync.Mutex
	open map[string]int // requests of this server, by thread
}

// Names returns the names of the notes with a request and its reply; with "" for id, the prefixes of a thread's names.
// Clients choose thread ids freely, so names have their hash.
func (x *Exchange) Names(thread, id string) (request, reply string) {
	sum := sha256.Sum256([]byte(thread))
	at := hex.EncodeToString(sum[:16]) + "/" + id
	return x.Requests + at, x.Replies + at
}

// Ask stores a request, calls show, and returns the reply. Without one until then, or when ctx ends, it withdraws the
// request and returns ErrLate, or the cause of ctx's end.
func (x *Exchange) Ask(ctx context.Context, thread, id string, body []byte, until time.Time, show func()) (json.RawMessage, error) {
	if !x.acquire(thread) {
		return nil, x.Many
	}
	defer x.release(thread)
	hint := make(chan struct{}, 1)
	defer x.Notes.HearNotes(func() {
		select {
		case hint <- struct{}{}:
		default:
		}
	})()
	request, reply := x.Names(thread, id)
	if err := x.Notes.Swap(ctx, nil, Note{Name: request, Body: body, Until: until.Add(noteTime)}); err != nil {
		x.withdraw(ctx, thread, request, reply)
		return nil, fmt.Errorf("store a request: %w", err)
	}
	show()
	timer := time.NewTimer(until.Sub(x.Notes.Now()))
	defer timer.Stop()
	look := time.NewTicker(pollEvery)
	defer look.Stop()
	for {
		var over error
		select {
		case <-hint:
		case <-look.C:
		case <-timer.C:
			over = ErrLate
		case <-ctx.Done():
			over = context.Cause(ctx)
		}
		if over != nil {
			if body := x.withdraw(ctx, thread, request, reply); body != nil {
				return body, nil
			}
			return nil, over
		}
		if body := x.take(ctx, thread, reply); body != nil {
			return body, nil
		}
	}
}

func (x *Exchange) acquire(thread string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open[thread] >= x.Most {
		return false
	}
	if x.open == nil {
		x.open = map[string]int{}
	}
	x.open[thread]++
	return true
}

func (x *Exchange) release(thread string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open[thread]--; x.open[thread] == 0 {
		delete(x.open, thread)
	}
}

// take returns a reply and empties its note, which stays for a while; nil if there is none.
func (x *Exchange) take(ctx context.Context, thread, reply string) json.RawMessage {
	list, err := x.Notes.Notes(ctx, reply)
	if err != nil || len(list) == 0 { // checked again later
		return nil
	}
	err = x.Notes.Swap(ctx, nil, Note{Name: reply, Body: []byte("null"), Until: list[0].Until, Over: true})
	if err != nil && ctx.Err() == nil {
		x.Log.Warn("couldn't delete the reply to "+x.What, "thread", thread, "note", reply, "err", err)
	}
	return list[0].Body
}

// withdraw removes a request. It returns the reply if one arrived at the last moment, else nil.
func (x *Exchange) withdraw(ctx context.Context, thread, request, reply string) json.RawMessage {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	err := x.Notes.Swap(ctx, []string{request})
	if errors.Is(err, ErrChanged) {
		return x.take(ctx, thread, reply)
	}
	if err != nil {
		x.Log.Warn("couldn't withdraw "+x.What, "thread", thread, "note", request, "err", err)
	}
	return nil
}

// Reply replaces a request by its reply. until is the end of the request's time.
func (x *Exchange) Reply(ctx context.Context, thread, id string, body []byte, until time.Time) error {
	request, reply := x.Names(thread, id)
	err := x.Notes.Swap(ctx, []string{request}, Note{Name: reply, Body: body, Until: until.Add(repliedBy)})
	if errors.Is(err, ErrChanged) {
		return x.Missing(ctx, thread, id)
	}
	return err
}

// Missing returns the reason why a request isn't open: Replied or None.
func (x *Exchange) Missing(ctx context.Context, thread, id string) error {
	_, reply := x.Names(thread, id)
	list, err := x.Notes.Notes(ctx, reply)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(n Note) bool { return n.Name == reply }) {
		return x.Replied
	}
	return x.None
}
