package request

import (
	"encoding/json"
	"fmt"
)

// Prepare parses and validates a new request. Secrets are removed from the stored part, and so is an input next to a
// command. Errors: ErrInput.
func (r *Request) Prepare() (Input, Command, error) {
	in, cmd, err := r.Parse()
	if err != nil {
		return in, cmd, err
	}
	if cmd.Given {
		r.Input, in = nil, Input{}
	}
	if err := r.TakeSecrets(); err != nil {
		return in, cmd, err
	}
	if _, err := r.Choices(); err != nil {
		return in, cmd, err
	}
	if _, err := r.Delay(); err != nil {
		return in, cmd, err
	}
	var metadata map[string]any
	if raw := Present(r.Metadata); raw != nil {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return in, cmd, fmt.Errorf("%w: metadata must be an object: %v", ErrInput, err)
		}
	}
	switch r.Multitask {
	case "":
		r.Multitask = "enqueue"
	case "reject", "enqueue", "interrupt", "rollback":
	default:
		return in, cmd, fmt.Errorf("%w: multitask_strategy %q (want reject, enqueue, interrupt or rollback)", ErrInput,
			r.Multitask)
	}
	return in, cmd, nil
}

// Parse reads the input and the command.
func (r *Request) Parse() (Input, Command, error) {
	in, err := parseInput(r.Input)
	if err != nil {
		return in, Command{}, err
	}
	cmd, err := parseCommand(r.Command)
	return in, cmd, err
}
