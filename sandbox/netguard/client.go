package netguard

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

var (
	// ErrURL marks a URL that web tools may not fetch.
	ErrURL = errors.New("address cannot be fetched")
	// ErrTooLarge marks a body over the limit; the part read before is valid.
	ErrTooLarge = errors.New("response is too large")
	// ErrType marks a response of a type, or in an encoding, that was not asked for.
	ErrType = errors.New("response has an unwanted type")
)

// ClientLimits are limits of [Client]. Zero values mean defaults.
type ClientLimits struct {
	Body      int64          // bytes of a decompressed body, 10 MB
	Time      time.Duration  // from the request to the end of the body, 20 s
	Redirects int            // redirects followed, 5; negative for none
	Ports     []int          // 80, 443, 8080 and 8443
	Types     []string       // accepted media types, such as "text/html" or "text/*"; none means all
	Roots     *x509.CertPool // certificate authorities, by default the system's
}

func (l ClientLimits) withDefaults() ClientLimits {
	if l.Body <= 0 {
		l.Body = 10 << 20
	}
	if l.Time <= 0 {
		l.Time = 20 * time.Second
	}
	if l.Redirects == 0 {
		l.Redirects = 5
	}
	if len(l.Ports) == 0 {
		l.Ports = []int{80, 443, 8080, 8443}
	}
	return l
}

// Client returns an HTTP client for addresses that a model chose. It speaks
// HTTP and HTTPS on a few ports, judges each connection and each redirect by
// the guard, uses no proxy, no cookies and no credentials, and reads bodies up
// to a limit after decompression. Its errors wrap [ErrURL], [ErrHost],
// [ErrTooLarge], [ErrType], [ErrUnresolved] or [*Refused].
func Client(g *Guard, l ClientLimits) *http.Client {
	l = l.withDefaults()
	t := &http.Transport{
		DialContext:            g.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: l.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		// Tools rarely fetch from the same host, so idle connections would accumulate.
		DisableKeepAlives: true,
	}
	return &http.Client{
		Transport: &fetcher{transport: t, limits: l},
		Timeout:   l.Time,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > max(l.Redirects, 0) {
				return fmt.Errorf("%w: more than %d redirects", ErrURL, max(l.Redirects, 0))
			}
			return nil
		},
	}
}

// fetcher holds requests and responses of [Client] to its limits. It sees each
// request of a chain of redirects.
type fetcher struct {
	transport *http.Transport
	limits    ClientLimits
}

// RoundTrip implements [http.RoundTripper].
func (f *fetcher) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := f.checkURL(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // nothing was sent; the error above explains it
		}
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Del("Cookie")
	// The transport must decompress, or the limit would count compressed bytes.
	req.Header.Del("Accept-Encoding")
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := f.checkResponse(resp); err != nil {
		_ = resp.Body.Close() // the body is not wanted
		return nil, err
	}
	resp.Body = LimitBody(resp.Body, f.limits.Body, ErrTooLarge)
	return resp, nil
}

func (f *fetcher) checkURL(u *url.URL) error {
	port := 0
	switch u.Scheme {
	case "http":
		port = 80
	case "https":
		port = 443
	default:
		return fmt.Errorf("%w: only http and https are allowed", ErrURL)
	}
	if u.User != nil {
		return fmt.Errorf("%w: it contains a user name", ErrURL)
	}
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		host = "[" + host + "]"
	}
	if _, err := Host(host); err != nil {
		return err
	}
	if p := u.Port(); p != "" {
		var err error
		if port, err = portNumber(p); err != nil {
			return err
		}
	}
	if !slices.Contains(f.limits.Ports, port) {
		return fmt.Errorf("%w: port %d is not allowed", ErrURL, port)
	}
	return nil
}

func (f *fetcher) checkResponse(resp *http.Response) error {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "" {
		return nil
	}
	if resp.ContentLength > f.limits.Body {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, resp.ContentLength, f.limits.Body)
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return fmt.Errorf("%w: encoding %.40q", ErrType, enc)
	}
	if len(f.limits.Types) == 0 {
		return nil
	}
	got, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%w: none given", ErrType)
	}
	for _, want := range f.limits.Types {
		if family, ok := strings.CutSuffix(want, "*"); got == want || ok && strings.HasPrefix(got, family) {
			return nil
		}
	}
	return fmt.Errorf("%w: %.80s", ErrType, got)
}

// LimitBody returns a body that fails with an error, instead of ending early, after most bytes.
func LimitBody(body io.ReadCloser, most int64, over error) io.ReadCloser {
	return &limitedBody{body, most, over}
}

type limitedBody struct {
	io.ReadCloser
	left int64
	over error
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.over
	}
	// One extra byte distinguishes a body at the limit from one over it.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, b.over
	}
	return n, err
}
