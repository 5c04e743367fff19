package embed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/llm/embed"
	"fawn/agent/llm/llmerr"
)

// TestEmbed asks as the API wants it and puts vectors in the order of the texts, whichever comes first.
func TestEmbed(t *testing.T) {
	answer, status := "", http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input []string
			Model string
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/embeddings" ||
			r.Header.Get("Authorization") != "Bearer secret" || body.Model != "m" || len(body.Input) != 2 {
			t.Errorf("%s %+v %v", r.URL, body, err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(srv.Close)
	c := must.Get(embed.New(embed.Config{Model: "m", BaseURL: srv.URL, APIKey: "secret"}))(t)
	const good = `{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}`
	answer = good
	v, err := c.Embed(t.Context(), []string{"a", "b"})
	if err != nil || len(v) != 2 || v[0][0] != 1 || v[1][1] != 1 {
		t.Errorf("%v %v", v, err)
	}
	for _, answer = range []string{`{"data":[]}`, `{"data":[{"index":0,"embedding":[1]}]}`, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, `{"data":[{"index":7,"embedding":[1]},{"index":1,"embedding":[1]}]}`, `no JSON`} {
		if v, err := c.Embed(t.Context(), []string{"a", "b"}); err == nil {
			t.Errorf("%s: %v", answer, v)
		}
	}
	answer, status = `{"error":{"message":"the key secret is wrong"}}`, http.StatusUnauthorized
	_, err = c.Embed(t.Context(), []string{"a", "b"})
	var refused *llmerr.Error
	if !errors.As(err, &refused) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a refusal: %v", err)
	}
	if _, err := embed.New(embed.Config{}); err == nil {
		t.Error("no model is fine")
	}
}
