package objects_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store/objects"
	"fawn/store/objects/objectstest"
)

func open(t *testing.T, cfg objects.Config) *objects.Bucket {
	t.Helper()
	b := must.Get(objects.Open(cfg))(t)
	t.Cleanup(b.Close)
	return b
}

func put(t *testing.T, b *objects.Bucket, name string, data []byte) {
	t.Helper()
	must.Do(t, b.Put(t.Context(), name, bytes.NewReader(data), int64(len(data)), sha256.Sum256(data)))
}

func get(t *testing.T, b *objects.Bucket, name string, offset, length int64) []byte {
	t.Helper()
	r := must.Get(b.Get(t.Context(), name, offset, length))(t)
	defer r.Close()
	data := must.Get(io.ReadAll(r))(t)
	return data
}

func TestAStoreKeepsWhatItIsGiven(t *testing.T) {
	s := objectstest.Start(t)
	b := open(t, s.Config())
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	for name, data := range map[string][]byte{"ab/small": []byte("hello"), "ab/empty": {}, "cd/large": large} {
		put(t, b, name, data)
		if got := get(t, b, name, 0, -1); !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(data))
		}
	}
	if got := get(t, b, "cd/large", 16, 4); string(got) != "0123" {
		t.Errorf("part: %q", got)
	}
	must.Report(t, b.Remove(t.Context(), "ab/small"))
	if err := b.Remove(t.Context(), "ab/small"); err != nil {
		t.Errorf("again: %v", err)
	}
	if _, err := b.Get(t.Context(), "ab/small", 0, -1); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("removed: %v", err)
	}
	must.Report(t, b.Probe(t.Context(), "probe"))
	if n := s.Objects(); n != 2 {
		t.Errorf("%d objects", n)
	}
}

func TestOtherBytesThanWereNamedAreRefused(t *testing.T) {
	b := open(t, objectstest.Start(t).Config())
	err := b.Put(t.Context(), "x", strings.NewReader("other"), 5, sha256.Sum256([]byte("bytes")))
	if err == nil {
		t.Fatal("no error")
	}
	if _, err := b.Get(t.Context(), "x", 0, -1); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("stored all the same: %v", err)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	s := objectstest.Start(t)
	wrong := s.Config()
	wrong.Secret = "other"
	err := open(t, wrong).Probe(t.Context(), "x")
	if err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("wrong key: %v", err)
	}
	wrong = s.Config()
	wrong.Bucket = "missing"
	if err := open(t, wrong).Probe(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("no such bucket: %v", err)
	}
	b := open(t, s.Config())
	s.Stop()
	if err := b.Probe(t.Context(), "x"); err == nil || strings.Contains(err.Error(), objectstest.Secret) {
		t.Errorf("stopped: %v", err)
	}
	s.Again()
	if err := b.Probe(t.Context(), "x"); err != nil {
		t.Errorf("started again: %v", err)
	}
}

// failing answers some requests itself.
type failing struct {
	n    int
	next http.RoundTripper
}

func (f *failing) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.n--; f.n >= 0 {
		return &http.Response{StatusCode: 503, Status: "503 Slow Down", Body: http.NoBody, Request: req}, nil
	}
	return f.next.RoundTrip(req)
}

func TestABusyStoreIsAskedAgain(t *testing.T) {
	cfg := objectstest.Start(t).Config()
	cfg.Transport = &failing{n: 2, next: http.DefaultTransport}
	put(t, open(t, cfg), "x", []byte("data"))
	cfg.Transport = &failing{n: 3, next: http.DefaultTransport}
	err := open(t, cfg).Remove(context.Background(), "x")
	if err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("three times: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string][2]string{"s3://b": {"b"}, "s3://b/": {"b"}, "s3://b/p/q/": {"b", "p/q"}} {
		bucket, prefix, err := objects.Parse(address)
		if err != nil || [2]string{bucket, prefix} != want {
			t.Errorf("%s: %s %s %v", address, bucket, prefix, err)
		}
	}
	for _, address := range []string{"", "b", "https://b", "s3://", "s3://k:s@b", "s3://b?x=1"} {
		if _, _, err := objects.Parse(address); err == nil {
			t.Errorf("%q: no error", address)
		}
	}
	if _, err := objects.Open(objects.Config{Bucket: "b", Key: "k", Secret: "s", Endpoint: "host"}); err == nil {
		t.Error("an endpoint without a scheme")
	}
}
