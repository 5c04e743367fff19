package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Keys of the cursor.
const (
	discordSession = "session"
	discordURL     = "resume_url"
	discordSeq     = "seq"
	discordLast    = "channels" // JSON: the last message taken of each channel
)

// Operations of the gateway.
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

type discordFrame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

// discordLink is one connection to the gateway.
type discordLink struct {
	*Discord
	in   Inbox
	me   Me
	sock *socket
	up   func()

	seq   atomic.Int64 // number of the last event taken
	acked atomic.Bool  // the last heartbeat was acknowledged
	busy  atomic.Bool  // set while received updates are being stored
}

// Run reads the gateway.
func (d *Discord) Run(ctx context.Context, in Inbox) error {
	return again(ctx, d.cfg.Options, in, func(ctx context.Context, up func()) error {
		me, err := d.Check(ctx)
		if err != nil {
			return err
		}
		l := &discordLink{Discord: d, in: in, me: me, up: up}
		return l.stand(ctx)
	})
}

// stand connects and reads until the connection ends. nil means reconnect.
func (l *discordLink) stand(ctx context.Context) error {
	session, at := l.in.Cursor(discordSession), l.in.Cursor(discordURL)
	seq, err := strconv.ParseInt(l.in.Cursor(discordSeq), 10, 64)
	resume := err == nil && session != "" && l.c.ownHost(at) == nil
	if !resume {
		if at, err = l.gateway(ctx); err != nil {
			return err
		}
	}
	l.sock, err = l.c.dial(ctx, "Discord's gateway", strings.TrimRight(at, "/")+"/?v=10&encoding=json", nil)
	if err != nil {
		return err
	}
	// Closed in order the session would end: it must outlive the connection.
	defer l.sock.close(0)
	if err := l.hello(ctx); err != nil {
		return err
	}
	if resume {
		l.seq.Store(seq)
		err = l.send(ctx, opResume, map[string]any{"token": l.cfg.Token, "session_id": session, "seq": seq})
	} else {
		properties := map[string]string{"os": "linux", "browser": "fawn", "device": "fawn"}
		err = l.send(ctx, opIdentify, map[string]any{"token": l.cfg.Token, "intents": discordIntents,
			"properties": properties})
	}
	for err == nil {
		var done bool
		if done, err = l.next(ctx); done {
			return nil
		}
	}
	return l.closed(ctx, err)
}

// gateway returns the address for a new session. Discord allows a thousand a day.
func (l *discordLink) gateway(ctx context.Context) (string, error) {
	var at struct {
		URL   string `json:"url"`
		Limit struct {
			Total     int     `json:"total"`
			Remaining int     `json:"remaining"`
			Reset     float64 `json:"reset_after"`
		} `json:"session_start_limit"`
	}
	if err := l.do(ctx, call{op: "gateway/bot", method: http.MethodGet, path: "/gateway/bot"}, &at); err != nil {
		return "", err
	}
	if at.Limit.Total > 0 && at.Limit.Remaining == 0 {
		return "", &Rate{After: max(time.Minute, wait(at.Limit.Reset/1000))}
	}
	return at.URL, l.c.ownHost(at.URL)
}

// hello reads the first frame and begins to send heartbeats.
func (l *discordLink) hello(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	data, err := l.sock.read(limited)
	if err != nil {
		return l.closed(ctx, err)
	}
	var f struct {
		Op   int `json:"op"`
		Data struct {
			Interval int64 `json:"heartbeat_interval"`
		} `json:"d"`
	}
	if json.Unmarshal(data, &f) != nil || f.Op != opHello || f.Data.Interval <= 0 {
		return errors.New("the gateway sent no hello")
	}
	l.acked.Store(true)
	l.sock.every(ctx, cmp.Or(l.cfg.Beat, time.Duration(f.Data.Interval)*time.Millisecond),
		func(ctx context.Context) error {
			if !l.acked.Swap(false) && !l.busy.Load() {
				return errors.New("the gateway stopped responding")
			}
			return l.beat(ctx)
		})
	return nil
}

func (l *discordLink) beat(ctx context.Context) error {
	var seq any
	if n := l.seq.Load(); n > 0 {
		seq = n
	}
	return l.send(ctx, opHeartbeat, seq)
}

func (l *discordLink) send(ctx context.Context, op int, data any) error {
	return l.sock.writeJSON(ctx, map[string]any{"op": op, "d": data})
}

// closed explains the end of a connection.
func (l *discordLink) closed(ctx context.Context, err error) error {
	switch websocket.CloseStatus(err) {
	case 4004:
		return discordToken()
	case 4013, 4014:
		return &Fatal{Cause: SwitchedOff, Reason: "The bot may not read messages on Discord.",
			Remedy: "Switch on Message Content Intent in the developer portal under Bot."}
	case 4010, 4011, 4012:
		return &Fatal{Cause: Outdated, Reason: "Discord's gateway no longer works as it did.",
			Remedy: "Update Fawn."}
	case 4007, 4009:
		return errors.Join(l.forget(ctx), err)
	}
	return err
}

// forget makes the next session start afresh.
func (l *discordLink) forget(ctx context.Context) error {
	return l.in.Take(ctx, nil, map[string]string{discordSession: "", discordURL: "", discordSeq: ""})
}

// next handles a frame. done means that the gateway requested a reconnect.
func (l *discordLink) next(ctx context.Context) (done bool, err error) {
	data, err := l.sock.read(ctx)
	if err != nil {
		return false, err
	}
	l.busy.Store(true)
	defer l.busy.Store(false)
	l.acked.Store(true) // any response proves that the connection works
	var f discordFrame
	if json.Unmarshal(data, &f) != nil {
		return false, nil
	}
	switch f.Op {
	case opDispatch:
		return false, l.dispatch(ctx, f)
	case opHeartbeat:
		return false, l.beat(ctx)
	case opReconnect:
		return true, nil
	case opInvalid:
		if string(f.Data) != "true" {
			err = l.forget(ctx)
		}
		first := cmp.Or(l.cfg.FirstWait, time.Second)
		sleep(ctx, time.Duration(float64(first)*(1+4*rand.Float64())))
		return true, err
	}
	return false, nil
}

func (l *discordLink) dispatch(ctx context.Context, f discordFrame) error {
	switch f.Type {
	case "READY":
		var r struct {
			Session string `json:"session_id"`
			URL     string `json:"resume_gateway_url"`
		}
		if err := json.Unmarshal(f.Data, &r); err != nil {
			return l.c.clean("READY", err)
		}
		if err := l.missed(ctx); err != nil {
			return err
		}
		err := l.in.Take(ctx, nil, map[string]string{discordSession: r.Session, discordURL: r.URL,
			discordSeq: strconv.FormatInt(f.Seq, 10)})
		if err != nil {
			return err
		}
		l.up()
	case "RESUMED":
		l.up()
	case "MESSAGE_CREATE":
		u, channel, ok, err := l.message(ctx, f.Data)
		if err != nil {
			return err
		}
		if ok {
			cursor := map[string]string{discordSeq: strconv.FormatInt(f.Seq, 10)}
			if channel != "" {
				cursor[discordLast] = noteLast(l.in.Cursor(discordLast), channel, u.Message)
			}
			if err := l.in.Take(ctx, []Update{u}, cursor); err != nil {
				return err
			}
		}
	case "MESSAGE_REACTION_ADD":
		u, ok, err := l.reaction(ctx, f.Data)
		if err != nil {
			return err
		}
		if ok {
			err = l.in.Take(ctx, []Update{u}, map[string]string{discordSeq: strconv.FormatInt(f.Seq, 10)})
		}
		if err != nil {
			return err
		}
	}
	l.seq.Store(f.Seq)
	return nil
}

// most channels that are caught up after a session was lost, and pages of a hundred messages in each.
const (
	catchChannels = 100
	catchPages    = 5
)

// noteLast records the last message of a channel. Ids increase with time, so the oldest are dropped first.
func noteLast(old, channel, message string) string {
	last := map[string]string{}
	_ = json.Unmarshal([]byte(old), &last) // empty at first
	if !newer(message, last[channel]) {
		return old
	}
	last[channel] = message
	for len(last) > catchChannels {
		oldest := channel
		for c, m := range last {
			if newer(last[oldest], m) {
				oldest = c
			}
		}
		delete(last, oldest)
	}
	b, err := json.Marshal(last)
	if err != nil {
		return old
	}
	return string(b)
}

// newer compares ids as numbers.
func newer(a, b string) bool {
	return len(a) > len(b) || len(a) == len(b) && a > b
}

// missed fetches messages written since a session that couldn't be resumed.
func (l *discordLink) missed(ctx context.Context) error {
	last := map[string]string{}
	if json.Unmarshal([]byte(l.in.Cursor(discordLast)), &last) != nil {
		return nil
	}
	for channel, after := range last {
		for range catchPages {
			n, err := l.missedOf(ctx, channel, &after)
			if _, gone := errors.AsType[*Gone](err); gone {
				break
			}
			if err != nil {
				return err
			}
			if n < 100 {
				break
			}
		}
	}
	return nil
}

func (l *discordLink) missedOf(ctx context.Context, channel string, after *string) (int, error) {
	if !isID(channel) || !isID(*after) {
		return 0, nil
	}
	var page []json.RawMessage
	path := "/channels/" + channel + "/messages?limit=100&after=" + *after
	if err := l.do(ctx, call{op: "messages", method: http.MethodGet, path: path}, &page); err != nil {
		return 0, err
	}
	var batch []Update
	for _, raw := range slices.Backward(page) { // the newest comes first
		var id struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &id) == nil && isID(id.ID) && newer(id.ID, *after) {
			*after = id.ID
		}
		u, _, ok, err := l.message(ctx, raw)
		if err != nil {
			return 0, err
		}
		if ok {
			batch = append(batch, u)
		}
	}
	if len(batch) == 0 {
		return len(page), nil
	}
	return len(page), l.in.Take(ctx, batch,
		map[string]string{discordLast: noteLast(l.in.Cursor(discordLast), channel, *after)})
}
