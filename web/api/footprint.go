package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/httpx"
)

// rowsJSON are rows of one kind and their bytes.
type rowsJSON struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// channelJSON are the stored versions of one field of the state, of messages each one.
type channelJSON struct {
	Versions int64 `json:"versions"`
	Bytes    int64 `json:"bytes"`
}

// storageJSON is the size of a thread's checkpoints in bytes.
type storageJSON struct {
	Blobs       rowsJSON   `json:"blobs"`
	Values      valuesJSON `json:"channel_values"`
	Checkpoints rowsJSON   `json:"checkpoints"`
	Pending     rowsJSON   `json:"pending_writes"`
	Thread      string     `json:"thread_id"`
	Total       int64      `json:"total_bytes"`
}

// valuesJSON are the bytes of the fields of the state, and of each.
type valuesJSON struct {
	ByChannel map[string]channelJSON `json:"by_channel"`
	Bytes     int64                  `json:"bytes"`
	Count     int64                  `json:"count"`
}

// threadStorage responds with the size of a thread's checkpoints. A step is stored whole, so it never
// has pending writes.
func (m mount) threadStorage(c echo.Context, t store.Thread) error {
	f, err := m.DB.Footprint(c.Request().Context(), t.ID)
	if err != nil {
		return err
	}
	channels := map[string]channelJSON{}
	if f.Messages.Count > 0 {
		channels["messages"] = channelJSON{f.Messages.Count, f.Messages.Bytes}
	}
	values := rowsJSON(f.Messages)
	for name, r := range f.Fields {
		channels[name] = channelJSON{r.Count, r.Bytes}
		values.Count, values.Bytes = values.Count+r.Count, values.Bytes+r.Bytes
	}
	return httpx.JSON(c, http.StatusOK, storageJSON{Blobs: rowsJSON(f.Blobs), Values: valuesJSON{channels, values.Bytes, values.Count},
		Checkpoints: rowsJSON(f.Checkpoints), Thread: t.ID, Total: f.Checkpoints.Bytes + values.Bytes + f.Blobs.Bytes})
}
