package egress

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// flow is the two sides of one connection: its bytes in both directions are counted, and silence on both sides ends it.
type flow struct {
	client  net.Conn
	account *account
	idle    time.Duration

	up      net.Conn // nil until connected
	in, out atomic.Int64
	limited atomic.Bool // the thread's budget ended it
	touched atomic.Int64
}

// touch moves the deadlines of both sides after bytes went either way, some
// dozens of times per idle period at most.
func (f *flow) touch() {
	now := time.Now()
	last := f.touched.Load()
	if now.UnixNano()-last < int64(f.idle/32) || !f.touched.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	f.extend(now.Add(f.idle))
}

// extend sets the deadlines of both sides. An error means that a side is closed, which its next read or write reports.
func (f *flow) extend(t time.Time) {
	_ = f.client.SetDeadline(t)
	if f.up != nil {
		_ = f.up.SetDeadline(t)
	}
}

// clientSide is the sandbox's side of a flow for writing. Bytes read from it count as activity once they are sent.
type clientSide struct {
	net.Conn
	flow *flow
}

func (c clientSide) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.flow.touch()
	}
	return n, err
}

// upSide is the network's side of a flow, where the budget is kept.
type upSide struct {
	net.Conn
	flow *flow
}

func (u upSide) Read(p []byte) (int, error) {
	n, err := u.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	u.flow.touch()
	u.flow.in.Add(int64(n))
	if !u.flow.account.received(n) {
		u.flow.limited.Store(true)
		return 0, errBudget
	}
	return n, err
}

func (u upSide) Write(p []byte) (int, error) {
	if !u.flow.account.send(len(p)) {
		u.flow.limited.Store(true)
		return 0, errBudget
	}
	// Counted before the answer to it can have come.
	u.flow.out.Add(int64(len(p)))
	n, err := u.Conn.Write(p)
	u.flow.out.Add(int64(n - len(p)))
	if n > 0 {
		u.flow.touch()
	}
	return n, err
}

// closeWrite ends one direction of a connection, or all of it if that isn't possible.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// splice copies bytes both ways until both ends are done, one fails, or the flow is idle; from reads the client's
// bytes. It closes both sides.
func (f *flow) splice(from io.Reader) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.copy(upSide{f.up, f}, f.up, from)
	}()
	f.copy(clientSide{f.client, f}, f.client, upSide{f.up, f})
	<-done
	f.close()
}

// copy moves bytes one way. The end of the source ends that direction of the
// target only; any other error ends both sides.
func (f *flow) copy(to io.Writer, target net.Conn, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				f.close()
				return
			}
		}
		if errors.Is(err, io.EOF) {
			if closeWrite(target) != nil {
				f.close()
			}
			return
		}
		if err != nil {
			f.close()
			return
		}
	}
}

// close ends both sides; closing twice is harmless.
func (f *flow) close() {
	_ = f.client.Close()
	if f.up != nil {
		_ = f.up.Close()
	}
}
