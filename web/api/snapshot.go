package api

import (
	"encoding/json"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/api/wire"
)

// stateJSON is a state on the wire without its values, which are spliced in.
type stateJSON struct {
	Next       []string         `json:"next"`
	Tasks      []wire.Task      `json:"tasks"`
	Metadata   map[string]any   `json:"metadata"`
	CreatedAt  *string          `json:"created_at"`
	Checkpoint *wire.Pointer    `json:"checkpoint"`
	Parent     *wire.Pointer    `json:"parent_checkpoint"`
	Interrupts []wire.Interrupt `json:"interrupts"`
	Step       *int             `json:"step"`
	CP         *string          `json:"checkpoint_id"`
	ParentCP   *string          `json:"parent_checkpoint_id"`
}

// appendState appends a snapshot in the format of GET state and history. failed applies to the head only; result is its
// task's output, nil if unknown. show appends its values; done may be nil.
func appendState(dst []byte, snap store.Snapshot, failed *runevent.Failure, result json.RawMessage, done aliases,
	show func([]byte, store.Snapshot, bool) []byte) ([]byte, error) {
	s := stateJSON{Next: snap.Checkpoint.Next, Tasks: wire.Tasks(snap, failed), Metadata: map[string]any{},
		Interrupts: []wire.Interrupt{}}
	if s.Next == nil {
		s.Next = []string{}
	}
	if result != nil {
		for i := range s.Tasks {
			s.Tasks[i].Result = result
		}
	}
	for _, task := range s.Tasks {
		s.Interrupts = append(s.Interrupts, task.Interrupts...)
	}
	if cp := snap.Checkpoint; cp.ID != "" {
		var err error
		if s.Metadata, err = wire.CheckpointMetadata(cp); err != nil {
			return nil, err
		}
		at := wire.Stamp(cp.At)
		s.CreatedAt, s.Step, s.CP = &at, &cp.Step, &cp.ID
		s.Checkpoint = &wire.Pointer{Thread: cp.Thread, NS: cp.NS, CP: cp.ID, ID: cp.ID, At: at}
		if cp.Parent != "" {
			s.ParentCP = &cp.Parent
			s.Parent = &wire.Pointer{Thread: cp.Thread, NS: cp.NS, CP: cp.Parent}
		}
	}
	rest, err := agent.Encode(s)
	if err != nil {
		return nil, err
	}
	if err := addAliases(snap, done); err != nil {
		return nil, err
	}
	dst = show(append(dst, `{"values":`...), snap, true)
	return append(append(dst, ','), rest[1:]...), nil
}
