package tlsport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ReadCertificate returns the certificate that Files would serve.
func ReadCertificate(cert, key string) (*x509.Certificate, error) {
	c, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return c.Leaf, nil
}

// Kept returns the certificate that the authority issued for a name before, or nil.
func (a Authority) Kept(ctx context.Context, name string) (*x509.Certificate, error) {
	b, err := autocert.DirCache(a.Cache).Get(ctx, name)
	if errors.Is(err, autocert.ErrCacheMiss) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return nil, errors.New("the file in the cache has no certificate")
		}
		if block.Type == "CERTIFICATE" { // the first is the name's own
			return x509.ParseCertificate(block.Bytes)
		}
	}
}

// URL returns where the authority's directory is.
func (a Authority) URL() string {
	if a.Directory == "" {
		return acme.LetsEncryptURL
	}
	return a.Directory
}

// Reach asks the authority for its directory.
func (a Authority) Reach(ctx context.Context) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	_, err = client.Discover(ctx)
	return err
}
