package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/recorder"
	"fawn/store"
)

// load reads a thread's state at a checkpoint ("" is the head; a thread without one is empty), and the base from which
// a recorder continues.
func (m *Manager) load(ctx context.Context, thread, checkpoint string) (agent.State, recorder.Base, error) {
	th, err := m.db.Standing(ctx, thread)
	if err != nil {
		return agent.State{}, recorder.Base{Card: store.Card{}, Number: -2}, err
	}
	return m.loadFrom(ctx, thread, checkpoint, th)
}

// loadFrom is load with the thread's standing.
func (m *Manager) loadFrom(ctx context.Context, thread, checkpoint string, th store.Standing) (agent.State,
	recorder.Base, error) {
	b := recorder.Base{Card: store.Card{}, Number: -2}
	b.Versions, b.MaxRow, b.Next, b.Shown = th.Fields, th.Top, th.Next, th.Title
	if checkpoint == "" {
		checkpoint = th.Head
	}
	if checkpoint == "" {
		return agent.State{}, b, nil
	}
	snap, err := m.db.Snapshot(ctx, thread, checkpoint)
	if errors.Is(err, store.ErrNotFound) {
		return agent.State{}, b, fmt.Errorf("checkpoint %s: %w", checkpoint, ErrNotFound)
	}
	if err != nil {
		return agent.State{}, b, err
	}
	known := m.decoded.Of(thread, snap.Incarnation)
	st, err := decodeState(snap, known)
	if err != nil {
		return st, b, err
	}
	m.decoded.Keep(thread, snap.Incarnation, known, snap.Messages, st.Messages)
	b.Messages = st.Messages[:len(st.Messages):len(st.Messages)]
	b.Rows = make([]int64, len(snap.Messages))
	for i, row := range snap.Messages {
		b.Rows[i] = row.N
	}
	b.Card, b.Head, b.Number = snap.Checkpoint.Card, snap.Checkpoint.ID, snap.Checkpoint.Step
	b.Newest = max(b.Head, th.Head)
	return st, b, nil
}

// Values returns the state of a snapshot as every API shows it, by concatenation of stored bodies. With full, it includes
// fields that clients expect (messages, title, artifacts, uploaded_files) even if unset. It omits the bytes of images.
func Values(s store.Snapshot, full bool) json.RawMessage { return AppendValues(nil, s, full) }

// AppendValues appends [Values] to dst.
func AppendValues(dst []byte, s store.Snapshot, full bool) []byte {
	if body, ok := s.Fields["viewed_images"]; ok && bytes.Contains(body, []byte(`"base64":`)) {
		s.Fields = maps.Clone(s.Fields)
		s.Fields["viewed_images"] = withoutBytes(body)
	}
	return AppendValuesWithImages(dst, s, full)
}

// withoutBytes returns a map of images as references only.
func withoutBytes(body []byte) []byte {
	var images map[string]agent.Image
	if json.Unmarshal(body, &images) != nil {
		return []byte("{}")
	}
	for at, img := range images {
		img.Base64 = ""
		images[at] = img
	}
	out, err := agent.Encode(images)
	if err != nil {
		return []byte("{}")
	}
	return out
}

// AppendValuesWithImages is [AppendValues] with the bytes of images which clients wrote into the state.
func AppendValuesWithImages(dst []byte, s store.Snapshot, full bool) []byte {
	n := 64
	for _, m := range s.Messages {
		n += len(m.Body) + 1
	}
	for k, f := range s.Fields {
		n += len(k) + len(f) + 4
	}
	out := append(slices.Grow(dst, n), `{"messages":[`...)
	for i, m := range s.Messages {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m.Body...)
	}
	out = append(out, ']')
	for _, f := range agent.Fields {
		if f.Hidden {
			continue
		}
		body, ok := s.Fields[f.Name]
		if !ok && full {
			switch f.Name {
			case "title":
				body, ok = []byte("null"), true
			case "artifacts", "uploaded_files":
				body, ok = []byte("[]"), true
			}
		}
		if ok {
			out = append(append(append(append(out, `,"`...), f.Name...), `":`...), body...)
		}
	}
	return append(out, '}')
}

// State decodes a snapshot, for readers that need more than bodies.
func State(s store.Snapshot) (agent.State, error) { return decodeState(s, nil) }
