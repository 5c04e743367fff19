package request

import (
	"encoding/json"
	"fmt"

	"fawn/agent"
)

// Limits of the tools that a client executes.
const (
	maxClientTools = 64
	maxClientText  = 256 << 10 // bytes of all names, descriptions and parameters together
)

// checkClientTools rejects tools that models don't accept.
func checkClientTools(list []agent.ClientTool) error {
	if len(list) > maxClientTools {
		return fmt.Errorf("%w: client_tools: want %d tools at most, got %d", ErrInput, maxClientTools, len(list))
	}
	size, seen := 0, map[string]bool{}
	for i, t := range list {
		if !toolName(t.Name) {
			return fmt.Errorf("%w: client_tools.%d.name: want 1 to 64 of a-z, A-Z, 0-9, _ and -, got %.80q", ErrInput, i, t.Name)
		}
		if seen[t.Name] {
			return fmt.Errorf("%w: client_tools.%d.name: %s is there twice", ErrInput, i, t.Name)
		}
		seen[t.Name] = true
		var schema map[string]json.RawMessage
		if json.Unmarshal(t.Schema, &schema) != nil || string(schema["type"]) != `"object"` {
			return fmt.Errorf("%w: client_tools.%d.parameters: want a JSON Schema with the type object", ErrInput, i)
		}
		if size += len(t.Name) + len(t.Description) + len(t.Schema); size > maxClientText {
			return fmt.Errorf("%w: client_tools: want %d bytes at most", ErrInput, maxClientText)
		}
	}
	return nil
}

// toolName reports whether providers accept a tool name.
func toolName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}
