// Command cmd serves a stand-in of Telegram for tests in a browser. Its own address tells where the Bot API is and with
// which token, takes what people write (POST /said), and tells what their chats show (GET /shown?chat=ID).
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
	srv := &http.Server{Handler: control(chattest.NewTelegram(t)), ReadHeaderTimeout: 10 * time.Second}
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

// control is what tests do with the stand-in.
func control(f *chattest.Telegram) http.Handler {
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"api": f.State().URL, "token": chattest.TelegramToken})
	})
	mux.HandleFunc("POST /said", func(w http.ResponseWriter, r *http.Request) {
		var m chattest.Said
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.Say(m)
	})
	mux.HandleFunc("GET /shown", func(w http.ResponseWriter, r *http.Request) {
		answer(w, f.State().Shown(r.URL.Query().Get("chat")))
	})
	return mux
}
