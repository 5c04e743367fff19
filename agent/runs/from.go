package runs

import (
	"encoding/json"

	"fawn/store"
)

// From is the checkpoint that a stored run was told to start from, "" for the head.
func From(r store.Run) string {
	var req Request
	if json.Unmarshal(r.Kwargs, &req) != nil {
		return ""
	}
	req.Thread = r.ThreadID
	id, err := req.Base()
	if err != nil {
		return ""
	}
	return id
}
