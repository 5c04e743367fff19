package request

import "encoding/json"

// From returns the checkpoint that a stored run of a thread was told to start from, "" for the head.
func From(kwargs json.RawMessage, thread string) string {
	var req Request
	if json.Unmarshal(kwargs, &req) != nil {
		return ""
	}
	req.Thread = thread
	id, err := req.Base()
	if err != nil {
		return ""
	}
	return id
}
