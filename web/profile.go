package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"
)

// profiles returns the server of Go's profiles at a loopback address. Profiles show parts of memory, so that no other
// machine and no page in a browser may read them.
func profiles(addr string) (*http.Server, net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, fmt.Errorf("--pprof must be HOST:PORT such as 127.0.0.1:6060: %w", err)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, nil, fmt.Errorf("--pprof must be a loopback address, such as 127.0.0.1:6060, not %s", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("--pprof: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = r.Host
		}
		ip, err := netip.ParseAddr(name)
		if name != "localhost" && (err != nil || !ip.IsLoopback()) || r.Header.Get("Origin") != "" {
			http.Error(w, "profiles are for programs on this machine", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
	return &http.Server{Handler: own, ReadHeaderTimeout: 10 * time.Second}, l, nil
}

// serveProfiles answers requests for profiles until ctx ends.
func serveProfiles(ctx context.Context, server *http.Server, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // the listener closes anyway, so its error is ignored
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve profiles: %w", err)
	}
	return nil
}
