package mcp

import (
	"sync/atomic"
	"time"

	"fawn/agent/mcp/process"
)

// watch detects a server without progress. On a busy machine a start takes long, but the server writes or computes
// meanwhile.
type watch struct {
	proc atomic.Pointer[process.Process]
	done chan struct{}
}

// watch waits until a server was inactive for its limit, or has exceeded the total limit. The caller ends it.
func (s *server) watch(conf Server, late func(waited time.Duration)) *watch {
	quiet, most := conf.startTime()
	w := &watch{done: make(chan struct{})}
	s.pool.work.Go(func() {
		tick := time.NewTicker(max(min(quiet/4, time.Second), time.Millisecond))
		defer tick.Stop()
		began, moved, seen := time.Now(), time.Now(), uint64(0)
		for {
			select {
			case <-w.done:
				return
			case now := <-tick.C:
				if p := w.proc.Load(); p != nil {
					if did := p.Activity(); did != seen {
						moved, seen = now, did
					}
				}
				if now.Sub(moved) >= quiet || now.Sub(began) >= most {
					late(min(now.Sub(began), most).Round(quiet / 10))
					return
				}
			}
		}
	})
	return w
}

// follow sets whose progress counts; nil for invisible progress.
func (w *watch) follow(p *process.Process) { w.proc.Store(p) }

func (w *watch) end() { close(w.done) }
