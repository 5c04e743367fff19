package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/web/api"
	"fawn/web/gateway"
	"fawn/web/httpx"
	"fawn/web/proxy"
	"fawn/web/restart"
	"fawn/web/ui"
)

// front groups the parts that take requests: the address and how clients reach it, the routes, the API and the pages.
type front struct {
	trust     proxy.Trust
	base      string      // "" or such as /fawn
	vouches   string      // header with whom a trusted proxy has signed in
	tls       *tls.Config // nil speaks plain HTTP
	listeners []net.Listener

	api     *api.API
	gateway *gateway.Gateway
	pages   *ui.UI
	readers httpx.Limiter // of event streams of the API
	echo    *echo.Echo

	server   *http.Server      // nil until it serves
	leaving  ending            // when the server begins to stop: pages come back by themselves
	draining ending            // called when the runs have stopped and remaining readers should disconnect
	handover *restart.Handover // what is kept when the right to write to the database is lost, nil for nothing
}

// open applies the settings of proxies and TLS, before the address is opened.
func (f *front) open(o Options, snap *config.Snapshot, d *data) (err error) {
	server := snap.File.Server
	if err := f.openProxy(server, snap.File.Auth.ProxyHeader, o.Base); err != nil {
		return err
	}
	f.tls, err = TLSConfig(server.TLS, d.dirs.Root, o.Log)
	return err
}

// closeAddress closes the listeners if the server never served; a server that did has closed or kept them.
func (f *front) closeAddress() (err error) {
	if f.server != nil {
		return nil
	}
	for _, l := range f.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// close ends the API's work beside requests.
func (f *front) close() {
	if f.api != nil {
		f.api.Close()
	}
}

// checkAddr refuses an invalid address.
func checkAddr(o Options) error {
	if _, _, err := net.SplitHostPort(o.Addr); err != nil {
		return fmt.Errorf("--addr %q isn't a valid address: use host:port, for example %s", o.Addr, DefaultAddr)
	}
	return nil
}

// IsLoopback tells whether a host is this machine itself.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// listen opens the address, and for the IPv4 loopback also ::1 where there is one.
func (f *front) listen(ctx context.Context, o Options) error {
	if len(o.Listeners) > 0 {
		f.listeners = o.Listeners
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.Addr)
	if err != nil {
		if portTaken(err) {
			return fmt.Errorf("%s is already in use by another program. Stop it, or choose another address with --addr",
				o.Addr)
		}
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err // what is around it repeats the address
		}
		return fmt.Errorf("can't listen on --addr %s: %w", o.Addr, err)
	}
	f.listeners = append(f.listeners, l)
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.Equal(net.IPv4(127, 0, 0, 1)) {
		six, err := lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", fmt.Sprint(at.Port)))
		if err == nil {
			f.listeners = append(f.listeners, six)
		} else if portTaken(err) {
			o.Log.Warn("port in use on ::1; listening on 127.0.0.1 only", "port", at.Port)
		}
	}
	return nil
}

// bound is the address that was opened, or the one that was asked for if none could be.
func (f *front) bound(asked string) string {
	if len(f.listeners) == 0 {
		return asked
	}
	return f.addr()
}

// addr is the first address that is listened on.
func (f *front) addr() string { return f.listeners[0].Addr().String() }

// local reports whether only this machine can reach the server.
func (f *front) local() bool {
	for _, l := range f.listeners {
		if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// Addr is the address Fawn listens on.
func (a *App) Addr() string { return a.front.addr() }

// URL is the address to open in a browser.
func (a *App) URL() string {
	return a.url() + a.front.base
}
