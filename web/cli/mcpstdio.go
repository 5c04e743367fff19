package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"fawn/store"
	"fawn/web"
	"fawn/web/mcpserver"
)

// ServeMCP runs Fawn as an MCP server on in and out, for programs that start their servers themselves.
// It uses the server that has the data folder, or opens the folder itself.
func ServeMCP(ctx context.Context, o web.Options, in io.Reader, out io.Writer) error {
	o.Addr, o.Out = "127.0.0.1:0", io.Discard // standard output belongs to the client
	own := &ownServer{o: o}
	bridge := mcpserver.Bridge{Find: own.find, In: in, Out: out, Token: os.Getenv("FAWN_TOKEN")}
	return errors.Join(bridge.Run(ctx), own.close())
}

// ownServer is a server that lives as long as its process.
type ownServer struct {
	o    web.Options
	stop context.CancelFunc
	work sync.WaitGroup
	err  error
}

// find returns the address of the server of a data folder.
func (s *ownServer) find(ctx context.Context) (string, error) {
	a, err := web.Open(context.WithoutCancel(ctx), s.o)
	if locked, ok := errors.AsType[*store.LockedError](err); ok {
		if locked.Addr == "" {
			return "", err
		}
		return web.LocalURL(locked.Addr), nil
	}
	if err != nil {
		return "", err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.work.Go(func() { s.err = errors.Join(a.Run(running), a.Close()) })
	return a.LocalURL(), nil
}

func (s *ownServer) close() error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	s.work.Wait()
	if s.err != nil {
		return fmt.Errorf("close the data folder: %w", s.err)
	}
	return nil
}
