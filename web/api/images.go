package api

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"fawn/agent"
	"fawn/store"
)

// maxImage limits an image that is read into a state, maxImages all of them, in bytes.
const (
	maxImage  = 8 << 20
	maxImages = 32 << 20
)

// addImages puts the bytes of viewed images into a snapshot. Images that are gone or too
// large stay references.
func (a *API) addImages(ctx context.Context, thread string, snap store.Snapshot) error {
	raw, ok := snap.Fields["viewed_images"]
	if !ok {
		return nil
	}
	var images map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &images); err != nil {
		return err
	}
	dir, err := a.files(thread)
	if err != nil || dir == nil {
		return err
	}
	defer dir.Close()
	total := 0
	for key, img := range images {
		if len(img["base64"]) > 0 { // sent by a client
			continue
		}
		var at string
		if json.Unmarshal(img["actual_path"], &at) != nil || at == "" {
			at = key
		}
		data, err := dir.ReadFile(ctx, at, maxImage)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || total+len(data) > maxImages {
			continue
		}
		total += len(data)
		if img["base64"], err = agent.Encode(base64.StdEncoding.EncodeToString(data)); err != nil {
			return err
		}
	}
	snap.Fields["viewed_images"], err = agent.Encode(images)
	return err
}
