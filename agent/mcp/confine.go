package mcp

import (
	"context"
	"errors"
	"io"
	"os"
)

// Folder is one of this machine that a server in a sandbox sees.
type Folder struct {
	Dir, Path string // on this machine, and inside
	Write     bool
}

// Job is a server that is to run in a sandbox.
type Job struct {
	Server   Server
	Thread   string    // "" for one that only lists its tools
	In, Out  *os.File  // its standard input and output; whoever runs it closes them
	Complain io.Writer // takes its standard error
}

var errNoSandbox = errors.New("it may only run in a sandbox, and there is none here")

// confined starts a server in a sandbox, as a process that ends when it does.
func (s *server) confined(conf Server, thread string) (_ *process, err error) {
	if s.pool.o.Confine == nil {
		return nil, errNoSandbox
	}
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), ours.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{in: ours, out: out, exited: make(chan struct{}), said: make(chan struct{}), ways: []func(){cancel}}
	p.work.Go(func() {
		defer cancel()
		lines := &lineWriter{take: s.log.add}
		p.status = s.pool.o.Confine(ctx, Job{Server: conf, Thread: thread, In: in, Out: theirs, Complain: lines})
		lines.flush()
		close(p.said)
		close(p.exited)
	})
	return p, nil
}
