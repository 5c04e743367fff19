package api

import (
	"strings"

	"fawn/web/httpx"
)

// modes is a set of stream modes.
type modes uint16

// Stream modes.
const (
	modeValues modes = 1 << iota
	modeUpdates
	modeMessages        // messages-tuple: deltas
	modePartialMessages // messages: the message so far, again and again
	modeCustom
	modeTasks
	modeCheckpoints
	modeDebug
	modeTools
	modeEvents
)

// modeNames are the modes as clients ask for them, in the order they are told.
var modeNames = [...]struct {
	name string
	mode modes
}{
	{"values", modeValues}, {"updates", modeUpdates}, {"messages", modePartialMessages}, {"messages-tuple", modeMessages}, {"custom", modeCustom},
	{"tasks", modeTasks}, {"checkpoints", modeCheckpoints}, {"debug", modeDebug}, {"events", modeEvents}, {"tools", modeTools},
}

// parseModes reads mode names. None at all means values; an unknown one is a 422.
func parseModes(names []string) (modes, error) {
	if len(names) == 0 {
		return modeValues, nil
	}
	var set modes
	for _, name := range names {
		one, known := modes(0), make([]string, 0, len(modeNames))
		for _, m := range modeNames {
			known = append(known, m.name)
			if m.name == name {
				one = m.mode
			}
		}
		if one == 0 {
			return 0, httpx.Invalid("body", "stream_mode", "unknown mode %q (want %s)", cut(name, 40), strings.Join(known, ", "))
		}
		set |= one
	}
	return set, nil
}

// has tells whether any of some modes is in the set.
func (m modes) has(some modes) bool { return m&some != 0 }
