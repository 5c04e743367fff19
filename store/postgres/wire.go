package postgres

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// wires are the open connections to a database, beneath their users.
type wires struct {
	dial pgconn.DialFunc

	mu   sync.Mutex
	open map[*wire]bool
}

type wire struct {
	net.Conn
	all *wires
}

func (a *wires) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := a.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w := &wire{c, a}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[w] = true
	return w, nil
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.all.mu.Lock()
	delete(w.all.open, w)
	w.all.mu.Unlock()
	return w.Conn.Close()
}

// cut fails everything that currently waits for the database.
func (a *wires) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for w := range a.open {
		w.SetDeadline(time.Unix(1, 0)) // fails only on a closed connection
	}
}
