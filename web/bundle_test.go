package web_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/web"
	"fawn/web/cli"
)

// unzipped are the files of an archive.
func unzipped(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(text)
	}
	return out
}

// TestASupportBundleHasNoSecretsAndNoChats, whether the server runs or not.
func TestASupportBundleHasNoSecretsAndNoChats(t *testing.T) {
	data := t.TempDir()
	t.Setenv("OTHER_API_KEY", canary("environment"))
	if err := os.WriteFile(filepath.Join(data, "extensions_config.json"), fmt.Appendf(nil,
		`{"mcpServers":{"far":{"enabled":false,"type":"http","url":"http://127.0.0.1:1/?api_key=%s","headers":{"X-Key":%q}}}}`,
		canary("url"), canary("header")), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := scripted(t) + fmt.Sprintf("metrics: {token: %s}\ntracing: {headers: {authorization: %s}}\nwebhooks: {allow_private: [10.9.8.0/24]}\n",
		canary("metrics"), canary("tracing"))
	s := start(t, strings.Replace(conf, "api_key: test", "api_key: "+canary("model"), 1), func(o *web.Options) {
		o.Data, o.Log = data, web.NewLog(io.Discard)
	})
	if a := s.send(t, "POST", "/threads/chat-1/runs/wait",
		human("the cAnArY of a chat, say it again")); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a := s.send(t, "GET", "/api/support-bundle", "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/zip" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	running := unzipped(t, []byte(a.body))
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bundle.zip")
	o := web.Options{Addr: "127.0.0.1:0", Data: data, Config: s.conf, Version: "test", Out: io.Discard,
		Doctor: cli.Doctor}
	if err := web.SupportBundle(t.Context(), o, path); err != nil {
		t.Fatal(err)
	}
	if err := web.SupportBundle(t.Context(), o, path); err == nil {
		t.Error("a file that is there is overwritten")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stopped := unzipped(t, b)
	for what, files := range map[string]map[string]string{"running": running, "stopped": stopped} {
		for name, wants := range map[string][]string{"doctor.txt": {"data folder", "metrics"},
			"version.txt": {"fawn test go1."}, "config.yaml": {"script", "10.9.8.0/24", "***"},
			"extensions.yaml": {"far"}, "database.json": {`"thread": 1`, `"schema":`}} {
			for _, want := range wants {
				if !strings.Contains(files[name], want) {
					t.Errorf("%s: %s lacks %q:\n%s", what, name, want, files[name])
				}
			}
		}
		for name, text := range files {
			if i := strings.Index(text, "cAnArY"); i >= 0 {
				t.Errorf("%s: %s has a secret or a chat: …%s", what, name, text[max(0, i-100):min(len(text), i+60)])
			}
		}
	}
	if !strings.Contains(running["log.txt"], "msg=\"sandbox ") || // ready, or not available on this machine
		!strings.Contains(running["health.json"], `"status": "`) {
		t.Errorf("the log and the health of a server that runs: %s %s", running["log.txt"], running["health.json"])
	}
}

// TestMetricsAskForAnAccountOrTheToken where accounts are in force.
func TestMetricsAskForAnAccountOrTheToken(t *testing.T) {
	s := start(t, scripted(t)+"auth: {required: always}\nmetrics: {token: "+canary("metrics")+"}\n")
	for token, want := range map[string]int{"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized,
		"Bearer " + canary("metrics"): http.StatusOK} {
		headers := []string{}
		if token != "" {
			headers = []string{"Authorization", token}
		}
		if a := s.send(t, "GET", "/metrics", "", headers...); a.status != want {
			t.Errorf("with %q: %d %s", token, a.status, a.body)
		}
	}
	if a := s.send(t, "GET", "/api/support-bundle", ""); a.status != http.StatusUnauthorized {
		t.Errorf("a stranger gets the bundle: %d", a.status)
	}
}
