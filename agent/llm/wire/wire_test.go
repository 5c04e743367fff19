package wire_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/wire"
)

// ask calls the address once and gives how that ended.
func ask(t *testing.T, client *http.Client, address string) (last error) {
	t.Helper()
	wire.Call{Name: "m", Timeout: time.Minute}.Do(t.Context(), func(_ agent.Chunk, err error) bool {
		last = err
		return true
	},
		func(ctx context.Context) (*http.Response, error) {
			r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody))(t)
			return wire.Client(client).Do(r)
		}, func(*http.Response, *wire.Patience) error { return nil })
	return last
}

// secure is a server with a certificate of its own, changed by edit.
func secure(t *testing.T, edit func(*x509.Certificate)) (address string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what is tested
	s.StartTLS()
	t.Cleanup(s.Close)
	issued := *s.Certificate()
	if edit != nil {
		edit(&issued)
		key := s.TLS.Certificates[0].PrivateKey
		raw := must.Get(x509.CreateCertificate(rand.Reader, &issued, &issued, s.Certificate().PublicKey, key))(t)
		s.TLS.Certificates[0] = tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
		leaf := must.Get(x509.ParseCertificate(raw))(t)
		roots = x509.NewCertPool()
		roots.AddCert(leaf)
	}
	return s.URL, roots
}

// TestACertificateThatIsNotAcceptedSaysWhatToDo, and is not tried again.
func TestACertificateThatIsNotAcceptedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	unknown, _ := secure(t, nil)
	old, oldRoots := secure(t, func(c *x509.Certificate) {
		c.NotAfter, c.SerialNumber = time.Unix(1e9, 0), big.NewInt(2)
	})
	other, otherRoots := secure(t, func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = nil, []string{"models.example"}
	})
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for _, c := range []struct {
		name, address string
		roots         *x509.CertPool
		advice        string
	}{
		{"of nobody we know", unknown, nil, "SSL_CERT_FILE"},
		{"out of date", old, oldRoots, "check the clock"},
		{"of another name", other, otherRoots, "use a name it holds in base_url"},
		{"none at all", strings.Replace(plain.URL, "http:", "https:", 1), nil, "is base_url http://"},
	} {
		err := ask(t, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.roots}}},
			c.address)
		e := llmerr.Of(err)
		if e == nil || e.Retriable() || e.Class != llmerr.ClassTrust || !strings.Contains(e.Message, c.advice) ||
			!strings.Contains(e.Message, strings.TrimPrefix(c.address, "https://")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestALineThatBreaksMayBeTriedAgain, unlike a certificate: nobody has to mend anything.
func TestALineThatBreaksMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:1" // no program asks for this port, and the system gives it to none
	e := llmerr.Of(ask(t, nil, "https://"+address))
	if e == nil || !e.Retriable() || !strings.Contains(e.Message, "refused") {
		t.Error(e)
	}
}

func TestImagesOfEveryShape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"image_url","image_url":"https://x.example/a.png"}`:                          "https://x.example/a.png",
		`{"type":"image_url","image_url":{"url":"data:image/gif;base64,AAAA"}}`:               "data:image/gif;base64,AAAA",
		`{"type":"image_url","image_url":{"url":"data:text/plain,hi"}}`:                       "data:text/plain,hi",
		`{"type":"image","url":"https://x.example/b"}`:                                        "https://x.example/b",
		`{"type":"image","base64":"AAAA"}`:                                                    "data:image/png;base64,AAAA",
		`{"type":"image","data":"AAAA","mime_type":"image/webp"}`:                             "data:image/webp;base64,AAAA",
		`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"AAAA"}}`: "data:image/jpeg;base64,AAAA",
		`{"type":"image","source":{"type":"url","url":"https://x.example/c"}}`:                "https://x.example/c",
		`{"type":"image","source":{"type":"file","file_id":"f"}}`:                             "",
		`{"type":"text","text":"x","url":"https://x.example"}`:                                "",
		`{"type":"image_url"}`: "",
	} {
		var b wire.Block
		must.Do(t, json.Unmarshal([]byte(in), &b))
		img, ok := b.Image()
		if got := img.Address(); got != want || ok != (want != "") {
			t.Errorf("%s is %q, %v", in, got, ok)
		}
	}
}
