package eventlog

import (
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// remoteFrames reads the frames of a run's open step into its log.
type remoteFrames struct {
	last    int64 // number up to which the log has everything, in memory or in rows
	decoder runevent.Decoder
	hole    bool // a gap after last, so all later frames must be read from rows
}

// add adds a frame, which counts once it is shown. It returns false if an earlier one is missing.
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

// fold marks everything up to a number as stored in rows. A new step follows.
func (f *remoteFrames) fold(log *Log, to int64) {
	if to > f.last {
		log.Store(to)
		*f = remoteFrames{last: to}
	}
}
