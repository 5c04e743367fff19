package runs

// Part is a frame that a step can expand to, in wire order behind its whole messages.
type Part int

// Parts of a step. Those about a task come before and behind the checkpoint: the node that
// ran, and the nodes which run next.
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

// stepFrames is how many parts a step has.
const stepFrames = int64(PartTaskDebug) + 1

// Numbers behind its own that the meta event of a run without input covers: the state it
// goes on from, the task it starts with, and that for debuggers.
const metaFrames = 3

// haltFrames are those of a halt: updates and values.
const haltFrames = 2

// PartSeq is the cursor of a part of a step.
func (e Event) PartSeq(p Part) int64 {
	first := e.Seq
	for _, whole := range e.Step.Whole {
		if whole {
			first++
		}
	}
	return min(first+int64(p), e.To)
}

// UpdatesSeq is the cursor of the step's updates frame.
func (e Event) UpdatesSeq() int64 { return e.PartSeq(PartUpdates) }

// ValuesSeq is the cursor of the step's values frame.
func (e Event) ValuesSeq() int64 { return e.PartSeq(PartValues) }
