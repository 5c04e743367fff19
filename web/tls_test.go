package web_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// certificate writes the certificate of net/http/httptest, which is for example.com, and its key.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	c := s.TLS.Certificates[0]
	raw, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	must.Do(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		must.Do(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return cert, key, roots
}

// TestThePortSpeaksTLS with the certificate of two files, HTTP/2 included, and sends others there.
func TestThePortSpeaksTLS(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	s := start(t, fmt.Sprintf("server: {hosts: [example.com], trusted_proxies: [loopback], tls: {cert: %q, key: %q}}",
		cert, key))
	_, port, err := net.SplitHostPort(s.app.Addr())
	must.Do(t, err)
	want := "Fawn is ready at https://example.com:" + port + "\n"
	for end := time.Now().Add(patience); !strings.Contains(s.out.String(), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it says %q, not %q", s.out.String(), want)
		}
	}
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.app.Addr())
		}}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: patience}).Get("https://example.com:" + port + "/ok")
	must.Do(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
		t.Errorf("%s %s: %s, %v", res.Proto, res.Status, body, err)
	}

	s.send(t, "GET", "/ok", "").want(t, "a program on this machine gets", http.StatusOK)
	elsewhere := []string{"X-Forwarded-For", "203.0.113.7", "Host", "example.com:" + port}
	got := s.send(t, "GET", "/settings/models?x=1", "", elsewhere...)
	to := got.header.Get("Location")
	if got.status != http.StatusPermanentRedirect || to != "https://example.com:"+port+"/settings/models?x=1" {
		t.Errorf("without TLS: %d to %q", got.status, to)
	}
	got = s.send(t, "POST", "/threads", "{}", elsewhere...)
	if to := got.header.Get("Location"); got.status != http.StatusForbidden || to != "" {
		t.Errorf("what was said in the open is sent again: %d %q", got.status, to)
	}
}

// TestACertificateThatCannotBeUsedIsNamed, and nothing is served without it.
func TestACertificateThatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	_, other, _ := certificate(t)
	must.Do(t, os.WriteFile(other, []byte("no key"), 0o600))
	for conf, want := range map[string]string{
		fmt.Sprintf("{cert: %q}", cert):                               "cert and key",
		fmt.Sprintf("{cert: %q, key: %q}", cert, other):               other,
		fmt.Sprintf("{cert: %q, key: %q}", cert+"x", key):             cert + "x",
		fmt.Sprintf("{cert: %q, key: %q, domains: [a.b]}", cert, key): "one of them",
		"{domains: [a.b], directory_ca: /nowhere}":                    "/nowhere",
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		must.Do(t, os.WriteFile(file, []byte("server: {tls: "+conf+"}"), 0o600))
		app, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: file})
		if err == nil {
			t.Errorf("%s is taken", conf)
			if err := app.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		webtest.Holds(t, fmt.Sprintf("%s: %v", conf, err), err.Error(), "server.tls", want)
	}
}
