package web

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"

	"fawn/agent/config"
	"fawn/web/proxy"
	"fawn/web/tlsport"
)

// TLSConfig returns the TLS configuration, or nil for plain HTTP.
func TLSConfig(t config.TLS, data string, log *slog.Logger) (c *tls.Config, err error) {
	switch {
	case len(t.Domains) > 0 && t.Cert+t.Key != "":
		err = errors.New("files and domains are both set: use one of them")
	case len(t.Domains) > 0:
		c, err = tlsport.ACME(Authority(t, data))
	case t.Cert != "" && t.Key != "":
		c, err = tlsport.Files(t.Cert, t.Key, log)
	case t.Cert+t.Key != "":
		err = errors.New("it needs both files: cert and key")
	}
	if err != nil {
		return nil, fmt.Errorf("server.tls in the config: %w", err)
	}
	return c, nil
}

// Authority issues the certificates, which are stored in the data folder.
func Authority(t config.TLS, data string) tlsport.Authority {
	return tlsport.Authority{Domains: t.Domains, Email: t.Email, Directory: t.Directory, Root: t.DirectoryCA,
		Cache: filepath.Join(data, "acme")}
}

// secured returns a listener as clients meet it.
func (f *front) secured(l net.Listener, s config.Server) net.Listener {
	if f.tls == nil {
		return l
	}
	return tlsport.Listen(l, f.tls, s.HeaderTimeout)
}

// toTLS redirects plain HTTP requests to HTTPS if the port supports it. Programs on this machine may use HTTP, since
// their traffic stays local.
func (f *front) toTLS(w http.ResponseWriter, r *http.Request) (sent bool) {
	client := proxy.Of(r)
	if f.tls == nil || client.Secure() || client.Addr.IsLoopback() || fromHere(r, client) {
		return false
	}
	if !safe(r.Method) { // it was received already, and must not be sent unencrypted again
		http.Error(w, "this server speaks HTTPS only", http.StatusForbidden)
		return true
	}
	u := *r.URL
	u.Scheme, u.Host, u.Path, u.RawPath = "https", r.Host, client.Base+u.Path, ""
	w.Header().Set("Connection", "close")
	http.Redirect(w, r, u.String(), http.StatusPermanentRedirect)
	return true
}

// fromHere reports whether a client is on this machine, at the address that it called.
func fromHere(r *http.Request, client proxy.Client) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && client.Addr == at.AddrPort().Addr().Unmap()
}

// url returns where this machine finds the server, for people: with the name that its certificate has.
func (a *App) url() string {
	if a.front.tls == nil {
		return LocalURL(a.Addr())
	}
	host, port, err := net.SplitHostPort(a.Addr())
	if err != nil {
		return LocalURL(a.Addr())
	}
	if hosts := a.names(); len(hosts) > 0 {
		host = hosts[0]
	} else if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if port == "443" {
		return "https://" + host
	}
	return "https://" + net.JoinHostPort(host, port)
}

// names returns the server's configured host names.
func (a *App) names() []string {
	s := a.config.Current().File.Server
	return append(append([]string{}, s.TLS.Domains...), s.Hosts...)
}

// LocalURL returns where this machine finds a server that listens on an address.
func LocalURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "http://" + addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// LocalURL returns where programs on this machine find the server, below the path that it has for a proxy.
func (a *App) LocalURL() string { return LocalURL(a.Addr()) + a.front.base }
