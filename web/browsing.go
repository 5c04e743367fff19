package web

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"fawn/agent/browsing"
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
func (a *App) openBrowsers() *browsing.Service {
	a.tools.browsers = browser.New(browser.Config{
		Browser: &a.tools.browser,
		Rules: func(string) browser.Rules {
			f := a.config.Current().File
			return browser.Rules{Guard: a.guardFor("web.allow_private", f.Web.AllowPrivate), Ports: f.Web.Ports,
				Deny: f.Sandbox.Network.Deny, Decisions: a.tools.network}
		},
		Most: func() int { return a.config.Current().File.Browser.Sessions },
		Idle: func() time.Duration { return a.config.Current().File.Browser.IdleTimeout },
		Owner: func(thread string) string {
			t, err := a.data.db.Thread(context.Background(), thread)
			if err != nil {
				a.opts.Log.Warn("couldn't find the owner of a browser", "thread", thread, "err", err)
			}
			return t.Owner
		},
		Load: a.loadBrowser,
		Save: a.saveBrowser,
		Log:  a.opts.Log,
	})
	return browsing.New(browsing.Config{Browsers: a.tools.browsers, Forget: a.forgetBrowser, Log: a.opts.Log,
		Files: func(thread string) (*files.Files, error) {
			if err := a.data.dirs.Create(thread); err != nil {
				return nil, err
			}
			return a.data.dirs.Open(thread)
		}})
}

// browserKeys returns the keys that seal states of browsers, the current one first.
func (a *App) browserKeys() ([][]byte, error) {
	if a.data.shared == nil {
		key, err := factor.NamedKey(a.data.dirs.Root, browserKey)
		return [][]byte{key}, err
	}
	const use = "browsers"
	key, err := a.data.shared.SigningKey(context.Background(), use)
	return append([][]byte{key}, a.data.shared.OlderKeys(use)...), err
}

func (a *App) browserFile(thread string) (string, error) {
	dir, err := a.data.dirs.Folder(thread)
	return filepath.Join(dir, browserState), err
}

// saveBrowser stores the state of a thread's browser, sealed: cookies are as good as passwords.
func (a *App) saveBrowser(thread string, state []byte) error {
	if err := a.data.dirs.Create(thread); err != nil { // a thread whose browser was opened by a person may have no folder yet
		return err
	}
	name, err := a.browserFile(thread)
	if err != nil {
		return err
	}
	keys, err := a.browserKeys()
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

// loadBrowser reads the state that saveBrowser stored; nil for a thread without.
func (a *App) loadBrowser(thread string) ([]byte, error) {
	name, err := a.browserFile(thread)
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
	keys, err := a.browserKeys()
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
	return nil, errors.New("it is sealed with another key")
}

// forgetBrowser deletes the stored state of a thread's browser.
func (a *App) forgetBrowser(thread string) error {
	name, err := a.browserFile(thread)
	if err != nil {
		return err
	}
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
