package eventlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Kinds of stored event rows.
const (
	RowMeta  = "meta"
	RowFold  = "fold" // the deltas of a step that never ended
	RowStep  = "step" // StepRow as JSON, then the deltas of the step
	RowError = "error"
	RowEnd   = "end"

	RowWithdraw = "withdraw"
	RowHalt     = "halt"
)

// StepRow is the stored form of a step: references to rows, bodies only where no row has them.
type StepRow struct {
	runevent.StepData
	Rows    []int64                    `json:"rows,omitempty"`    // messages, 0 = the next of Removed
	Removed []string                   `json:"removed,omitempty"` // ids of removed messages
	Whole   []int                      `json:"whole,omitempty"`   // indexes of Rows shown as whole frames
	Version map[string]int64           `json:"fv,omitempty"`      // fields whose patch equals their value
	Patch   map[string]json.RawMessage `json:"fp,omitempty"`      // other fields
}

// Expand converts a stored row to events. Errors: runevent.ErrDamaged, and those of the store.
func Expand(ctx context.Context, db *store.DB, row store.Event) ([]runevent.Event, error) {
	one := func(k runevent.Kind) []runevent.Event {
		return []runevent.Event{{Seq: row.Seq, To: row.To, Kind: k, Data: row.Data}}
	}
	switch row.Kind {
	case RowMeta:
		return one(runevent.KindMeta), nil
	case RowError:
		return one(runevent.KindError), nil
	case RowEnd:
		return one(runevent.KindEnd), nil
	case RowWithdraw:
		var w runevent.Withdrawal
		if err := json.Unmarshal(row.Data, &w); err != nil {
			return nil, fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
		}
		return []runevent.Event{{Seq: row.Seq, To: row.To, Kind: runevent.KindWithdraw, NS: w.NS, Data: row.Data}}, nil
	case RowHalt:
		return one(runevent.KindHalt), nil
	case RowFold:
		return unfold(ctx, db, row, row.Data)
	case RowStep:
		return expandStep(ctx, db, row)
	}
	return nil, fmt.Errorf("%w: row kind %q", runevent.ErrDamaged, row.Kind)
}

// unfold reads the deltas in data, which start at the row's first number.
func unfold(ctx context.Context, db *store.DB, row store.Event, data []byte) ([]runevent.Event, error) {
	return runevent.Unfold(data, row.Seq, func(n int64) ([]byte, error) {
		msg, err := db.Message(ctx, row.Thread, n)
		return msg.Body, err
	})
}

// expandStep reads a step's row: the deltas that led to it, if any, and the step.
func expandStep(ctx context.Context, db *store.DB, row store.Event) ([]runevent.Event, error) {
	var s StepRow
	d := json.NewDecoder(bytes.NewReader(row.Data))
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("%w: %v", runevent.ErrDamaged, err)
	}
	var evs []runevent.Event
	first := row.Seq
	if deltas := row.Data[d.InputOffset():]; len(deltas) > 0 {
		var err error
		if evs, err = unfold(ctx, db, row, deltas); err != nil {
			return nil, err
		}
		if len(evs) > 0 {
			first = evs[len(evs)-1].To + 1
		}
	}
	step, err := stepData(ctx, db, row.Thread, s)
	if err != nil {
		return nil, err
	}
	return append(evs, runevent.Event{Seq: first, To: row.To, Kind: runevent.KindStep, Step: step}), nil
}

// stepData loads the messages and fields that a step's row refers to.
func stepData(ctx context.Context, db *store.DB, thread string, s StepRow) (*runevent.StepData, error) {
	step := s.StepData
	step.Whole = make([]bool, len(s.Rows))
	for _, i := range s.Whole {
		if i < len(step.Whole) {
			step.Whole[i] = true
		}
	}
	removed := s.Removed
	for _, n := range s.Rows {
		if n == 0 {
			if len(removed) == 0 {
				return nil, fmt.Errorf("%w: removal without an id", runevent.ErrDamaged)
			}
			body, err := agent.Encode(&agent.Message{ID: removed[0], Type: agent.TypeRemove})
			if err != nil {
				return nil, err
			}
			step.Messages, removed = append(step.Messages, body), removed[1:]
			continue
		}
		msg, err := db.Message(ctx, thread, n)
		if err != nil {
			return nil, err
		}
		step.Messages = append(step.Messages, msg.Body)
	}
	step.Fields = s.Patch
	for name, version := range s.Version {
		body, err := db.Field(ctx, thread, name, version)
		if err != nil {
			return nil, err
		}
		if step.Fields == nil {
			step.Fields = map[string]json.RawMessage{}
		}
		step.Fields[name] = body
	}
	return &step, nil
}
