package wire

// Modes is a set of stream Modes.
type Modes uint16

// Stream Modes.
const (
	ModeValues Modes = 1 << iota
	ModeUpdates
	ModeMessages        // messages-tuple: deltas
	ModePartialMessages // messages: the message so far, repeatedly
	ModeCustom
	ModeTasks
	ModeCheckpoints
	ModeDebug
	ModeTools
	ModeEvents
)

// modeNames lists the modes' names for clients, in order of sending.
var modeNames = [...]struct {
	name string
	mode Modes
}{
	{"values", ModeValues}, {"updates", ModeUpdates}, {"messages", ModePartialMessages},
	{"messages-tuple", ModeMessages}, {"custom", ModeCustom},
	{"tasks", ModeTasks}, {"checkpoints", ModeCheckpoints}, {"debug", ModeDebug}, {"events", ModeEvents},
	{"tools", ModeTools},
}

// has reports whether any of some modes is in the set.
func (m Modes) has(some Modes) bool { return m&some != 0 }

// Custom reports whether custom events are asked for.
func (m Modes) Custom() bool { return m.has(ModeCustom) }

// ModeOf returns the mode with a name, 0 for none.
func ModeOf(name string) Modes {
	for _, m := range modeNames {
		if m.name == name {
			return m.mode
		}
	}
	return 0
}

// ModeNames returns the names of all modes.
func ModeNames() []string {
	var names []string
	for _, m := range modeNames {
		names = append(names, m.name)
	}
	return names
}
