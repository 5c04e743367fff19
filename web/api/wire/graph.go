package wire

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"fawn/agent/runs/request"
)

// GraphID is short for that of package request.
const GraphID = request.GraphID

// LeadAssistant returns the id of the graph's assistant.
func LeadAssistant() string { return request.LeadAssistant }

// taskID returns the id of a node that would run after a checkpoint: the same for each call.
func taskID(checkpoint, node string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(checkpoint+node)).String()
}

// BuiltIn reports whether an assistant id, a graph id or nothing names the graph's assistant.
func BuiltIn(id string) bool { return request.BuiltIn(id) }

// Canonical returns an assistant's name in responses: the graph's own always by its id.
func Canonical(id string) string {
	if BuiltIn(id) {
		return LeadAssistant()
	}
	return id
}

// Stamp returns a time as clients read it.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}
