package web_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/webtest"
)

// pebble is Let's Encrypt's own authority for tests, which .ci/install brings for the nightly parts.
func pebble(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("pebble"); err == nil {
		return path
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOPATH").Output()
	if err == nil {
		path := filepath.Join(strings.TrimSpace(string(out)), "bin", "pebble")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	if os.Getenv("FAWN_NIGHTLY") == "1" {
		t.Fatal("Pebble is missing, and make nightly skips nothing")
	}
	t.Skip("Pebble is missing: go install github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1")
	return ""
}

// resolver says that every name is this machine; Pebble asks it over TCP.
func resolver(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if err := errors.Join(c.SetDeadline(time.Now().Add(patience)), resolve(c), c.Close()); err != nil {
				t.Log("resolver:", err)
			}
		}
	}()
	return l.Addr().String()
}

// resolve answers one question (RFC 1035).
func resolve(c io.ReadWriter) error {
	var size uint16
	if err := binary.Read(c, binary.BigEndian, &size); err != nil {
		return err
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		return err
	}
	m.Response, m.Additionals = true, nil
	for _, q := range m.Questions {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}})
		}
	}
	b, err := m.AppendPack([]byte{0, 0})
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(b, uint16(len(b)-2))
	_, err = c.Write(b)
	return err
}

// authority runs Pebble, whose proofs come from a port of this machine, until stop.
func authority(t *testing.T, path, at, cert, key, port string) (roots *x509.CertPool, stop func()) {
	t.Helper()
	manage := freeAddr(t)
	proof, err := strconv.Atoi(port)
	must.Do(t, err)
	conf, err := json.Marshal(map[string]any{"pebble": map[string]any{"listenAddress": at,
		"managementListenAddress": manage, "certificate": cert, "privateKey": key, "httpPort": 1, "tlsPort": proof}})
	must.Do(t, err)
	file := filepath.Join(t.TempDir(), "pebble.json")
	must.Do(t, os.WriteFile(file, conf, 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "-config", file, "-dnsserver", resolver(t))
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	var said agenttest.Log
	cmd.Stdout, cmd.Stderr = &said, &said
	must.Do(t, cmd.Start())
	stop = func() { cancel(); _ = cmd.Wait() } // it was killed
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("Pebble:\n%s", &said)
		}
	})
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		res, err := client.Get("https://" + manage + "/roots/0")
		if err != nil {
			if time.Now().After(end) {
				t.Fatal(err)
			}
			continue
		}
		root, err := io.ReadAll(res.Body)
		res.Body.Close()
		roots = x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(root) {
			t.Fatalf("%v %s", err, root)
		}
		return roots, stop
	}
}

// TestAnAuthorityGivesTheCertificate: at the first connection, for the names it may have, and
// not again at the next start.
func TestAnAuthorityGivesTheCertificate(t *testing.T) {
	t.Parallel()
	path := pebble(t)
	cert, key, _ := certificate(t) // of the authority's own page: for 127.0.0.1
	at, data := freeAddr(t), t.TempDir()
	conf := fmt.Sprintf("server: {tls: {domains: [fawn.test], email: a@fawn.test, directory: %q, directory_ca: %q}}",
		"https://"+at+"/dir", cert)
	open := func() (*server, string) {
		s := start(t, conf, func(o *web.Options) { o.Data = data })
		_, port, err := net.SplitHostPort(s.app.Addr())
		must.Do(t, err)
		return s, port
	}
	s, port := open()
	roots, stop := authority(t, path, at, cert, key, port)
	ask := func(name string) (*x509.Certificate, error) {
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: patience},
			Config: &tls.Config{RootCAs: roots, ServerName: name}}
		c, err := d.DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /ok HTTP/1.0\r\nHost: "+name+"\r\n\r\n"); err != nil {
			return nil, err
		}
		b, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(b), `"ok"`) {
			t.Errorf("%v %s", err, b)
		}
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
	}
	first, err := ask("fawn.test")
	must.Do(t, err)
	if len(first.DNSNames) != 1 || first.DNSNames[0] != "fawn.test" {
		t.Errorf("it is for %v", first.DNSNames)
	}
	if _, err := ask("other.test"); err == nil {
		t.Error("there is a certificate for a name that is not the server's")
	}
	must.Do(t, s.stop())
	stop()
	_, port = open()
	if again, err := ask("fawn.test"); err != nil || !again.Equal(first) {
		t.Errorf("after a restart, without the authority: %v", err)
	}
	var out agenttest.Log
	ok, err := cli.Doctor(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: data, Config: s.conf, Out: &out})
	if err != nil || !ok {
		t.Errorf("%v %v\n%s", ok, err, &out)
	}
	webtest.Holds(t, "doctor", out.String(),
		"note  tls           https://"+at+"/dir can't be reached",
		"ok    tls           fawn.test: until "+first.NotAfter.Format("2006-01-02"))
}
