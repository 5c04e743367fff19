package egress

import (
	"context"
	"time"
)

// Answer is an owner's answer to a [Question].
type Answer string

// The answers.
const (
	Once   Answer = "once"   // the asking thread, for OnceFor from the answer
	Thread Answer = "thread" // the asking thread, for good
	Always Answer = "always" // every thread of the owner
	No     Answer = "no"     // not the asking thread; it is not asked again there
)

// OnceFor is the duration of [Once]. It can't mean a single connection, because a command makes many and is run again
// after the answer.
const OnceFor = 10 * time.Minute

// Question asks an owner whether a thread may reach an undecided host.
type Question struct {
	Thread string    `json:"thread_id"`
	Host   string    `json:"host"` // as Host returns it
	Port   int       `json:"port"`
	At     time.Time `json:"at"`
}

// Decision is a stored answer.
type Decision struct {
	Thread string    `json:"thread_id"` // the thread that asked
	Host   string    `json:"host"`      // as Host returns it
	Answer Answer    `json:"answer"`
	At     time.Time `json:"at"`
}

// Decisions keeps the owner's answers. Implementations are safe for use from
// any goroutine; [Decide] holds the rules that they share.
type Decisions interface {
	// Lookup returns the current answer for host in thread, if there is one. After an error the
	// connection is refused.
	Lookup(ctx context.Context, thread, host string) (Answer, bool, error)
	// Remember stores an answer. Of several about the same thread and host, the
	// newest counts.
	Remember(ctx context.Context, d Decision) error
}

// Decide returns the answer that counts in thread at the time now, given the
// decisions about one host by the thread's owner. Of each thread the newest
// decision counts, and of other threads only [Always].
func Decide(about []Decision, thread string, now time.Time) (Answer, bool) {
	newest := make(map[string]Decision, len(about))
	for _, d := range about {
		if d.Answer == Once && (now.Sub(d.At) >= OnceFor || now.Before(d.At)) {
			continue
		}
		if last, ok := newest[d.Thread]; !ok || !d.At.Before(last.At) {
			newest[d.Thread] = d
		}
	}
	switch own := newest[thread].Answer; own {
	case Once, Thread, Always, No:
		return own, true
	}
	for _, d := range newest {
		if d.Answer == Always {
			return Always, true
		}
	}
	return "", false
}
