package netguard_test

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/netguard"
	"fawn/sandbox/netguard/netguardtest"
)

func TestClientRefusesPrivateAddresses(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the server was reached")
	}))
	defer s.Close()
	c := netguard.Client(&netguard.Guard{}, netguard.ClientLimits{Ports: []int{netguardtest.PortOf(s), 80}})
	var refused *netguard.Refused
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254",
		"metadata.google.internal", "x.local", "10.0.0.1"} {
		if _, err := netguardtest.Fetch(t, c, "http://"+host+":"+strconv.Itoa(netguardtest.PortOf(s))+"/"); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", host, err)
		}
	}
}

func TestClientRefusesAddressesOfOtherKinds(t *testing.T) {
	c := netguard.Client(netguardtest.Hosts(nil), netguard.ClientLimits{})
	for address, want := range map[string]error{
		"ftp://example.com/":           netguard.ErrURL,
		"file:///etc/passwd":           netguard.ErrURL,
		"gopher://example.com/":        netguard.ErrURL,
		"http://example.com:22/":       netguard.ErrURL,
		"https://example.com:2026/":    netguard.ErrURL,
		"http://u:p@example.com/":      netguard.ErrURL,
		"http://2130706433/":           netguard.ErrHost,
		"http://127.1/":                netguard.ErrHost,
		"http://0x7f000001/":           netguard.ErrHost,
		"http://example.com:080/":      netguard.ErrHost,
		"http://[fe80::1%25eth0]/":     netguard.ErrHost,
		"http://a..example/":           netguard.ErrHost,
		"http://%e2%91%a0%e2%91%a1.1/": netguard.ErrHost, // circled digits
	} {
		if _, err := netguardtest.Fetch(t, c, address); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
}

func TestClientJudgesEveryRedirect(t *testing.T) {
	reached := 0
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != s.Listener.Addr().String() && strings.HasPrefix(r.Host, "evil") {
			reached++
		}
		if n, err := strconv.Atoi(r.URL.Query().Get("n")); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/?n=%d", n-1), http.StatusFound)
			return
		}
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, "arrived")
	}))
	defer s.Close()
	c := netguard.Client(netguardtest.Hosts(map[string]string{"evil.example": "169.254.169.254", "lan.example": "192.168.0.1"}),
		netguard.ClientLimits{Ports: []int{netguardtest.PortOf(s)}})
	var refused *netguard.Refused
	for to, want := range map[string]any{
		netguardtest.At(s, "evil.example", "/"): &refused, netguardtest.At(s, "lan.example", "/"): &refused,
		netguardtest.At(s, "10.0.0.1", "/"): &refused,
		"http://example.com:22/":            netguard.ErrURL, "file:///etc/passwd": netguard.ErrURL,
		"http://u:p@example.com/": netguard.ErrURL, "http://127.1/": netguard.ErrHost,
	} {
		_, err := netguardtest.Fetch(t, c, netguardtest.At(s, "ok.example", "/?to="+url.QueryEscape(to)))
		if sentinel, ok := want.(error); ok && !errors.Is(err, sentinel) || !ok && !errors.As(err, want) {
			t.Errorf("to %s: %v, want %v", to, err, want)
		}
	}
	if reached != 0 {
		t.Errorf("a refused target was reached %d times", reached)
	}
	if body, err := netguardtest.Fetch(t, c, netguardtest.At(s, "ok.example", "/?n=5")); err != nil || body != "arrived" {
		t.Errorf("5 redirects: %q, %v", body, err)
	}
	if _, err := netguardtest.Fetch(t, c, netguardtest.At(s, "ok.example", "/?n=6")); !errors.Is(err, netguard.ErrURL) {
		t.Errorf("6 redirects: %v, want ErrURL", err)
	}
}

func TestClientLimitsBodiesAfterDecompression(t *testing.T) {
	const limit = 1 << 20
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		switch r.URL.Path {
		case "/bomb":
			var b bytes.Buffer
			z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
			_, _ = z.Write(make([]byte, n))
			_ = z.Close()
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				t.Error("gzip was not asked for")
			}
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(b.Bytes())
		case "/known":
			w.Header().Set("Content-Length", strconv.Itoa(n))
			_, _ = w.Write(make([]byte, n))
		case "/stream":
			w.(http.Flusher).Flush()
			_, _ = w.Write(make([]byte, n))
		case "/br":
			w.Header().Set("Content-Encoding", "br")
		}
	}))
	defer s.Close()
	c := netguard.Client(netguardtest.Hosts(nil), netguard.ClientLimits{Body: limit, Time: time.Minute, Ports: []int{netguardtest.PortOf(s)}})
	for _, path := range []string{"/bomb", "/known", "/stream"} {
		body, err := netguardtest.Fetch(t, c, netguardtest.At(s, "a.example", fmt.Sprintf("%s?n=%d", path, limit)))
		if err != nil || len(body) != limit {
			t.Errorf("%s at the limit: %d bytes, %v", path, len(body), err)
		}
		body, err = netguardtest.Fetch(t, c, netguardtest.At(s, "a.example", fmt.Sprintf("%s?n=%d", path, limit+1)))
		if !errors.Is(err, netguard.ErrTooLarge) || len(body) > limit {
			t.Errorf("%s over the limit: %d bytes, %v", path, len(body), err)
		}
	}
	body, err := netguardtest.Fetch(t, c, netguardtest.At(s, "a.example", fmt.Sprintf("/bomb?n=%d", 20*limit)))
	if !errors.Is(err, netguard.ErrTooLarge) || len(body) != limit {
		t.Errorf("bomb: %d bytes, %v", len(body), err)
	}
	if _, err := netguardtest.Fetch(t, c, netguardtest.At(s, "a.example", "/br")); !errors.Is(err, netguard.ErrType) {
		t.Errorf("unasked encoding: %v, want ErrType", err)
	}
}

func TestClientReadsWantedTypesOnly(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = r.URL.Query()["type"]
	}))
	defer s.Close()
	c := netguard.Client(netguardtest.Hosts(nil),
		netguard.ClientLimits{Ports: []int{netguardtest.PortOf(s)}, Types: []string{"text/*", "application/pdf"}})
	for kind, good := range map[string]bool{
		"text/html; charset=utf-8": true, "TEXT/PLAIN": true, "application/pdf": true,
		"application/octet-stream": false, "textual/html": false, "application/pdfx": false, "": false,
	} {
		_, err := netguardtest.Fetch(t, c, netguardtest.At(s, "a.example", "/?type="+url.QueryEscape(kind)))
		if good != (err == nil) || !good && !errors.Is(err, netguard.ErrType) {
			t.Errorf("%q: %v, want good %v", kind, err, good)
		}
	}
}

func TestClientCarriesNothingOfTheServers(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Cookie", "Authorization"} {
			if v := r.Header.Get(name); v != "" {
				t.Errorf("%s: %s", name, v)
			}
		}
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
	}))
	defer s.Close()
	c := netguard.Client(netguardtest.Hosts(nil), netguard.ClientLimits{Ports: []int{netguardtest.PortOf(s)}})
	for range 2 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, netguardtest.At(s, "a.example", "/"), nil)
		req.AddCookie(&http.Cookie{Name: "mine", Value: "2"})
		resp := must.Get(c.Do(req))(t)
		resp.Body.Close()
	}
}

func TestClientEndsInTime(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	c := netguard.Client(netguardtest.Hosts(nil), netguard.ClientLimits{Ports: []int{netguardtest.PortOf(s)}, Time: 50 * time.Millisecond})
	_, err := netguardtest.Fetch(t, c, netguardtest.At(s, "a.example", "/"))
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%v, want a timeout", err)
	}
}

func TestClientSpeaksTLSWithTheNameItWasAskedFor(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := netguard.Client(netguardtest.Hosts(nil), netguard.ClientLimits{Ports: []int{netguardtest.PortOf(s)}, Roots: roots})
	if body, err := netguardtest.Fetch(t, c, netguardtest.At(s, "example.com", "/")); err != nil || body != "HTTP/2.0" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := netguardtest.Fetch(t, c, netguardtest.At(s, "other.test", "/")); err == nil {
		t.Error("a certificate of another name was accepted")
	}
}
