package tlsport

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Limits of connections that haven't sent their first byte: in total, and per address, so that a single client can't
// take every place.
const (
	maxWaiting    = 512
	maxOfOneOwner = 64
)

// Listen distinguishes TLS connections from plain ones on one port: it returns the former as [tls.Conn]. Each client
// has a time limit for its first byte, without delaying others. Closing it closes l.
func Listen(l net.Listener, c *tls.Config, patience time.Duration) net.Listener {
	s := &splitter{Listener: l, config: c, patience: patience, ready: make(chan net.Conn),
		free: make(chan struct{}, maxWaiting), closed: make(chan struct{})}
	s.work.Go(s.accept)
	return s
}

type splitter struct {
	net.Listener
	config   *tls.Config
	patience time.Duration
	ready    chan net.Conn
	free     chan struct{} // a place for each connection that waits
	closed   chan struct{}
	once     sync.Once
	work     sync.WaitGroup

	mu      sync.Mutex
	waiting map[netip.Prefix][]net.Conn // the oldest first
	err     error                       // error of accepting
}

// Accept returns the next connection that has begun to speak.
func (s *splitter) Accept() (net.Conn, error) {
	select {
	case c := <-s.ready:
		return c, nil
	case <-s.closed:
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, s.err
	}
}

// Close closes the listener and its unaccepted connections.
func (s *splitter) Close() error {
	err := s.end(net.ErrClosed)
	s.work.Wait()
	return err
}

func (s *splitter) end(why error) (err error) {
	s.once.Do(func() {
		s.mu.Lock()
		s.err = why
		for _, all := range s.waiting {
			for _, c := range all {
				err = errors.Join(err, ignoreClosed(c.Close()))
			}
		}
		s.mu.Unlock()
		close(s.closed)
		err = errors.Join(err, s.Listener.Close())
	})
	return err
}

func (s *splitter) accept() {
	for {
		select {
		case s.free <- struct{}{}:
		case <-s.closed:
			return
		}
		c, err := s.Listener.Accept()
		if temporary(err) { // too many open files, for example: others will end
			<-s.free
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-s.closed:
				return
			}
		}
		if err != nil {
			s.end(err)
			return
		}
		s.work.Go(func() {
			defer func() { <-s.free }()
			s.sort(c)
		})
	}
}

// temporary reports whether accepting may work again soon.
func temporary(err error) bool {
	var ne interface{ Temporary() bool }
	return err != nil && errors.As(err, &ne) && ne.Temporary()
}

// sort waits for the first byte of a connection and hands it out, or closes it.
func (s *splitter) sort(c net.Conn) {
	if !s.wait(c) {
		c.Close()
		return
	}
	first := make([]byte, 1)
	err := c.SetReadDeadline(time.Now().Add(s.patience))
	if err == nil {
		_, err = c.Read(first)
	}
	s.forget(c)
	if err != nil || c.SetReadDeadline(time.Time{}) != nil {
		c.Close()
		return
	}
	var out net.Conn = &begun{Conn: c, first: first}
	if first[0] == recordHandshake {
		out = tls.Server(out, s.config)
	}
	select {
	case s.ready <- out:
	case <-s.closed:
		c.Close()
	}
}

// wait registers a connection for Close, and returns false if the listener is closed. The oldest connection of an
// address over the limit is closed: honest clients send earlier.
func (s *splitter) wait(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	if s.waiting == nil {
		s.waiting = map[netip.Prefix][]net.Conn{}
	}
	who := owner(c.RemoteAddr())
	all := append(s.waiting[who], c)
	if len(all) > maxOfOneOwner {
		all[0].Close() // its reader notices
		all = slices.Delete(all, 0, 1)
	}
	s.waiting[who] = all
	return true
}

// forget removes a connection that has spoken or ended.
func (s *splitter) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := owner(c.RemoteAddr())
	all := s.waiting[who]
	if i := slices.Index(all, c); i >= 0 {
		all = slices.Delete(all, i, i+1)
	}
	if s.waiting[who] = all; len(all) == 0 {
		delete(s.waiting, who)
	}
}

// owner returns the network that one client can choose its address from: all of an IPv4 address, and the first half of
// one of IPv6.
func owner(client net.Addr) netip.Prefix {
	a, ok := client.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := a.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// recordHandshake is the first byte of a TLS handshake (RFC 8446, section 5.1). No method of
// HTTP begins with it.
const recordHandshake = 0x16

// begun is a connection with its first byte read.
type begun struct {
	net.Conn
	first []byte
}

func (c *begun) Read(p []byte) (int, error) {
	if len(c.first) > 0 && len(p) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
