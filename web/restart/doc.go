// Package restart executes the program again in the same process, for a server that must not continue its state. The
// new image gets the same arguments and environment. The system ends all threads and closes all files; only the sockets
// are passed on, so that no client is refused meanwhile.
package restart

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// answerTime limits a pending response once the server is ready.
const answerTime = 200 * time.Millisecond

// Sockets are the listeners taken over from the process image before.
type Sockets struct {
	Addr      string // requested address
	Listeners []net.Listener
}

// Answer tells connections waiting longer than after to retry, until the returned function is called.
func (l *Sockets) Answer(after time.Duration) (stop func()) {
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(again)}
	server.SetKeepAlivesEnabled(false)
	ready := make(chan struct{})
	var accepting sync.WaitGroup
	accepting.Go(func() {
		select {
		case <-ready:
			return
		case <-time.After(after):
		}
		for _, listener := range l.Listeners {
			if own, err := copied(listener); err == nil { // otherwise they wait
				accepting.Go(func() { server.Serve(own) }) // until it is closed
			}
		}
	})
	return func() {
		close(ready)
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		accepting.Wait()
	}
}

func again(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "this server is starting", http.StatusServiceUnavailable)
}

// copied returns another listener on the same socket.
func copied(l net.Listener) (net.Listener, error) {
	f, err := file(l)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FileListener(f)
}

func file(l net.Listener) (*os.File, error) {
	has, ok := l.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, http.ErrNotSupported
	}
	return has.File()
}
