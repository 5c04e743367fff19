package eventlog

import (
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// remoteFrames reads the frames of a run's open step into its log.
type remoteFrames struct {
	last    int64 // number up to which the log has everything, in memory or in rows
	decoder runevent.Decoder
	hole    bool // something is missing behind last, so all that follows is left to the rows
}

// add takes a frame, which counts once it is shown. False says that something before it is missing.
func (f *remoteFrames) add(log *Log, d store.Delta) bool {
	if d.Seq <= f.last || f.hole {
		return true
	}
	ev, _, err := f.decoder.Decode(d.Data)
	ev.Seq, ev.To = d.Seq-ev.Width()+1, d.Seq
	if err != nil || ev.Seq != f.last+1 {
		return false
	}
	log.Add(&ev)
	f.last = d.Seq
	return true
}

// fold says that everything up to a number is in rows. What follows is another step.
func (f *remoteFrames) fold(log *Log, to int64) {
	if to > f.last {
		log.Store(to)
		*f = remoteFrames{last: to}
	}
}
