package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/e2e/gate"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestHaproxyAsDocumented runs the configuration of docs/proxy.md: its check, pages below the path, a stream that is not
// held back, files both ways, and a server that has gone.
func TestHaproxyAsDocumented(t *testing.T) {
	gate.In(t, gate.Attack, "it needs haproxy, which only the nightly parts install")
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/haproxy") // where ordinary users of Debian don't look
	}
	if err != nil && os.Getenv("FAWN_CI") == "1" {
		t.Fatal("haproxy is not installed, and CI skips nothing")
	} else if err != nil {
		t.Skip("haproxy is not installed")
	}
	page, err := os.ReadFile("docs/proxy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, conf, found := strings.Cut(string(page), "```haproxy\n")
	conf, _, closed := strings.Cut(conf, "```")
	if !found || !closed {
		t.Fatal("docs/proxy.md has no configuration for haproxy")
	}
	model, dir := scriptmodel.Start(t), t.TempDir()
	s := serve(t, nil, "--data", t.TempDir(), "--config", file(t, "config.yaml", "memory: {model_name: offline}\n"+
		"server: {base_path: /fawn, trusted_proxies: [127.0.0.1], hosts: [fawn.example.org]}\n"+webtest.Model(model)))
	_, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/fawn"), ":")
	both, roots := selfSigned(t, "fawn.example.org")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	changes := []string{"bind :443", "bind " + at, "/etc/ssl/fawn/both.pem", filepath.Join(dir, "both.pem"),
		"127.0.0.1:2026", "127.0.0.1:" + port}
	for i := 0; i < len(changes); i += 2 {
		if strings.Count(conf, changes[i]) != 1 {
			t.Fatalf("the configuration has %q %d times", changes[i], strings.Count(conf, changes[i]))
		}
	}
	conf = strings.NewReplacer(changes...).Replace(conf)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "both.pem"), both, 0o600),
		os.WriteFile(filepath.Join(dir, "haproxy.cfg"), []byte(conf), 0o600), l.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	said := &bytes.Buffer{}
	proxy := exec.CommandContext(ctx, program, "-db", "-f", filepath.Join(dir, "haproxy.cfg"))
	proxy.Stdout, proxy.Stderr = said, said
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = proxy.Wait() // it was killed
		if t.Failed() {
			t.Log(said)
		}
	})
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: version == "HTTP/2.0",
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, at)
			}}
		t.Cleanup(transport.CloseIdleConnections)
		client, base := &http.Client{Transport: transport, Timeout: patience}, "https://fawn.example.org/fawn"
		get := func(path string) (*http.Response, string) {
			res, err := client.Get(base + path)
			if err != nil {
				return &http.Response{}, err.Error()
			}
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Error(err)
			}
			return res, string(b)
		}
		until(t, func() bool { res, _ := get("/health"); return res.StatusCode == http.StatusOK })
		res, body := get("/workspace/chats/new")
		if res.StatusCode != http.StatusOK || res.Proto != version || !strings.Contains(body, `"/fawn/assets/`) {
			t.Errorf("%s: the page: %d %s %.300s", version, res.StatusCode, res.Proto, body)
		}

		name := strings.NewReplacer("/", "", ".", "").Replace(version)
		res, err := client.Post(base+"/threads/"+name+"/runs/stream", "application/json", strings.NewReader(agenttest.RunBody("/runs",
			input(`SCRIPT{"turns": [{"text": "first words ", "chunk": 40, "gate": "`+name+`", "rest": "and the last"}]}`))))
		if err != nil {
			t.Fatal(err)
		}
		lines, seen := bufio.NewScanner(res.Body), ""
		for lines.Scan() {
			seen += lines.Text() + "\n"
			if strings.Contains(seen, "words") { // which came before the end was said
				model.Open(name)
			}
		}
		res.Body.Close()
		if !strings.Contains(seen, "last") || !strings.Contains(seen, "event: end") {
			t.Errorf("%s: the stream: %s", version, seen)
		}

		sent := make([]byte, 5<<20)
		_, _ = rand.Read(sent) // never fails
		file, kind := form(t, "up.bin", string(sent))
		res = must.Get(client.Post(base+"/api/threads/"+name+"/uploads", kind, file))(t)
		res.Body.Close()
		if got, back := get("/api/threads/" + name + "/artifacts/mnt/user-data/uploads/up.bin"); res.StatusCode != http.StatusOK ||
			got.StatusCode != http.StatusOK || back != string(sent) {
			t.Errorf("%s: a file: %d, back %d with %d bytes", version, res.StatusCode, got.StatusCode, len(back))
		}
		if version == "HTTP/2.0" {
			s.end(t, os.Interrupt)
			until(t, func() bool { res, _ := get("/health"); return res.StatusCode == http.StatusServiceUnavailable })
		}
	}
}

// selfSigned is a certificate with its key, and who trusts it.
func selfSigned(t *testing.T, host string) (both []byte, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return append(cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), roots
}
