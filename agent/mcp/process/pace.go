package process

import (
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Output limits of a server: a burst, and bytes per second. More waits in the pipe and blocks the server, so a flood
// doesn't use up the processor.
const (
	outBurst, outRate = 32 << 20, 4 << 20 // the burst fits a message of the usual limit
	errBurst, errRate = 1 << 20, 256 << 10
	lineCost          = 16 << 10 // charged per message besides its bytes, for the work of reading it
)

// paced is a stream that is read no faster than its rate.
type paced struct {
	*os.File
	end         <-chan struct{} // closed when the reader stops
	burst, rate int
	line        int // cost of a line end
	heard       *atomic.Uint64

	left int
	at   time.Time
}

// Read implements [io.Reader].
func (p *paced) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	p.heard.Add(uint64(max(n, 0)))
	now := time.Now()
	gained := p.burst
	if since := now.Sub(p.at); !p.at.IsZero() && since < time.Minute {
		gained = int(since.Seconds() * float64(p.rate))
	}
	p.left, p.at = min(p.left+gained, p.burst)-n, now
	if p.line > 0 {
		for _, c := range b[:n] {
			if c == '\n' {
				p.left -= p.line
			}
		}
	}
	if p.left < 0 {
		p.left = max(p.left, -p.rate) // a second at most
		timer := time.NewTimer(time.Duration(float64(-p.left) / float64(p.rate) * float64(time.Second)))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.end:
		}
	}
	return n, err
}

// Output returns the process's standard output.
func (p *Process) Output() io.ReadCloser {
	return &paced{File: p.out, end: p.exited, burst: outBurst, rate: outRate, line: lineCost, heard: &p.heard}
}
