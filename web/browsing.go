package web

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"fawn/agent/browsing"
	"fawn/agent/config"
	"fawn/sandbox/browser"
	"fawn/sandbox/files"
	"fawn/web/account/factor"
)

const (
	// browserKey is the file in the data folder with the key for stored browser state.
	browserKey = "browser.key"
	// browserState is the file next to a thread's files with its cookies, out of reach of commands.
	browserState = "browser.state"
)

// openBrowsers creates the service that gives agents a browser.
func (t *tools) openBrowsers(conf *config.Store, d *data, n network, log *slog.Logger) {
	states := browserStates{d}
	t.browsers = browser.New(browser.Config{
		Browser: &t.browser,
		Rules: func(string) browser.Rules {
			f := conf.Current().File
			return browser.Rules{Guard: n.guard("web.allow_private", f.Web.AllowPrivate), Ports: f.Web.Ports,
				Deny: f.Sandbox.Network.Deny, Decisions: t.network}
		},
		Most: func() int { return conf.Current().File.Browser.Sessions },
		Idle: func() time.Duration { return conf.Current().File.Browser.IdleTimeout },
		Owner: func(thread string) string {
			row, err := d.db.Thread(context.Background(), thread)
			if err != nil {
				log.Warn("couldn't find the owner of a browser", "thread", thread, "err", err)
			}
			return row.Owner
		},
		Load: states.load,
		Save: states.save,
		Log:  log,
	})
	t.browsing = browsing.New(browsing.Config{Browsers: t.browsers, Forget: states.forget, Log: log,
		Files: func(thread string) (*files.Files, error) {
			if err := d.dirs.Create(thread); err != nil {
				return nil, err
			}
			return d.dirs.Open(thread)
		}})
}

// browserStates stores the cookies of browsers beside the files of their threads, sealed: cookies are as good as
// passwords.
type browserStates struct{ d *data }

// keys returns the keys that seal states of browsers, the current one first.
func (s browserStates) keys() ([][]byte, error) {
	if s.d.shared == nil {
		key, err := factor.NamedKey(s.d.dirs.Root, browserKey)
		return [][]byte{key}, err
	}
	const use = "browsers"
	key, err := s.d.shared.SigningKey(context.Background(), use)
	return append([][]byte{key}, s.d.shared.OlderKeys(use)...), err
}

func (s browserStates) file(thread string) (string, error) {
	dir, err := s.d.dirs.Folder(thread)
	return filepath.Join(dir, browserState), err
}

// save stores the state of a thread's browser.
func (s browserStates) save(thread string, state []byte) error {
	if err := s.d.dirs.Create(thread); err != nil { // a thread whose browser was opened by a person may have no folder yet
		return err
	}
	name, err := s.file(thread)
	if err != nil {
		return err
	}
	keys, err := s.keys()
	if err != nil {
		return err
	}
	aead, err := chacha20poly1305.NewX(keys[0])
	if err != nil {
		return err
	}
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	rand.Read(nonce) //nolint:errcheck // never fails
	f, err := os.CreateTemp(filepath.Dir(name), ".browser-*")
	if err != nil {
		return err
	}
	_, err = f.Write(aead.Seal(nonce, nonce, state, []byte(thread)))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// load reads the state that save stored; nil for a thread without.
func (s browserStates) load(thread string) ([]byte, error) {
	name, err := s.file(thread)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := s.keys()
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return nil, err
		}
		if len(raw) < chacha20poly1305.NonceSizeX {
			break
		}
		if plain, err := aead.Open(nil, raw[:chacha20poly1305.NonceSizeX], raw[chacha20poly1305.NonceSizeX:],
			[]byte(thread)); err == nil {
			return plain, nil
		}
	}
	return nil, errors.New("it is encrypted with another key")
}

// forget deletes the stored state of a thread's browser.
func (s browserStates) forget(thread string) error {
	name, err := s.file(thread)
	if err != nil {
		return err
	}
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
