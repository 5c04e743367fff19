package cli

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"fawn/agent/config"
	"fawn/web"
	"fawn/web/tlsport"
)

// renewSoon is the time before the end of a certificate from which doctor warns. Authorities' own
// are renewed long before.
const renewSoon = 14 * 24 * time.Hour

// tls reports the server's certificate, or its source.
func (d *doctor) tls(ctx context.Context, s *config.Snapshot, data string) {
	t := s.File.Server.TLS
	if c, err := web.TLSConfig(t, data, slog.New(slog.DiscardHandler)); err != nil {
		d.line("bad", "tls", err.Error())
		return
	} else if c == nil {
		return
	}
	if len(t.Domains) == 0 {
		cert, err := tlsport.ReadCertificate(t.Cert, t.Key)
		if err != nil {
			d.line("bad", "tls", err.Error())
			return
		}
		d.certificate(strings.Join(append(cert.DNSNames, ips(cert)...), ", "), cert)
		for _, host := range s.File.Server.Hosts {
			if cert.VerifyHostname(host) != nil {
				d.line("note", "tls", "the certificate isn't for "+host+", which server.hosts names")
			}
		}
		return
	}
	a := web.Authority(t, data)
	for _, name := range t.Domains {
		switch cert, err := a.Kept(ctx, name); {
		case err != nil:
			d.line("bad", "tls", fmt.Sprintf("%s: %v", name, err))
		case cert == nil:
			d.line("note", "tls", name+": no certificate yet; Fawn gets one when the first browser comes")
		default:
			d.certificate(name, cert)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	if err := a.Reach(ctx); err != nil {
		d.line("note", "tls", fmt.Sprintf("%s can't be reached: %v", a.URL(), err))
	} else {
		d.line("good", "tls", a.URL()+" gives certificates")
	}
}

// certificate reports the validity of a certificate.
func (d *doctor) certificate(what string, c *x509.Certificate) {
	until := c.NotAfter.Format(time.DateOnly)
	switch now := time.Now(); {
	case now.Before(c.NotBefore):
		d.line("bad", "tls", what+": only from "+c.NotBefore.Format(time.DateOnly)+" on")
	case now.After(c.NotAfter):
		d.line("bad", "tls", what+": ended on "+until)
	case c.NotAfter.Sub(now) < renewSoon:
		d.line("note", "tls", what+": ends on "+until+", renew it")
	default:
		d.line("good", "tls", what+": until "+until)
	}
}

func ips(c *x509.Certificate) []string {
	var list []string
	for _, ip := range c.IPAddresses {
		list = append(list, ip.String())
	}
	return list
}
