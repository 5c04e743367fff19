package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web"
	"fawn/web/client"
)

// Ends of a run from the command line.
const (
	RunSucceeded = client.Success
	RunWaits     = client.Waiting
	RunTimedOut  = client.TimedOut
	RunCancelled = client.Cancelled
	RunCutOff    = client.CutOff
)

// RunMistake means that a task refers to something missing on the server.
type RunMistake = client.Mistake

// RunTask holds the options of fawn run.
type RunTask = client.Task

// Reach selects the server: one at an address, otherwise the one using the data folder, otherwise a
// temporary one.
type Reach struct {
	URL       string // address of a server
	Token     string // for a server with accounts
	Ephemeral bool   // a temporary server with a temporary data folder
	Verbose   bool   // show a temporary server's log
}

// Run carries out a task and shows the answer on o.Out and the steps on progress.
func Run(ctx context.Context, o web.Options, to Reach, task RunTask, asJSON bool,
	progress io.Writer) (status client.Status, err error) {
	server, done, err := to.open(ctx, o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	r, err := client.Run(ctx, server, task, client.Screen{Answer: o.Out, Progress: progress, JSON: asJSON,
		Live: !asJSON && isTerminal(o.Out)})
	if err != nil && ctx.Err() != nil && r.Status == "" {
		return RunCancelled, nil
	}
	return r.Status, err
}

// open finds or starts the server. done stops a started one.
func (to Reach) open(ctx context.Context, o web.Options) (s client.Server, done func() error, err error) {
	s = client.Server{URL: to.URL, Token: to.Token, Client: &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment}}}
	if s.Token == "" {
		s.Token = os.Getenv("FAWN_TOKEN")
	}
	if to.URL != "" {
		s.URL, err = client.Address(to.URL)
		return s, func() error { return nil }, err
	}
	o.Addr, o.Out = "127.0.0.1:0", io.Discard
	if !to.Verbose {
		o.Log = web.NewLog(io.Discard)
	}
	remove := func() error { return nil }
	if to.Ephemeral {
		dir, err := passingFolder(&o)
		if err != nil {
			return s, nil, err
		}
		remove = func() error { return os.RemoveAll(dir) }
	}
	own := &ownServer{o: o}
	if s.URL, err = own.find(ctx); err != nil {
		return s, nil, errors.Join(err, remove())
	}
	return s, func() error {
		s.Client.CloseIdleConnections()
		return errors.Join(own.close(), remove())
	}, nil
}

// passingFolder creates a temporary data folder with the configuration of the other one, and makes o use it.
func passingFolder(o *web.Options) (dir string, err error) {
	data, err := config.DataDir(o.Data)
	if err != nil {
		return "", err
	}
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: data, Classes: lead.Classes()})
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "fawn-run-*"); err != nil {
		return "", err
	}
	for _, path := range []string{snap.ConfigPath, snap.ExtensionsPath, snap.SettingsPath(), snap.SecretsPath()} {
		name := filepath.Base(path)
		if path == "" {
			continue
		}
		if path == snap.ConfigPath {
			name = "config.yaml"
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			return "", errors.Join(fmt.Errorf("copy the configuration: %w", err), os.RemoveAll(dir))
		}
	}
	o.Data = dir
	if snap.ConfigPath != "" {
		o.Config = filepath.Join(dir, "config.yaml")
	}
	return dir, nil
}

// isTerminal reports whether the output is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
