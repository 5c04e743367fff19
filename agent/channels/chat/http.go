package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options holds the settings common to all adapters, apart from credentials.
type Options struct {
	// HTTP makes all calls, file transfers and WebSocket handshakes and decides which hosts may be reached. Nil is
	// http.DefaultTransport. Adapters handle redirects themselves, whatever the client's policy.
	HTTP *http.Client
	// BaseURL replaces the address of the platform. It must use https, or http on loopback.
	BaseURL string
	// FirstWait is the pause before connecting again; it doubles with each failure. 0 is one second.
	FirstWait time.Duration
	// Beat is the interval of heartbeats, and the time a poll waits; 0 is the platform's default. A connection that
	// stays silent for another interval, for instance after the machine slept, is reopened.
	Beat time.Duration
}

const (
	maxAnswer   = 4 << 20          // bytes of an answer in JSON
	callTime    = 30 * time.Second // limit of a call
	transferFor = 10 * time.Minute // limit of a file transfer
)

// client calls the HTTP API of one platform. No error that it returns contains a secret or an address.
type client struct {
	http    *http.Client
	base    string
	secrets []string
	hosts   []string // the platform's besides that of base; ".x.y" are all below x.y
}

// newClient checks the address. secrets are kept out of errors.
func newClient(o Options, address string, hosts []string, secrets ...string) (*client, error) {
	if o.BaseURL != "" {
		address = o.BaseURL
	}
	address = strings.TrimRight(address, "/")
	if err := safeURL(address); err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	c := &client{http: &http.Client{}, base: address, hosts: hosts}
	if o.HTTP != nil {
		*c.http = *o.HTTP
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.hide(secrets...)
	return c, nil
}

// hide adds secrets. It must not run concurrently with calls.
func (c *client) hide(secrets ...string) {
	for _, s := range secrets {
		if s == "" {
			continue
		}
		c.secrets = append(c.secrets, s)
		if e := url.QueryEscape(s); e != s {
			c.secrets = append(c.secrets, e)
		}
	}
	slices.SortFunc(c.secrets, func(a, b string) int { return len(b) - len(a) })
}

// safeURL refuses addresses that would carry a token in the clear over a network.
func safeURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("is not an address")
	}
	switch u.Scheme {
	case "https", "wss":
		return nil
	case "http", "ws":
		if loopback(u.Hostname()) {
			return nil
		}
		return errors.New("must be https")
	}
	return fmt.Errorf("cannot be of scheme %q", u.Scheme)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// statusError is an answer other than 2xx that the platform's adapter has yet to explain.
type statusError struct {
	op     string
	Status int
	Header http.Header
	Body   []byte // its first part
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s: status %d", e.op, e.Status)
}

// callError is a failed call, described without secrets.
type callError struct {
	text string
	err  error
}

func (e *callError) Error() string { return e.text }
func (e *callError) Unwrap() error { return e.err }

// clean removes addresses from an error of op, so that it is safe to show.
func (c *client) clean(op string, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &callError{op + ": " + c.redact(err.Error()), err}
}

// redact replaces secrets in a text of the platform's.
func (c *client) redact(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "[redacted]")
	}
	return text
}

// A call is a request. op names it in errors, which must not contain its path.
type call struct {
	op, method, path string
	header           http.Header
	body             any       // sent as JSON; nil, even a nil map or pointer, means no body
	raw              io.Reader // sent unmodified, instead of body
	kind             string    // media type of raw
	size             int64     // bytes of raw, -1 if not known; files need it
	limit            time.Duration
}

// do makes a call and reads its answer into into. Statuses other than 2xx are a *statusError, 429 a *Rate.
func (c *client) do(ctx context.Context, r call, into any) error {
	limit := r.limit
	if limit == 0 {
		limit = callTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.clean(r.op, err)
	case len(body) > maxAnswer:
		return fmt.Errorf("%s: the answer is longer than %d MB", r.op, maxAnswer>>20)
	case resp.StatusCode/100 != 2:
		return &statusError{r.op, resp.StatusCode, resp.Header, body}
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return c.clean(r.op+": reading the answer", err)
	}
	return nil
}

// open sends a request; its answer is still to be read and closed.
func (c *client) open(ctx context.Context, r call) (*http.Response, error) {
	body, kind := r.raw, r.kind
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.op, err)
		}
		// A nil map is `null` in JSON, which Telegram and others reject: they want an object or nothing.
		if !bytes.Equal(b, []byte("null")) {
			body, kind = bytes.NewReader(b), "application/json; charset=utf-8"
		}
	}
	address := r.path
	if !strings.Contains(address, "://") {
		address = c.base + address
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, c.clean(r.op, err)
	}
	if r.raw != nil {
		req.ContentLength = r.size
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("User-Agent", "Fawn")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.clean(r.op, err)
	}
	return resp, nil
}

// download writes the content of address to w. It follows redirects between the platform's file hosts; only the first
// of them receives header.
func (c *client) download(ctx context.Context, op, address string, header http.Header, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, transferFor)
	defer cancel()
	for range 5 {
		if err := c.ownHost(address); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		resp, err := c.open(ctx, call{op: op, method: http.MethodGet, path: address, header: header})
		if err != nil {
			return err
		}
		if next := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && next != "" {
			to, err := resp.Request.URL.Parse(next)
			resp.Body.Close()
			if err != nil {
				return fmt.Errorf("%s: redirect without a valid address", op)
			}
			if to.Host != resp.Request.URL.Host {
				header = nil
			}
			address = to.String()
			continue
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
			return &statusError{op, resp.StatusCode, resp.Header, body}
		}
		return c.copy(op, w, resp.Body)
	}
	return fmt.Errorf("%s: too many redirects", op)
}

// copy returns the writer's own error, which lets callers set a limit, or an error that is safe to show.
func (c *client) copy(op string, w io.Writer, r io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return werr
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return c.clean(op, err)
		}
	}
}

// ownHost refuses addresses that are not the platform's: files, tokens and tickets go nowhere else.
func (c *client) ownHost(address string) error {
	if err := safeURL(address); err != nil {
		return fmt.Errorf("the address %w", err)
	}
	u, _ := url.Parse(address)
	own, _ := url.Parse(c.base)
	host := strings.ToLower(u.Hostname())
	if host == own.Hostname() {
		return nil
	}
	for _, h := range c.hosts {
		if host == strings.TrimPrefix(h, ".") || h[0] == '.' && strings.HasSuffix(host, h) {
			return nil
		}
	}
	return fmt.Errorf("%s isn't a host of the platform", host)
}

// form returns a multipart body with one file. The file is opened when it is read, so nothing of it is kept in memory.
func form(fields [][2]string, name string, f File) (body io.ReadCloser, kind string, size int64, err error) {
	var head bytes.Buffer
	m := multipart.NewWriter(&head)
	for _, kv := range fields {
		if err := m.WriteField(kv[0], kv[1]); err != nil {
			return nil, "", 0, err
		}
	}
	if _, err := m.CreateFormFile(name, f.Name); err != nil {
		return nil, "", 0, err
	}
	tail := "\r\n--" + m.Boundary() + "--\r\n"
	src, err := f.Open()
	if err != nil {
		return nil, "", 0, fmt.Errorf("open %s: %w", f.Name, err)
	}
	size = int64(head.Len()) + f.Size + int64(len(tail))
	all := io.MultiReader(&head, io.LimitReader(src, f.Size), strings.NewReader(tail))
	return struct {
		io.Reader
		io.Closer
	}{all, src}, m.FormDataContentType(), size, nil
}

// wait converts a platform's seconds, limited to an hour: longer is an error, and a too short wait is reported again.
func wait(seconds float64) time.Duration {
	return time.Duration(min(max(seconds, 0), 3600) * float64(time.Second))
}

// retryAfter reads the header Retry-After: seconds, whole or not, or a date.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return wait(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// rateOf returns the *Rate of a status 429, or nil.
func rateOf(err error) *Rate {
	if s, ok := errors.AsType[*statusError](err); ok && s.Status == http.StatusTooManyRequests {
		return &Rate{After: retryAfter(s.Header)}
	}
	return nil
}

func bearer(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}
