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

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/webtest"
)

// unzipped are the files of an archive.
func unzipped(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	must.Do(t, err)
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		must.Do(t, err)
		text, err := io.ReadAll(r)
		must.Do(t, err)
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
	s.send(t, "POST", "/threads/chat-1/runs/wait", human("the cAnArY of a chat, say it again")).must(t, "/threads/chat-1/runs/wait", http.StatusOK)
	a := s.send(t, "GET", "/api/support-bundle", "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/zip" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	running := unzipped(t, []byte(a.body))
	must.Do(t, s.stop())
	path := filepath.Join(t.TempDir(), "bundle.zip")
	o := web.Options{Addr: "127.0.0.1:0", Data: data, Config: s.conf, Version: "test", Out: io.Discard,
		Doctor: cli.Doctor}
	must.Do(t, web.SupportBundle(t.Context(), o, path))
	if err := web.SupportBundle(t.Context(), o, path); err == nil {
		t.Error("a file that is there is overwritten")
	}
	b, err := os.ReadFile(path)
	must.Do(t, err)
	stopped := unzipped(t, b)
	for what, files := range map[string]map[string]string{"running": running, "stopped": stopped} {
		for name, wants := range map[string][]string{"doctor.txt": {"data folder", "metrics"},
			"version.txt": {"fawn test go1."}, "config.yaml": {"script", "10.9.8.0/24", "***"},
			"extensions.yaml": {"far"}, "database.json": {`"thread": 1`, `"schema":`}} {
			webtest.Holds(t, fmt.Sprintf("%s: %s", what, name), files[name], wants...)
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
	t.Parallel()
	s := start(t, scripted(t)+"auth: {required: always}\nmetrics: {token: "+canary("metrics")+"}\n")
	for token, want := range map[string]int{"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized,
		"Bearer " + canary("metrics"): http.StatusOK} {
		headers := []string{}
		if token != "" {
			headers = []string{"Authorization", token}
		}
		s.send(t, "GET", "/metrics", "", headers...).want(t, fmt.Sprintf("with %q", token), want)
	}
	s.send(t, "GET", "/api/support-bundle", "").want(t, "a stranger gets the bundle", http.StatusUnauthorized)
}
