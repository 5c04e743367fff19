package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/store/commit"
	"fawn/store/wake"
)

const (
	wakeEvery  = 20 * time.Millisecond // notifications within it are combined
	wakeBytes  = 7900                  // of a payload, which must have less than 8,000
	wakeTime   = 2 * time.Second       // limit of sending a notification
	wakeAgain  = 100 * time.Millisecond
	followedBy = 10 * time.Second // how long a follower is assumed to stay
)

// wakeWire sends notifications between servers by NOTIFY, in separate transactions: a writing one would wait for all
// others' at its end. Each kind and server has a channel.
type wakeWire struct {
	wakes   *wake.Hub
	node    *Lease
	conf    *pgx.ConnConfig
	readers *sql.DB
	prefix  string // prefix of channels; other schemas share the database
	log     *slog.Logger
	meter   commit.Meter
	sayTime time.Duration // after it, unsent notifications are dropped

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	followed atomic.Int64  // end of the time in which our tail is followed, since node.origin
	spoken   chan struct{} // one token: a notification is pending

	mu      sync.Mutex
	pending map[wake.Topic]*saying
	retuned context.CancelFunc // cancels the wait for a notification
}

// saying is a pending notification on a topic.
type saying struct {
	since time.Time
	ids   []string
	bytes int
	all   bool
}

// Listen starts the poll of other servers and, with notify, the exchange of hints with them. Listeners are those of a
// hub. It does nothing for a database with one server.
func (e *Engine) Listen(w *wake.Hub, notify bool) {
	if e.Cluster == nil {
		return
	}
	e.Cluster.work.Go(func() { e.Cluster.watch(w) })
	if !notify {
		return
	}
	class := fnv.New64a()
	class.Write([]byte(e.schema))
	wire := &wakeWire{wakes: w, node: e.Lease, conf: e.direct.Copy(), readers: e.readers, log: e.log,
		meter: e.Meter, sayTime: cmp.Or(e.sayTime, wakeTime),
		prefix: fmt.Sprintf("fawn_%x", class.Sum64()), spoken: make(chan struct{}, 1),
		pending: map[wake.Topic]*saying{}}
	wire.ctx, wire.stop = context.WithCancel(context.Background())
	w.Connect(wire)
	w.Hear(wake.Topic{Kind: wake.Follow, Server: e.Lease.id}, func(wake wake.Hint) {
		if !wake.All {
			wire.followed.Store(int64(time.Since(e.Lease.origin) + followedBy))
		}
	})
	wire.work.Go(wire.listen)
	wire.work.Go(wire.speak)
}

// Close implements [wake.Wire].
func (w *wakeWire) Close() {
	w.stop()
	w.work.Wait()
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Wrote notifies readers of this server's tail.
func (w *wakeWire) Wrote() {
	if time.Since(w.node.origin) < time.Duration(w.followed.Load()) {
		w.Say(wake.Topic{Kind: wake.Tail, Server: w.node.id}, nil)
	}
}

// Say queues a notification, unless there is no other server.
func (w *wakeWire) Say(topic wake.Topic, ids []string) {
	if w.node.Others.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.pending[topic]
	if s == nil {
		s = &saying{since: time.Now()}
		w.pending[topic] = s
	}
	for _, id := range ids {
		if s.all || slices.Contains(s.ids, id) {
			continue
		}
		body, err := json.Marshal(id)
		if s.bytes += len(body) + 1; err != nil || s.bytes > wakeBytes-32 {
			s.ids, s.all = nil, true
			continue
		}
		s.ids = append(s.ids, id)
	}
	poke(w.spoken)
}

// speak sends queued notifications until the end.
func (w *wakeWire) speak() {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.spoken:
		}
		if err := w.sayAll(); err != nil && w.ctx.Err() == nil {
			w.log.Warn("couldn't notify other servers; they poll", "err", err)
		}
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(wakeEvery):
		}
	}
}

func (w *wakeWire) sayAll() error {
	w.mu.Lock()
	said := w.pending
	w.pending = make(map[wake.Topic]*saying, len(said))
	w.mu.Unlock()
	var channels, payloads []string
	for topic, s := range said {
		body, err := json.Marshal(message{From: w.node.id, IDs: s.ids, All: s.all})
		if err != nil {
			return err
		}
		channels, payloads = append(channels, w.channel(topic)), append(payloads, string(body))
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.sayTime)
	defer cancel()
	began, waited := time.Now(), time.Duration(0)
	for _, s := range said {
		waited = max(waited, began.Sub(s.since))
	}
	_, err := w.readers.ExecContext(ctx, `SELECT pg_notify(channel, payload)
		FROM unnest(CAST($1 AS text[]), CAST($2 AS text[])) AS said(channel, payload)`, channels, payloads)
	if err == nil {
		w.meter.Said(waited + time.Since(began))
	}
	return err
}

// message is a payload.
type message struct {
	From int64    `json:"from"`
	IDs  []string `json:"ids,omitempty"`
	All  bool     `json:"all,omitempty"`
}

func (w *wakeWire) channel(topic wake.Topic) string {
	return fmt.Sprintf("%s_%c_%d", w.prefix, topic.Kind, topic.Server)
}

// Retune makes the listener listen to other channels.
func (w *wakeWire) Retune() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retuned != nil {
		w.retuned()
	}
}

// listen receives notifications until the end. It connects again when the connection is lost.
func (w *wakeWire) listen() {
	for w.ctx.Err() == nil && w.node.Ended() == nil {
		conn, err := pgx.ConnectConfig(w.ctx, w.conf)
		if err == nil {
			err = w.listenOn(conn)
			ctx, cancel := context.WithTimeout(context.Background(), wakeTime)
			conn.Close(ctx)
			cancel()
		}
		if w.ctx.Err() != nil || w.node.Ended() != nil {
			return
		}
		w.log.Warn("lost notifications of other servers; reconnecting", "err", err)
		select {
		case <-w.ctx.Done():
		case <-time.After(wakeAgain):
		}
	}
}

func (w *wakeWire) listenOn(conn *pgx.Conn) error {
	topics := map[string]wake.Topic{}
	for {
		ctx, cancel := context.WithCancel(w.ctx)
		w.mu.Lock()
		w.retuned = cancel // set before checking the channels
		w.mu.Unlock()
		err := w.tune(conn, topics)
		for err == nil && ctx.Err() == nil {
			err = w.hearOne(ctx, conn, topics)
		}
		again := ctx.Err() != nil && w.ctx.Err() == nil && !conn.IsClosed()
		cancel()
		if !again {
			return err
		}
	}
}

// tune listens to the wanted channels. Notifications of new ones may have been missed.
func (w *wakeWire) tune(conn *pgx.Conn, topics map[string]wake.Topic) error {
	wanted := map[string]bool{}
	var fresh []wake.Topic
	for _, topic := range w.wakes.Topics() {
		name := w.channel(topic)
		wanted[name] = true
		if _, ok := topics[name]; ok {
			continue
		}
		if _, err := conn.Exec(w.ctx, `LISTEN `+quoteName(name)); err != nil {
			return err
		}
		topics[name] = topic
		fresh = append(fresh, topic)
	}
	for name := range topics {
		if !wanted[name] {
			if _, err := conn.Exec(w.ctx, `UNLISTEN `+quoteName(name)); err != nil {
				return err
			}
			delete(topics, name)
		}
	}
	for _, topic := range fresh {
		w.wakes.Tell(topic, wake.Hint{Kind: topic.Kind, All: true})
	}
	return nil
}

func (w *wakeWire) hearOne(ctx context.Context, conn *pgx.Conn, topics map[string]wake.Topic) error {
	n, err := conn.WaitForNotification(ctx)
	if err != nil {
		return err
	}
	topic, ok := topics[n.Channel]
	var m message
	if err := json.Unmarshal([]byte(n.Payload), &m); err != nil {
		m.All = true
	}
	if ok && m.From != w.node.id { // local listeners were called already
		w.wakes.Tell(topic, wake.Hint{Kind: topic.Kind, IDs: m.IDs, All: m.All})
	}
	return nil
}
