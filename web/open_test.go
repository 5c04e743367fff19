package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/store"
	"fawn/web"
	"fawn/web/webtest"
)

func TestLoopbackAlsoListensOnSix(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		t.Skip("no ::1 here:", err)
	} else {
		l.Close()
	}
	s := start(t, "")
	s.url = strings.Replace(s.url, "127.0.0.1", "[::1]", 1)
	s.send(t, "GET", "/health", "").want(t, "/health", http.StatusOK)
}

func TestOneLineSaysThatItIsReady(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	webtest.UntilSeen(t, func() bool { return s.out.String() != "" }, func() string { return "it says nothing" })
	s.works(t)
	if got, want := s.out.String(), "Fawn is ready at "+s.url+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	for _, path := range []string{"/health", "/healthz", "/api/health"} {
		h := decoded[map[string]any](t, s.send(t, "GET", path, ""))
		box, _ := h["sandbox"].(map[string]any)
		if h["status"] != "healthy" || h["service"] != "fawn" || h["version"] != "test" || box["provider"] == "" ||
			h["audit"] == nil || h["storage"] == nil || len(h) != 6 {
			t.Errorf("%s: %v", path, h)
		}
		if a := s.send(t, "HEAD", path, ""); a.status != http.StatusOK || a.body != "" {
			t.Errorf("HEAD %s: %d", path, a.status)
		}
	}
	must.Do(t, os.WriteFile(s.conf, []byte("models: 3\n"), 0o600))
	if s.app.Poll() {
		t.Error("a broken configuration was taken")
	}
	h := decoded[map[string]any](t, s.send(t, "GET", "/health", ""))
	if h["status"] != "healthy" || !strings.Contains(fmt.Sprint(h["config_problem"]), "config.yaml:1:9") {
		t.Errorf("with a broken configuration: %v", h)
	}
}

func TestSettingsNameWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	s := start(t, "store: {sync: normal}\n")
	const page, told = "/workspace/settings/models", "Restart Fawn for these changed settings"
	s.send(t, "GET", page, "").want(t, "before the change", http.StatusOK, "!"+told)
	s.configure(t, "store: {sync: full}\n")
	s.send(t, "GET", page, "").holds(t, "the page does not name the key", told, "store.sync")
}

func TestWarningsOfTheConfigurationAreLoggedOnce(t *testing.T) {
	t.Parallel()
	s := start(t, "modles: []\nmodels: [{name: m, use: openai, api_key: $FAWN_TEST_UNSET}]\n")
	s.works(t)
	for _, want := range []string{"config.yaml:1:1", "FAWN_TEST_UNSET"} {
		webtest.Same(t, fmt.Sprintf("%q is logged … times", want), strings.Count(s.log.String(), want), 1)
	}
}

func TestPanicsAreAnsweredAndLogged(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	s.app.Handle("/early", func(echo.Context) error { panic("too early") })
	s.app.Handle("/late", func(c echo.Context) error {
		if err := c.String(http.StatusOK, "the beginning"); err != nil {
			return err
		}
		c.Response().Flush()
		panic("too late")
	})
	s.send(t, "GET", "/early", "").want(t, "the answer", http.StatusInternalServerError, "!too early")
	res, err := s.request(t.Context(), "GET", "/late", http.NoBody)
	must.Do(t, err)
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("half an answer looks whole: %q", b)
	}
	for _, want := range []string{"too early", "too late"} {
		webtest.Same(t, fmt.Sprintf("%q is logged … times", want), strings.Count(s.log.String(), "panic=\""+want), 1)
	}
	s.works(t)
}

// TestNothingIsLeftBehind opens, uses and closes the program with streams, waiting
// requests and queued runs.
func TestNothingIsLeftBehind(t *testing.T) {
	conf := scripted(t)
	before := goleak.IgnoreCurrent()
	s := start(t, conf)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const silence = `SCRIPT{"turns": [{"text": "hm", "hang": true}]}`
	api := s.stream(t, ctx, "/threads/t1/runs/stream", human(silence, `"stream_mode": "messages-tuple"`))
	api.until(t, `"hm"`)
	s.send(t, "POST", "/threads/t1/runs", human("queued")).must(t, "queued", http.StatusOK)
	page, err := s.request(ctx, "GET", "/ui/threads/t1/stream", http.NoBody, "X-Fawn", "1")
	must.Do(t, err)
	defer page.Body.Close()
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		res, err := s.request(ctx, "POST", "/threads/t2/runs/wait",
			strings.NewReader(agenttest.RunBody("/runs", human(silence))))
		if err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	until(t, func() bool {
		return strings.Contains(s.send(t, "GET", "/threads/t2/runs", "").body, `"running"`)
	})

	began := time.Now()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("stopping took %v", took)
	}
	for api.line.Scan() {
	}
	if _, err := io.Copy(io.Discard, page.Body); err != nil {
		t.Logf("the page's stream: %v", err)
	}
	<-waiting
	if err := s.app.Close(); err != nil {
		t.Error("closed again:", err)
	}
	s.client.CloseIdleConnections()
	agenttest.NoLeaks(t, before)
}

// until waits for what the server does by itself.
func until(t *testing.T, done func() bool) {
	t.Helper()
	webtest.Until(t, "what the server does by itself", done)
}

// TestAFailedStartHoldsNothing lets every stage of a start fail and checks that folder,
// port and goroutines are free again.
func TestAFailedStartHoldsNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, o *web.Options)
		says    string
	}{
		{"address without port", func(_ *testing.T, o *web.Options) { o.Addr = "localhost" }, "use host:port"},
		{"port that is none", func(_ *testing.T, o *web.Options) { o.Addr = "127.0.0.1:99999" }, "invalid port"},
		{"folder is a file", func(t *testing.T, o *web.Options) {
			o.Data = filepath.Join(o.Data, "file")
			write(t, o.Data, "")
		}, "Choose another with --data"},
		{"no configuration", func(t *testing.T, o *web.Options) { o.Config = filepath.Join(t.TempDir(), "none.yaml") }, "none.yaml"},
		{"broken configuration", func(t *testing.T, o *web.Options) {
			o.Config = filepath.Join(t.TempDir(), "c.yaml")
			write(t, o.Config, "\nmodels: 3\n")
		}, "c.yaml:2:9"},
		{"port taken", func(t *testing.T, o *web.Options) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must.Do(t, err)
			t.Cleanup(func() { l.Close() })
			o.Addr = l.Addr().String()
		}, "already in use by another program"},
		{"folder taken", func(t *testing.T, o *web.Options) {
			db, err := store.Open(t.Context(), store.Config{Dir: o.Data, Addr: "127.0.0.1:7777"})
			must.Do(t, err)
			t.Cleanup(func() { db.Close() })
		}, fmt.Sprintf("in use by process %d serving 127.0.0.1:7777", os.Getpid())},
		{"database is something else", func(t *testing.T, o *web.Options) {
			write(t, filepath.Join(o.Data, "fawn.db"), strings.Repeat("no database ", 1000))
		}, "is not a database"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := web.Options{Addr: freeAddr(t), Data: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
			dir := o.Data
			c.prepare(t, &o)
			app, err := web.Open(t.Context(), o)
			if err == nil {
				app.Close()
				t.Fatal("opened")
			}
			webtest.Holds(t, fmt.Sprintf("it says %q, want %q in it", err, c.says), err.Error(), c.says)
			if c.name != "port taken" && o.Addr != "127.0.0.1:99999" && strings.HasPrefix(o.Addr, "127.") {
				l, err := net.Listen("tcp", o.Addr)
				must.Do(t, err, "the port is held")
				l.Close()
			}
			if c.name == "folder taken" || strings.Contains(c.name, "database") {
				return
			}
			db, err := store.Open(t.Context(), store.Config{Dir: dir})
			must.Do(t, err, "the folder is held")
			db.Close()
		})
	}
	agenttest.NoLeaks(t, before)
}

func TestABrokenConfigurationIsKnownByItsError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "c.yaml")
	write(t, file, "server: {max_readers: many}\n")
	_, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: file})
	if !errors.Is(err, config.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
}

// freeAddr is a loopback address that can be listened on. No system gives its port away by itself, to whoever wants
// any or goes out.
func freeAddr(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(10_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		must.Do(t, err)
		defer l.Close()
		return l.Addr().String()
	}
}

// closedAddr is a loopback address where nobody listens, or can while the test runs.
func closedAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	ours, err := net.Dial("tcp", l.Addr().String())
	must.Do(t, err)
	t.Cleanup(func() { ours.Close() })
	theirs, err := l.Accept()
	must.Do(t, err)
	t.Cleanup(func() { theirs.Close() })
	return ours.LocalAddr().String()
}
