package channels

import (
	"context"
	"sync"
	"time"

	"fawn/agent/channels/chat"
)

// A rateLimiter keeps the calls to a platform within its limits.
type rateLimiter struct {
	mu     sync.Mutex
	limits chat.Limits
	bot    gate
	chats  map[string]*gate
}

// gate limits calls with the generic cell rate algorithm: the theoretical arrival time of the next call, and until when
// the platform wants no calls at all.
type gate struct {
	next  time.Time
	until time.Time
}

// crowd limits the remembered chats before idle ones are forgotten.
const crowd = 1024

// newRateLimiter returns a rateLimiter without limits.
func newRateLimiter() *rateLimiter { return &rateLimiter{chats: map[string]*gate{}} }

// Limit sets the limits.
func (p *rateLimiter) Limit(l chat.Limits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits = l
}

// Wait blocks until a call may be made in a chat.
func (p *rateLimiter) Wait(ctx context.Context, to chat.Address) error {
	for {
		d := p.reserve(time.Now(), to)
		if d <= 0 {
			return ctx.Err()
		}
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// reserve books a call if it may be made now, or returns how long to wait.
func (p *rateLimiter) reserve(now time.Time, to chat.Address) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.limits.Chat
	if to.Group {
		own = p.limits.Group
	}
	g := p.chat(now, to.Chat)
	if d := max(g.delay(now, own), p.bot.delay(now, p.limits.Bot)); d > 0 {
		return d
	}
	g.book(now, own)
	p.bot.book(now, p.limits.Bot)
	return 0
}

// chat returns the gate of a chat. mu is held.
func (p *rateLimiter) chat(now time.Time, id string) *gate {
	g := p.chats[id]
	if g != nil {
		return g
	}
	if len(p.chats) >= crowd {
		for other, g := range p.chats {
			if g.next.Before(now) && g.until.Before(now) {
				delete(p.chats, other)
			}
		}
	}
	g = &gate{}
	p.chats[id] = g
	return g
}

// Hold suspends calls at the platform's request.
func (p *rateLimiter) Hold(to chat.Address, r *chat.Rate) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	after := r.After
	if after <= 0 {
		after = time.Second
	}
	now := time.Now()
	g := &p.bot
	if r.Chat {
		g = p.chat(now, to.Chat)
	}
	if until := now.Add(after); until.After(g.until) {
		g.until = until
	}
	return g.until
}

func (g *gate) delay(now time.Time, b chat.Bucket) time.Duration {
	d := g.until.Sub(now)
	if b.N > 0 && g.next.After(now) {
		every := b.Per / time.Duration(b.N)
		d = max(d, g.next.Sub(now)-b.Per+every)
	}
	return d
}

func (g *gate) book(now time.Time, b chat.Bucket) {
	if b.N <= 0 {
		return
	}
	if g.next.Before(now) {
		g.next = now
	}
	g.next = g.next.Add(b.Per / time.Duration(b.N))
}

// Limits of one sender.
const (
	perMinute = 20
	perHour   = 200
	codesHour = 5 // wrong codes
)

// senderLimits counts each sender's recent messages and refusals.
type senderLimits struct {
	mu  sync.Mutex
	all map[string]*person
}

type person struct {
	sent  []time.Time // within the last hour
	wrong []time.Time // invalid codes
	told  map[string]time.Time
}

// of returns a person's record. mu is held.
func (p *senderLimits) of(now time.Time, id string) *person {
	if p.all == nil {
		p.all = map[string]*person{}
	}
	one := p.all[id]
	if one == nil {
		if len(p.all) >= crowd {
			for other, o := range p.all {
				if o.idle(now) {
					delete(p.all, other)
				}
			}
		}
		one = &person{}
		p.all[id] = one
	}
	one.sent, one.wrong = within(one.sent, now), within(one.wrong, now)
	return one
}

func (p *person) idle(now time.Time) bool {
	for _, at := range p.told {
		if now.Sub(at) < time.Hour {
			return false
		}
	}
	return len(within(p.sent, now))+len(within(p.wrong, now)) == 0
}

// within drops entries older than an hour.
func within(list []time.Time, now time.Time) []time.Time {
	for len(list) > 0 && now.Sub(list[0]) >= time.Hour {
		list = list[1:]
	}
	return list
}

// Allow counts a message and reports whether the person may send it.
func (p *senderLimits) Allow(now time.Time, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of(now, id)
	if len(one.sent) >= perHour {
		return false
	}
	if n := len(one.sent); n >= perMinute && now.Sub(one.sent[n-perMinute]) < time.Minute {
		return false
	}
	one.sent = append(one.sent, now)
	return true
}

// Tell reports whether a person may be notified, at most once an hour.
func (p *senderLimits) Tell(now time.Time, id, what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of(now, id)
	if at, ok := one.told[what]; ok && now.Sub(at) < time.Hour {
		return false
	}
	if one.told == nil {
		one.told = map[string]time.Time{}
	}
	one.told[what] = now
	return true
}

// Guess counts a wrong code; silent means there were too many.
func (p *senderLimits) Guess(now time.Time, id string) (silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of(now, id)
	if len(one.wrong) >= codesHour {
		return true
	}
	one.wrong = append(one.wrong, now)
	return false
}

// Guessing reports whether a person sent too many wrong codes.
func (p *senderLimits) Guessing(now time.Time, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.of(now, id).wrong) >= codesHour
}

// Limited returns until when the platform wants no calls of the bot at all.
func (p *rateLimiter) Limited() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bot.until
}
