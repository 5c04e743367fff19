package wire

import (
	"encoding/json"

	"fawn/agent"
	"fawn/agent/runs/runevent"
)

// withdraw removes a message for readers of deltas: its run was interrupted and repeats it under another id.
func (e *Encoder) withdraw(ev runevent.Event) error {
	var w runevent.Withdrawal
	if err := json.Unmarshal(ev.Data, &w); err != nil {
		return err
	}
	body, err := agent.Encode(&agent.Message{ID: w.ID, Type: agent.TypeRemove})
	if err != nil {
		return err
	}
	return e.whole(agent.NodeModel, ev.NS, body, ev.Seq)
}
