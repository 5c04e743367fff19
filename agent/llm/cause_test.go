package llm_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"fawn/agent/llm"
)

// TestAFailedProbeHasOnePlainCause over real connections.
func TestAFailedProbeHasOnePlainCause(t *testing.T) {
	says := func(status int, body string, models ...string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(models) > 0 && r.URL.Path == "/v1/models" {
				fmt.Fprintf(w, `{"data":[{"id":%q}]}`, models[0])
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/v1"
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>Welcome</html>")
	}))
	t.Cleanup(page.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	refused := `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`
	for _, c := range []struct {
		name, url, key string
		want           llm.Cause
	}{
		{"nobody there", nobody + "/v1", "k", llm.CauseServer},
		{"no such host", "http://no-such-host.invalid/v1", "k", llm.CauseServer},
		{"wrong key", says(401, refused), "sk-wrong", llm.CauseKey},
		{"no key", says(401, refused), "", llm.CauseNoKey},
		{"unknown model", says(404, `{"error":{"message":"The model m does not exist"}}`, "other"), "k", llm.CauseModel},
		{"unknown model, in words of its own", says(400, `{"error":{"message":"nope"}}`, "other"), "k", llm.CauseModel},
		{"another page", page.URL, "k", llm.CauseAddress},
		{"nothing at this path", says(404, `{"detail":"Not Found"}`), "k", llm.CauseAddress},
		{"certificate", secure.URL + "/v1", "k", llm.CauseTrust},
		{"no credit", says(402, `{"error":{"message":"Insufficient Balance"}}`), "k", llm.CauseCredit},
		{"busy", says(503, `{}`), "k", llm.CauseBusy},
		{"something else", says(400, `{"error":{"message":"temperature is not allowed"}}`, "m"), "k", llm.CauseOther},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := llm.Config{Use: "compatible", Model: "m", BaseURL: c.url, APIKey: c.key}
			p := llm.Probe(t.Context(), cfg)
			if got := p.Cause(cfg); got != c.want {
				t.Errorf("got %q, want %q; %v", got, c.want, p.Err)
			}
		})
	}
}

func TestAnAddressGetsTheSchemeThatIsMissing(t *testing.T) {
	for address, want := range map[string]string{
		"localhost:11434/v1":   "http://localhost:11434/v1",
		" 127.0.0.1:8080":      "http://127.0.0.1:8080",
		"192.168.1.5:1234/v1":  "http://192.168.1.5:1234/v1",
		"[::1]:8080/v1":        "http://[::1]:8080/v1",
		"ollama:11434":         "http://ollama:11434",
		"nas.local/v1":         "http://nas.local/v1",
		"api.example.com/v1":   "https://api.example.com/v1",
		"api.example.com:8443": "https://api.example.com:8443",
		"https://host/v1":      "https://host/v1",
		"ftp://host":           "ftp://host",
		"javascript:alert(1)":  "javascript:alert(1)",
		"":                     "",
		"a b":                  "a b",
	} {
		if got := llm.Complete(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
