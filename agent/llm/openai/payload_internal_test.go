package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// keeping is a connection that keeps the request of an answer, as that of net/http does.
type keeping struct{ request *http.Request }

// RoundTrip implements http.RoundTripper.
func (k *keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	k.request = r
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Request: r,
		Body: io.NopCloser(strings.NewReader(
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))}, nil
}

func TestNoBodyIsKeptWhileTheAnswerIsRead(t *testing.T) {
	conn := &keeping{}
	m := must.Get(New(Config{Model: "m", BaseURL: "http://model.test/v1", Client: &http.Client{Transport: conn}}))(t)
	read := false
	req := &agent.Request{Messages: []*agent.Message{{ID: "q", Type: agent.TypeHuman, Content: agent.Text("hello")}}}
	for _, err := range m.Stream(context.Background(), req) {
		if err != nil {
			t.Fatal(err)
		}
		read = true
		if c, ok := conn.request.Context().Value(callKey{}).(*call); !ok || c.body != nil {
			t.Fatal("the call still has the fields of the request")
		}
		if _, err := conn.request.GetBody(); !errors.Is(err, errDropped) {
			t.Fatalf("the body can be read again: %v", err)
		}
	}
	if !read {
		t.Fatal("nothing was answered")
	}
}

func TestPayload(t *testing.T) {
	p := newPayload([]byte("body"))
	first := must.Get(p.open())(t)
	second := must.Get(p.open())(t)
	p.drop()
	if b, err := io.ReadAll(first); err != nil || !bytes.Equal(b, []byte("body")) {
		t.Fatalf("a reader that was open got %q, %v", b, err)
	}
	must.Do(t, second.Close())
	if b, err := io.ReadAll(second); err != nil || len(b) > 0 {
		t.Fatalf("a closed reader got %q, %v", b, err)
	}
	if _, err := p.open(); !errors.Is(err, errDropped) {
		t.Fatalf("open after drop: %v", err)
	}
}
