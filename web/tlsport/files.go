package tlsport

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// recheck is the interval of checking a certificate's files while clients connect.
const recheck = 10 * time.Second

// Files returns a configuration with the certificate and the key in two PEM files. When they are renewed, new
// connections get the new ones; a pair that can't be read is logged, and the old one stays in use.
func Files(cert, key string, log *slog.Logger) (*tls.Config, error) {
	f := &pair{cert: cert, key: key, each: recheck, log: log}
	if err := f.load(); err != nil {
		return nil, err
	}
	f.looked = time.Now()
	return config(f.certificate), nil
}

func config(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: get}
}

// pair is a certificate with its key, and the state of the files it came from.
type pair struct {
	cert, key string
	each      time.Duration // interval of checking the files
	log       *slog.Logger

	mu     sync.Mutex
	now    *tls.Certificate
	from   [2]stamp
	looked time.Time
}

// stamp identifies a version of a file.
type stamp struct {
	changed time.Time
	size    int64
}

func (p *pair) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.looked) < p.each {
		return p.now, nil
	}
	p.looked = time.Now()
	if from, err := p.stamps(); err == nil && from == p.from {
		return p.now, nil
	}
	if err := p.load(); err != nil {
		p.log.Warn("renewed certificate invalid; keeping the previous one", "err", err)
	} else {
		p.log.Info("certificate renewed", "until", p.now.Leaf.NotAfter)
	}
	return p.now, nil
}

// load reads both files. Files that change meanwhile are read again at the next look.
func (p *pair) load() error {
	from, err := p.stamps()
	if err != nil {
		return err
	}
	c, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", p.cert, p.key, err)
	}
	p.now, p.from = &c, from
	return nil
}

func (p *pair) stamps() (all [2]stamp, err error) {
	for i, name := range [...]string{p.cert, p.key} {
		info, err := os.Stat(name)
		if err != nil {
			return all, err
		}
		all[i] = stamp{info.ModTime(), info.Size()}
	}
	return all, nil
}
