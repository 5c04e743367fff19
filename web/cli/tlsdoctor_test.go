package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/cli"
)

// lasting writes a certificate for fawn.test that is good between two times from now.
func lasting(t *testing.T, from, until time.Duration) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"fawn.test"},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	must.Do(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	must.Do(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: raw}} {
		must.Do(t, os.WriteFile(file, pem.EncodeToMemory(b), 0o600))
	}
	return cert, key
}

// TestDoctorLooksAtTheCertificate and where it comes from.
func TestDoctorLooksAtTheCertificate(t *testing.T) {
	const day = 24 * time.Hour
	files := func(from, until time.Duration) string {
		cert, key := lasting(t, from, until)
		return fmt.Sprintf("hosts: [fawn.test, www.fawn.test], tls: {cert: %q, key: %q}", cert, key)
	}
	directory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"newNonce": "x", "newAccount": "x", "newOrder": "x"}`)
	}))
	defer directory.Close()
	for _, c := range []struct {
		conf, want string
		ok         bool
	}{
		{files(-day, 60*day), "ok    tls           fawn.test: until ", true},
		{files(-day, 60*day), "note  tls           the certificate isn't for www.fawn.test", true},
		{files(-day, 5*day), "note  tls           fawn.test: ends on ", true},
		{files(-day, -time.Hour), "FAIL  tls           fawn.test: ended on ", false},
		{files(day, 60*day), "FAIL  tls           fawn.test: only from ", false},
		{"tls: {cert: /nowhere, key: /nowhere}", "FAIL  tls           server.tls in the config: ", false},
		{"tls: {cert: /nowhere}", "both files", false},
		{"tls: {domains: [a.test], directory: \"" + directory.URL + "\"}", "note  tls           a.test: no certificate yet", true},
		{"tls: {domains: [a.test], directory: \"" + directory.URL + "\"}", "ok    tls           " + directory.URL + " gives", true},
		{"tls: {domains: [a.test], directory: \"http://127.0.0.1:1/dir\"}", "note  tls           http://127.0.0.1:1/dir can't be reached", true},
		{"hosts: [a.test]", "", true},
	} {
		conf := filepath.Join(t.TempDir(), "config.yaml")
		must.Do(t, os.WriteFile(conf, []byte("server: {"+c.conf+"}"), 0o600))
		var out strings.Builder
		ok, err := cli.Doctor(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: conf, Out: &out})
		if err != nil || ok != c.ok || !strings.Contains(out.String(), c.want) ||
			(c.want == "") == strings.Contains(out.String(), "  tls  ") {
			t.Errorf("%s: %v %v, without %q:\n%s", c.conf, ok, err, c.want, out.String())
		}
	}
}
