// Command cmd serves the scripted model. It prints its base address on the
// first line of its output and ends on SIGTERM, SIGINT or when its standard
// input, if asked to watch it, is closed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"fawn/web/e2e/scriptmodel"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scriptmodel:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	watch := flag.Bool("until-eof", false, "end when standard input is closed")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Println("http://" + ln.Addr().String())
	if *watch {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	srv := &http.Server{Handler: scriptmodel.New(), ReadHeaderTimeout: 10 * time.Second}
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
