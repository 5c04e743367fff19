package runevent

// Part is a frame that a step can expand to, in wire order after its whole messages.
type Part int

// Parts of a step. Task events come before and after the checkpoint: the node that ran, and the next nodes.
const (
	PartUpdates Part = iota
	PartResult
	PartResultDebug
	PartValues
	PartCheckpoint
	PartCheckpointDebug
	PartTask
	PartTaskDebug
)

// Numbers that events cover.
const (
	StepFrames = int64(PartTaskDebug) + 1 // the parts of a step
	HaltFrames = 2                        // of a halt: updates and values

	// MetaFrames is the number of frames after the meta event of a run without input: the state it continues from, its
	// first task, and the same for debuggers.
	MetaFrames = 3
)

// PartSeq returns the cursor of a part of a step.
func (e Event) PartSeq(p Part) int64 {
	first := e.Seq
	for _, whole := range e.Step.Whole {
		if whole {
			first++
		}
	}
	return min(first+int64(p), e.To)
}

// UpdatesSeq returns the cursor of the step's updates frame.
func (e Event) UpdatesSeq() int64 { return e.PartSeq(PartUpdates) }

// ValuesSeq returns the cursor of the step's values frame.
func (e Event) ValuesSeq() int64 { return e.PartSeq(PartValues) }

// Width returns the number of event numbers that a frame covers.
func (e *Event) Width() int64 {
	if e.Step == nil {
		return 1
	}
	n := StepFrames
	for _, whole := range e.Step.Whole {
		if whole {
			n++
		}
	}
	return n
}
