package mcp

import (
	"context"
	"errors"
	"io"
	"os"

	"fawn/agent/mcp/process"
)

// Folder is a folder of this machine visible to a sandboxed server.
type Folder struct {
	Dir, Path string // on this machine, and inside
	Write     bool
}

// Job is a server that is to run in a sandbox.
type Job struct {
	Server   Server
	Thread   string    // "" for a server that only lists its tools
	In, Out  *os.File  // standard input and output of the server; the function running it closes them
	Complain io.Writer // takes its standard error
}

var errNoSandbox = errors.New("it may only run in a sandbox, and there is none here")

// confined starts a server in a sandbox, as a process that ends when it does.
func (s *server) confined(conf Server, thread string) (*process.Process, error) {
	if s.pool.o.Confine == nil {
		return nil, errNoSandbox
	}
	return process.Confined(func(ctx context.Context, in, out *os.File, complain io.Writer) error {
		return s.pool.o.Confine(ctx, Job{Server: conf, Thread: thread, In: in, Out: out, Complain: complain})
	}, s.log.add)
}
