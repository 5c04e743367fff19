package api

import (
	"encoding/json"
	"slices"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
)

// interrupt is a question a thread waits with.
type interrupt struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// taskJSON is a node that would run next.
type taskJSON struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Path       []string        `json:"path"`
	Error      *string         `json:"error"`
	Interrupts []interrupt     `json:"interrupts"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	State      json.RawMessage `json:"state"`
	Result     json.RawMessage `json:"result"`
}

// pointerJSON names a checkpoint. ID and At repeat for clients of DeerFlow's gateway.
type pointerJSON struct {
	Thread string  `json:"thread_id"`
	NS     string  `json:"checkpoint_ns"`
	CP     string  `json:"checkpoint_id"`
	Map    *string `json:"checkpoint_map"`
	ID     string  `json:"id,omitempty"`
	At     string  `json:"ts,omitempty"`
}

// stateJSON is a state on the wire without its values, which are spliced in.
type stateJSON struct {
	Next       []string       `json:"next"`
	Tasks      []taskJSON     `json:"tasks"`
	Metadata   map[string]any `json:"metadata"`
	CreatedAt  *string        `json:"created_at"`
	Checkpoint *pointerJSON   `json:"checkpoint"`
	Parent     *pointerJSON   `json:"parent_checkpoint"`
	Interrupts []interrupt    `json:"interrupts"`
	Step       *int           `json:"step"`
	CP         *string        `json:"checkpoint_id"`
	ParentCP   *string        `json:"parent_checkpoint_id"`
}

// tail parses the messages behind and including the last one that is not a tool's.
func tail(snap store.Snapshot) []*agent.Message {
	var out []*agent.Message
	for _, row := range slices.Backward(snap.Messages) {
		m, err := agent.ParseMessage(row.Body)
		if err != nil {
			return nil
		}
		out = append(out, m)
		if m.Type != agent.TypeTool {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// tasks lists what would run next, with the open question and the failure if there are.
func tasks(snap store.Snapshot, failed *runs.Failure) []taskJSON {
	list := []taskJSON{}
	for _, node := range snap.Checkpoint.Next {
		t := taskJSON{ID: runs.TaskID(snap.Checkpoint.ID, node), Name: node, Path: []string{"__pregel_pull", node}, Interrupts: []interrupt{}}
		if node == agent.NodeInterrupt {
			if q := agent.Question(&agent.State{Messages: tail(snap)}); q != nil {
				var artifact struct {
					HumanInput json.RawMessage `json:"human_input"`
				}
				if json.Unmarshal(q.Artifact, &artifact) == nil {
					t.Interrupts = append(t.Interrupts, interrupt{ID: runs.InterruptID(q), Value: artifact.HumanInput})
				}
			}
		}
		if failed != nil {
			if text, err := agent.Encode(map[string]string{"message": failed.Message, "name": failed.Name}); err == nil {
				s := string(text)
				t.Error = &s
			}
		}
		list = append(list, t)
	}
	return list
}

// checkpointMetadata is what clients read beside a checkpoint's values.
func checkpointMetadata(cp store.Checkpoint) (map[string]any, error) {
	var stored map[string]json.RawMessage // verbatim: large numbers keep their digits
	if err := json.Unmarshal(object(cp.Meta), &stored); err != nil {
		return nil, err
	}
	meta := make(map[string]any, len(stored)+8)
	for k, v := range stored {
		meta[k] = v
	}
	for k, v := range map[string]any{"source": cp.Source, "step": cp.Step, "parents": map[string]string{}, "thread_id": cp.Thread, "graph_id": graphID} {
		meta[k] = v
	}
	if cp.Run != "" {
		meta["run_id"] = cp.Run
	}
	if id := string(stored["assistant_id"]); id == "" || id == `"`+graphID+`"` {
		meta["assistant_id"] = leadAssistant()
	}
	return meta, nil
}

// stateOf is a snapshot as GET state and history show it. failed belongs to the head only;
// result is what its task wrote, nil where that is not known. show makes its values.
func stateOf(snap store.Snapshot, failed *runs.Failure, result json.RawMessage, show func(store.Snapshot, bool) json.RawMessage) (json.RawMessage, error) {
	s := stateJSON{Next: snap.Checkpoint.Next, Tasks: tasks(snap, failed), Metadata: map[string]any{}, Interrupts: []interrupt{}}
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
		if s.Metadata, err = checkpointMetadata(cp); err != nil {
			return nil, err
		}
		at := stamp(cp.At)
		s.CreatedAt, s.Step, s.CP = &at, &cp.Step, &cp.ID
		s.Checkpoint = &pointerJSON{Thread: cp.Thread, NS: cp.NS, CP: cp.ID, ID: cp.ID, At: at}
		if cp.Parent != "" {
			s.ParentCP = &cp.Parent
			s.Parent = &pointerJSON{Thread: cp.Thread, NS: cp.NS, CP: cp.Parent}
		}
	}
	rest, err := agent.Encode(s)
	if err != nil {
		return nil, err
	}
	if err := addAliases(snap); err != nil {
		return nil, err
	}
	values := show(snap, true)
	out := make([]byte, 0, len(values)+len(rest)+16)
	out = append(append(out, `{"values":`...), values...)
	return append(append(out, ','), rest[1:]...), nil
}
