package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	attempts = 3
	// answerTime limits the wait for a store's response headers.
	answerTime = 30 * time.Second
	// MaxSize is the largest object that one request may put, by the limits of S3.
	MaxSize = 5 << 30
)

// ErrNotFound means that the store lacks the object.
var ErrNotFound = errors.New("no such object")

// Config selects the bucket and the credentials.
type Config struct {
	Bucket, Prefix string // a non-empty Prefix and a slash begin the names of objects
	Endpoint       string // https://host[:port]; "" is AWS's in Region
	Region         string // "" is us-east-1
	PathStyle      bool   // the bucket is in the path, not in the host's name
	Key, Secret    string
	Session        string            // session token of temporary keys
	Transport      http.RoundTripper // nil creates one
	Meter          Meter             // may be nil
}

// Meter is called for each request, including retries, and with the bytes of contents sent or received.
type Meter interface {
	// Request reports a request that was answered after took, or failed with err. what is put, get, head or remove.
	Request(what string, took time.Duration, err error)
	Bytes(what string, n int64)
}

// Parse reads an address like s3://bucket/prefix into the name of a bucket and a prefix.
func Parse(address string) (bucket, prefix string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", errors.New("must be an address like s3://bucket/prefix")
	}
	return u.Host, strings.Trim(u.Path, "/"), nil
}

// Bucket is part of a store. It is safe for concurrent use.
type Bucket struct {
	cfg    Config
	base   *url.URL
	client *http.Client
	signer *v4.Signer
}

// Open checks the configuration without any request.
func Open(cfg Config) (*Bucket, error) {
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = "https://s3." + cfg.Region + ".amazonaws.com"
	}
	base, err := url.Parse(cfg.Endpoint)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" ||
		strings.Trim(base.Path, "/") != "" {
		return nil, errors.New("the endpoint must be an address like https://host:port")
	}
	if cfg.Bucket == "" || cfg.Key == "" || cfg.Secret == "" {
		return nil, errors.New("a bucket, an access key and a secret key are needed")
	}
	if !cfg.PathStyle {
		base.Host = cfg.Bucket + "." + base.Host
	}
	if cfg.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout, t.DisableCompression = 16, answerTime, true
		cfg.Transport = t
	}
	return &Bucket{cfg: cfg, base: base, client: &http.Client{Transport: cfg.Transport, CheckRedirect: noRedirect},
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })}, nil
}

// noRedirect follows no redirect: a request is signed for one host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close closes idle connections.
func (b *Bucket) Close() { b.client.CloseIdleConnections() }

// Put stores size bytes of r, whose SHA-256 is sum, under a name. The store verifies the sum. r is read from its start
// again if a request is repeated.
func (b *Bucket) Put(ctx context.Context, name string, r io.ReadSeeker, size int64, sum [sha256.Size]byte) error {
	if size > MaxSize {
		return fmt.Errorf("put object %s: files of more than 5 GiB can't be stored", name)
	}
	_, err := b.repeat(ctx, "put", name, func() (*http.Request, error) {
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		var body io.Reader = http.NoBody
		if size > 0 {
			body = io.NopCloser(io.LimitReader(r, size))
		}
		req, err := b.request(ctx, http.MethodPut, name, body)
		if err != nil {
			return nil, err
		}
		req.ContentLength = size
		return req, b.sign(req, sum)
	})
	return err
}

// Get opens length bytes of an object from offset on; a length below 0 is all. The caller closes it.
func (b *Bucket) Get(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if length == 0 {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	res, err := b.repeat(ctx, "get", name, func() (*http.Request, error) {
		req, err := b.request(ctx, http.MethodGet, name, nil)
		if err != nil {
			return nil, err
		}
		if length > 0 {
			req.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-"+strconv.FormatInt(offset+length-1, 10))
		}
		return req, b.sign(req, sha256.Sum256(nil))
	})
	if err != nil {
		return nil, err
	}
	if length > 0 && res.StatusCode != http.StatusPartialContent && (offset != 0 || res.ContentLength != length) {
		err = fmt.Errorf("get object %s: the store doesn't support ranges", name)
		return nil, errors.Join(err, res.Body.Close())
	}
	if b.cfg.Meter != nil {
		return &metered{res.Body, b.cfg.Meter}, nil
	}
	return res.Body, nil
}

// Head returns the size of an object in bytes.
func (b *Bucket) Head(ctx context.Context, name string) (int64, error) {
	res, err := b.repeat(ctx, "head", name, func() (*http.Request, error) {
		req, err := b.request(ctx, http.MethodHead, name, nil)
		if err != nil {
			return nil, err
		}
		return req, b.sign(req, sha256.Sum256(nil))
	})
	if err != nil {
		return 0, err
	}
	return res.ContentLength, nil
}

// Remove removes an object; a missing one isn't an error.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	_, err := b.repeat(ctx, "remove", name, func() (*http.Request, error) {
		req, err := b.request(ctx, http.MethodDelete, name, nil)
		if err != nil {
			return nil, err
		}
		return req, b.sign(req, sha256.Sum256(nil))
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Probe puts an object, gets it back and removes it.
func (b *Bucket) Probe(ctx context.Context, name string) error {
	want := []byte("fawn " + name)
	if err := b.Put(ctx, name, bytes.NewReader(want), int64(len(want)), sha256.Sum256(want)); err != nil {
		return err
	}
	r, err := b.Get(ctx, name, 1, int64(len(want)-1))
	if err != nil {
		return err
	}
	got, err := io.ReadAll(io.LimitReader(r, int64(len(want))))
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("get object %s: %w", name, err)
	}
	if !bytes.Equal(got, want[1:]) {
		return fmt.Errorf("get object %s: the content isn't what was stored", name)
	}
	return b.Remove(ctx, name)
}

func (b *Bucket) request(ctx context.Context, method, name string, body io.Reader) (*http.Request, error) {
	at := *b.base
	at.Path = "/"
	if b.cfg.PathStyle {
		at.Path += b.cfg.Bucket + "/"
	}
	if b.cfg.Prefix != "" {
		at.Path += b.cfg.Prefix + "/"
	}
	at.Path += name
	return http.NewRequestWithContext(ctx, method, at.String(), body)
}

func (b *Bucket) sign(req *http.Request, sum [sha256.Size]byte) error {
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	who := aws.Credentials{AccessKeyID: b.cfg.Key, SecretAccessKey: b.cfg.Secret, SessionToken: b.cfg.Session}
	return b.signer.SignHTTP(req.Context(), who, req, hash, "s3", b.cfg.Region, time.Now())
}

// repeat sends a request until it is answered, where that may help.
func (b *Bucket) repeat(ctx context.Context, what, name string,
	make func() (*http.Request, error)) (*http.Response, error) {
	var err error
	for n := range attempts {
		if n > 0 {
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("%s object %s: %w", what, name, errors.Join(context.Cause(ctx), err))
			case <-time.After(time.Duration(n) * 200 * time.Millisecond):
			}
		}
		var req *http.Request
		if req, err = make(); err != nil {
			break
		}
		var res *http.Response
		var again bool
		began := time.Now()
		res, again, err = b.send(req)
		b.measure(what, time.Since(began), err, max(0, req.ContentLength))
		if err == nil {
			return res, nil
		}
		if !again || ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("%s object %s: %w", what, name, err)
}

// measure reports a request with a body of sent bytes to the meter.
func (b *Bucket) measure(what string, took time.Duration, err error, sent int64) {
	if b.cfg.Meter == nil {
		return
	}
	if errors.Is(err, ErrNotFound) { // a missing object is an answer, too
		err = nil
	}
	b.cfg.Meter.Request(what, took, err)
	if err == nil && sent > 0 {
		b.cfg.Meter.Bytes(what, sent)
	}
}

// metered counts the bytes read.
type metered struct {
	io.ReadCloser
	meter Meter
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.meter.Bytes("get", int64(n))
	return n, err
}

// send returns a body only for GET requests; again means that the error may be temporary.
func (b *Bucket) send(req *http.Request) (res *http.Response, again bool, err error) {
	if res, err = b.client.Do(req); err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // its wrapper repeats the address
		}
		return nil, true, err
	}
	if res.StatusCode/100 == 2 {
		if req.Method != http.MethodGet {
			err = res.Body.Close()
		}
		return res, true, err
	}
	said, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	err = res.Body.Close()
	switch res.StatusCode {
	case http.StatusNotFound:
		if !strings.Contains(string(said), "NoSuchBucket") {
			return nil, false, ErrNotFound
		}
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout, http.StatusTooManyRequests:
		again = true
	}
	return nil, again, errors.Join(fmt.Errorf("the store answers %s%s", res.Status, reason(string(said))), err)
}

// reason returns the reason in an S3 error response, preceded by a colon.
func reason(body string) string {
	out := ""
	for _, tag := range []string{"Code", "Message"} {
		_, rest, _ := strings.Cut(body, "<"+tag+">")
		if text, _, ok := strings.Cut(rest, "</"+tag+">"); ok && text != "" {
			out += ": " + strings.ToValidUTF8(text, "\uFFFD")
		}
	}
	return out
}
