package tlsport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// write makes a certificate for a name that vouches for itself, in two files.
func write(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	must.Do(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	must.Do(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		must.Do(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}

// TestARenewedCertificateIsTaken, and one that is broken is not.
func TestARenewedCertificateIsTaken(t *testing.T) {
	dir := t.TempDir()
	cert, key := write(t, dir, "one.test")
	var log strings.Builder
	p := &pair{cert: cert, key: key, log: slog.New(slog.NewTextHandler(&log, nil))}
	must.Do(t, p.load())
	name := func() string {
		c, err := p.certificate(nil)
		must.Do(t, err)
		return c.Leaf.Subject.CommonName
	}
	if got := name(); got != "one.test" {
		t.Fatal(got)
	}
	write(t, dir, "two.longer.test")
	webtest.Same(t, "after the renewal", name(), "two.longer.test")
	must.Do(t, os.WriteFile(cert, []byte("half a certif"), 0o600))
	webtest.Same(t, "after a broken renewal", name(), "two.longer.test")
	webtest.Holds(t, "the log does not tell of it", log.String(), "renewed certificate invalid")
}

func listen(t *testing.T, patience time.Duration) net.Listener {
	t.Helper()
	cert, key := write(t, t.TempDir(), "fawn.test")
	c, err := Files(cert, key, slog.New(slog.DiscardHandler))
	must.Do(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	s := Listen(l, c, patience)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	must.Do(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestSilentClientsKeepNobodyWaiting: they neither hold up those that speak nor stay for ever.
func TestSilentClientsKeepNobodyWaiting(t *testing.T) {
	l := listen(t, time.Hour)
	for range 20 {
		dial(t, l)
	}
	client := dial(t, l)
	said := make(chan error, 1)
	go func() {
		_, err := io.WriteString(client, "GET")
		said <- err
	}()
	c, err := l.Accept()
	must.Do(t, err)
	defer c.Close()
	must.Do(t, <-said)
	got := make([]byte, 3)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "GET" {
		t.Errorf("%q, %v", got, err)
	}
	if _, encrypted := c.(*tls.Conn); encrypted {
		t.Error("plain words are taken for TLS")
	}

	impatient := listen(t, time.Millisecond)
	silent := dial(t, impatient)
	if _, err := silent.Read(got); err == nil {
		t.Error("a silent client is kept")
	}
}

// TestOneAddressHoldsUpNoOther, nor for long itself, however many connections it keeps silent.
func TestOneAddressHoldsUpNoOther(t *testing.T) {
	l := listen(t, time.Hour)
	for range maxWaiting + 50 {
		dial(t, l)
	}
	for _, from := range []string{"127.0.0.2", "127.0.0.1"} {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}
		client, err := d.Dial("tcp", l.Addr().String())
		if err != nil && runtime.GOOS != "linux" {
			t.Skip(err) // the only address of loopback there is the first
		} else if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := io.WriteString(client, "GET"); err != nil {
			t.Fatal(err)
		}
		accepted := make(chan net.Conn, 1)
		go func() {
			c, _ := l.Accept() // nil at the end of the test
			accepted <- c
		}()
		select {
		case c := <-accepted:
			if got := c.RemoteAddr().String(); got != client.LocalAddr().String() {
				t.Errorf("%s came before %s", got, client.LocalAddr())
			}
			c.Close()
		case <-time.After(time.Minute):
			t.Fatalf("%s has to wait", from)
		}
	}
	s := l.(*splitter)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.waiting); n > 1 {
		t.Errorf("%d addresses are remembered", n)
	}
}

// TestAClientIsItsNetwork where it can take one address of very many.
func TestAClientIsItsNetwork(t *testing.T) {
	for addr, want := range map[string]string{"192.0.2.7:1": "192.0.2.7/32", "[::ffff:192.0.2.7]:1": "192.0.2.7/32",
		"[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64"} {
		a := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))
		webtest.Same(t, addr, owner(a).String(), want)
	}
}

// TestClosingEndsThoseThatWait, and whoever waits for the next connection.
func TestClosingEndsThoseThatWait(t *testing.T) {
	l := listen(t, time.Hour)
	silent := dial(t, l)
	ended := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	must.Do(t, l.Close())
	if err := <-ended; err == nil {
		t.Error("a connection out of a closed listener")
	}
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives its listener")
	}
}

// TestTLSIsHandedOutAsSuch: net/http finds HTTP/2 only in a connection of that type.
func TestTLSIsHandedOutAsSuch(t *testing.T) {
	l := listen(t, time.Hour)
	client := tls.Client(dial(t, l), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	c, err := l.Accept()
	must.Do(t, err)
	defer c.Close()
	server, ok := c.(*tls.Conn)
	if !ok {
		t.Fatalf("%T", c)
	}
	must.Do(t, server.Handshake())
	must.Do(t, <-shaken)
	webtest.Same(t, "they speak", client.ConnectionState().NegotiatedProtocol, "h2")
}
