// Command cmd simulates Telegram and Slack for browser tests. Its own address returns the simulated APIs' addresses and
// credentials, accepts people's messages (POST /telegram/said) and faults (POST /telegram/fails), and returns the
// content of chats (GET /telegram/shown?chat=ID).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"fawn/agent/channels/chat/chattest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "chatapp:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	t, end := chattest.Alone(ctx, os.Stderr)
	defer end()
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	apps := map[string]standIn{ // by Fawn's names
		"telegram": {chattest.NewTelegram(t), map[string]string{"bot_token": chattest.TelegramToken}},
		"slack": {chattest.NewSlack(t), map[string]string{"bot_token": chattest.SlackBotToken,
			"app_token": chattest.SlackAppToken}},
	}
	srv := &http.Server{Handler: control(apps), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		srv.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// A standIn is a platform, with the credentials of its bot.
type standIn struct {
	chattest.Fake
	Credentials map[string]string
}

// control handles the tests' requests to the simulators.
func control(apps map[string]standIn) http.Handler {
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		about := map[string]any{}
		for name, a := range apps {
			about[name] = map[string]any{"api": a.State().URL, "credentials": a.Credentials}
		}
		answer(w, about)
	})
	mux.HandleFunc("POST /{app}/said", func(w http.ResponseWriter, r *http.Request) {
		with(apps, w, r, func(a standIn, m chattest.Said) { a.Say(m) })
	})
	mux.HandleFunc("POST /{app}/fails", func(w http.ResponseWriter, r *http.Request) {
		with(apps, w, r, func(a standIn, f chattest.Fault) { a.State().Fail(f) })
	})
	mux.HandleFunc("GET /{app}/shown", func(w http.ResponseWriter, r *http.Request) {
		if a, ok := apps[r.PathValue("app")]; ok {
			answer(w, a.State().Shown(r.URL.Query().Get("chat")))
			return
		}
		http.NotFound(w, r)
	})
	return mux
}

// with applies a request's body to the simulator in its path.
func with[T any](apps map[string]standIn, w http.ResponseWriter, r *http.Request, do func(standIn, T)) {
	a, ok := apps[r.PathValue("app")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	var v T
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	do(a, v)
}
