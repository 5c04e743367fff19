package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/request"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Interrupt is a question a thread waits with.
type Interrupt struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// Task is a node that would run next.
type Task struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Path       []string        `json:"path"`
	Error      *string         `json:"error"`
	Interrupts []Interrupt     `json:"interrupts"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	State      json.RawMessage `json:"state"`
	Result     json.RawMessage `json:"result"`
}

// Pointer names a checkpoint. ID and At repeat for clients of DeerFlow's gateway.
type Pointer struct {
	Thread string  `json:"thread_id"`
	NS     string  `json:"checkpoint_ns"`
	CP     string  `json:"checkpoint_id"`
	Map    *string `json:"checkpoint_map"`
	ID     string  `json:"id,omitempty"`
	At     string  `json:"ts,omitempty"`
}

// Tail parses the messages from the last one that isn't a tool's.
func Tail(snap store.Snapshot) []*agent.Message {
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

// Tasks lists the next tasks, with the open question and the failure if there are any.
func Tasks(snap store.Snapshot, failed *runevent.Failure) []Task {
	list := []Task{}
	for _, node := range snap.Checkpoint.Next {
		t := Task{ID: taskID(snap.Checkpoint.ID, node), Name: node, Path: []string{"__pregel_pull", node},
			Interrupts: []Interrupt{}}
		if node == agent.NodeInterrupt {
			if q := agent.Question(&agent.State{Messages: Tail(snap)}); q != nil {
				var artifact struct {
					HumanInput json.RawMessage `json:"human_input"`
				}
				if json.Unmarshal(q.Artifact, &artifact) == nil {
					t.Interrupts = append(t.Interrupts,
						Interrupt{ID: request.InterruptID(q), Value: reviewed(q.Name, artifact.HumanInput)})
				}
			}
		}
		if failed != nil {
			text, err := agent.Encode(map[string]string{"message": failed.Message, "name": failed.Name})
			if err == nil {
				s := string(text)
				t.Error = &s
			}
		}
		list = append(list, t)
	}
	return list
}

// reviewed adds to a question the fields read by inboxes for LangChain's human-in-the-loop requests: the waiting call
// as action_requests, and in review_configs the possible answers.
func reviewed(tool string, question json.RawMessage) json.RawMessage {
	var asked struct {
		Question string            `json:"question"`
		Context  json.RawMessage   `json:"context,omitempty"`
		Options  []json.RawMessage `json:"options,omitempty"`
	}
	question = bytes.TrimSpace(question)
	if json.Unmarshal(question, &asked) != nil || len(question) < 3 || question[len(question)-1] != '}' {
		return question
	}
	more, err := agent.Encode(map[string]any{
		"action_requests": []any{map[string]any{"name": tool, "args": asked, "description": asked.Question}},
		"review_configs":  []any{map[string]any{"action_name": tool, "allowed_decisions": []string{"respond", "reject"}}},
	})
	if err != nil {
		return question
	}
	return append(append(slices.Clip(question[:len(question)-1]), ','), more[1:]...)
}

// CheckpointMetadata returns the data that clients read next to a checkpoint's values.
func CheckpointMetadata(cp store.Checkpoint) (map[string]any, error) {
	var stored map[string]json.RawMessage // verbatim: large numbers keep their digits
	if err := json.Unmarshal(object(cp.Meta), &stored); err != nil {
		return nil, err
	}
	meta := make(map[string]any, len(stored)+8)
	for k, v := range stored {
		meta[k] = v
	}
	for k, v := range map[string]any{"source": cp.Source, "step": cp.Step, "parents": map[string]string{},
		"thread_id": cp.Thread, "graph_id": GraphID} {
		meta[k] = v
	}
	if cp.Run != "" {
		meta["run_id"] = cp.Run
	}
	if id := string(stored["assistant_id"]); id == "" || id == `"`+GraphID+`"` {
		meta["assistant_id"] = LeadAssistant()
	}
	return meta, nil
}

// Interrupted adds a thread's open questions to its values, none at a breakpoint. They are also returned alone.
func Interrupted(values json.RawMessage, snap store.Snapshot) (all, alone json.RawMessage, err error) {
	asked := []Interrupt{}
	for _, t := range Tasks(snap, nil) {
		asked = append(asked, t.Interrupts...)
	}
	if alone, err = agent.Encode(map[string]any{agent.NodeInterrupt: asked}); err != nil {
		return nil, nil, err
	}
	all = append(slices.Clip(values[:len(values)-1]), ',')
	return append(all, alone[1:]...), alone, nil
}
