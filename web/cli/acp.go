package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"fawn/web"
	"fawn/web/acp"
	"fawn/web/client"
)

// Editor holds an editor's choices for its sessions.
type Editor struct {
	Agent, Model, Mode string
}

// ServeACP lets an editor use an agent over in and out. Protocol errors are written to problems.
func ServeACP(ctx context.Context, o web.Options, to Reach, e Editor, in io.Reader, out, problems io.Writer) error {
	var mu sync.Mutex
	var ends []func() error
	open := func(ctx context.Context) (client.Server, error) {
		s, done, err := to.open(ctx, o)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, done)
		}
		return s, err
	}
	err := acp.Serve(ctx, acp.Options{Open: open, Agent: e.Agent, Model: e.Model, Effort: e.Mode, Version: o.Version,
		In: in, Out: out, Log: slog.New(slog.NewTextHandler(problems, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	mu.Lock()
	defer mu.Unlock()
	for _, done := range ends {
		err = errors.Join(err, done())
	}
	return err
}
