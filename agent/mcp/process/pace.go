package process

import (
	"io"
	"os"
	"sync/atomic"
	"time"
)

// What a server may write in one go, and then each second. More of it waits in the pipe, and so does
// the server: one that floods takes nobody's processor.
const (
	outBurst, outRate = 32 << 20, 4 << 20 // a message of the usual limit at once
	errBurst, errRate = 1 << 20, 256 << 10
	lineCost          = 16 << 10 // of each message beside its bytes, for reading it takes more than it has
)

// paced is a stream that is read no faster than its rate.
type paced struct {
	*os.File
	end         <-chan struct{} // nobody waits from then on
	burst, rate int
	line        int // what the end of a line costs
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

// Output is what a process says.
func (p *Process) Output() io.ReadCloser {
	return &paced{File: p.out, end: p.exited, burst: outBurst, rate: outRate, line: lineCost, heard: &p.heard}
}
