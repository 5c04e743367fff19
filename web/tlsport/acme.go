package tlsport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Authority is the source of certificates (RFC 8555), with their names.
type Authority struct {
	Domains   []string // names that get a certificate
	Email     string   // told about problems; may be empty
	Directory string   // address of the authority's directory; empty is Let's Encrypt
	Root      string   // PEM file with the authority's own root certificate; empty is the system's roots
	Cache     string   // folder for the account's key and the certificates
}

// ACME returns a configuration whose certificates are created at the first connection for a name and renewed 30 days
// before they expire. The authority validates port 443 of the name (TLS-ALPN-01, RFC 8737), so the server's port must
// be reachable there.
func ACME(a Authority) (*tls.Config, error) {
	client, err := a.client()
	if err != nil {
		return nil, err
	}
	m := &autocert.Manager{Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(a.Domains...),
		Cache: autocert.DirCache(a.Cache), Email: a.Email, Client: client}
	first := a.Domains[0]
	c := config(func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName == "" { // a client connecting by address gets the first name's certificate
			hello.ServerName = first
		}
		cert, err := m.GetCertificate(hello)
		if err != nil {
			err = fmt.Errorf("certificate for %q: %w", hello.ServerName, err)
		}
		return cert, err
	})
	c.NextProtos = append(c.NextProtos, acme.ALPNProto)
	return c, nil
}

// client speaks to the authority.
func (a Authority) client() (*acme.Client, error) {
	client := &acme.Client{DirectoryURL: a.URL()}
	if a.Root == "" {
		return client, nil
	}
	pem, err := os.ReadFile(a.Root)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", a.Root)
	}
	client.HTTPClient = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return client, nil
}
