package docker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"fawn/sandbox"
	"fawn/sandbox/jail"
)

// process is one of our processes in the container.
type process struct {
	conn   io.ReadWriteCloser
	id     string
	report chan *jail.Message // receives at most one
	ended  chan struct{}      // closed at the end of the connection
}

// exec starts the parent of a command. The command's output goes to out and errs, which are closed when all writers are
// gone.
func (b *box) exec(ctx context.Context, r jail.EngineRequest, out, errs io.WriteCloser) (_ *process, err error) {
	defer func() {
		if err != nil {
			_ = out.Close()
			_ = errs.Close()
		}
	}()
	r.Mark = []byte("\x00" + rand.Text() + "\x00")
	text, err := jail.EncodeEngineRequest(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrRequest, err)
	}
	var made struct{ Id string }
	err = b.engine.call(ctx, http.MethodPost, "/containers/"+b.id+"/exec", map[string]any{
		"AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "Tty": false, "WorkingDir": "/",
		"Cmd": []string{jail.EngineCall}, "Env": []string{"GOMAXPROCS=2", "GOGC=off"},
	}, &made)
	if err != nil {
		return nil, err
	}
	p := &process{id: made.Id, report: make(chan *jail.Message, 1), ended: make(chan struct{})}
	if p.conn, err = b.engine.hijack(ctx,
		"/exec/"+made.Id+"/start", map[string]bool{"Detach": false, "Tty": false}); err != nil {
		return nil, err
	}
	if !b.do(func() { p.read(r.Mark, out, errs) }) {
		return nil, errors.Join(sandbox.ErrGone, p.conn.Close())
	}
	// A background process may hold the connection as long as the box lives.
	b.do(func() {
		select {
		case <-p.ended:
		case <-b.quit.Done():
			_ = p.conn.Close()
		}
	})
	if _, err := p.conn.Write(text); err != nil {
		_ = p.conn.Close()
		<-p.ended
		return nil, fmt.Errorf("write to container: %w", err)
	}
	return p, nil
}

// read separates the outputs until the connection ends.
func (p *process) read(mark []byte, out, errs io.WriteCloser) {
	defer close(p.ended)
	defer errs.Close()
	defer out.Close()
	defer p.conn.Close()
	m := newMarkedOutputs(mark, discardLate{out}, discardLate{errs}, func(line []byte) {
		msg := new(jail.Message)
		if json.Unmarshal(line, msg) == nil {
			p.report <- msg
		}
	})
	if readFrames(p.conn, m.take) == nil {
		_ = m.flush()
	}
}

// discardLate accepts writes after the reader is gone.
type discardLate struct{ io.Writer }

func (d discardLate) Write(p []byte) (int, error) {
	_, _ = d.Writer.Write(p)
	return len(p), nil
}
