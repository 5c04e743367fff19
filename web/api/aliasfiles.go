package api

import (
	"encoding/json"

	"fawn/agent"
	"fawn/store"
	"fawn/web/route"
)

// broughtFile is an upload as clients name it in a message.
type broughtFile struct {
	Filename string `json:"filename"`
	Size     int64  `json:"size"`
	Path     string `json:"path"`
	Status   string `json:"status"`
}

// broughtFiles returns the uploads listed for the model, by the message they were attached to.
func broughtFiles(snap store.Snapshot) (map[string][]broughtFile, error) {
	body, ok := snap.Fields["told_files"]
	if !ok {
		return nil, nil
	}
	var told []agent.ToldFile
	if err := json.Unmarshal(body, &told); err != nil {
		return nil, err
	}
	files := map[string][]broughtFile{}
	for _, f := range told {
		if !f.Missing {
			files[f.Message] = append(files[f.Message], broughtFile{f.Filename, f.Size, f.Path, "uploaded"})
		}
	}
	return files, nil
}

// withFiles returns a message body whose additional_kwargs list files, unless they do already.
func withFiles(body []byte, files []broughtFile) ([]byte, error) {
	return WithKwarg(body, "files", files)
}

// WithKwarg returns a message body with one more member of its additional_kwargs, unless they have it already.
func WithKwarg(body []byte, name string, value any) ([]byte, error) {
	var all, kwargs map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(route.Object(all["additional_kwargs"]), &kwargs); err != nil {
		return nil, err
	}
	if kwargs[name] != nil {
		return body, nil
	}
	var err error
	if kwargs[name], err = agent.Encode(value); err != nil {
		return nil, err
	}
	if all["additional_kwargs"], err = agent.Encode(kwargs); err != nil {
		return nil, err
	}
	return agent.Encode(all)
}
