package page

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"fawn/agent/channels"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/views"
	"fawn/web/principal"
)

// untitledRuns limits the runs searched for a substitute title.
const untitledRuns = 20

// Rows returns threads for lists. One without a title shows the first words of its first message.
func (s *Site) Rows(ctx context.Context, list []store.Thread) ([]views.ThreadRow, error) {
	out := make([]views.ThreadRow, len(list))
	for i, t := range list {
		out[i] = RowOf(t)
		if t.Title != "" {
			continue
		}
		begun, err := s.DB.Runs(ctx, t.ID, "", untitledRuns, 0)
		if err != nil {
			return nil, err
		}
		for _, r := range slices.Backward(begun) { // the oldest first
			if out[i].Title = FirstWords(request.StartText(r)); out[i].Title != "" {
				break
			}
		}
	}
	return out, s.mark(ctx, out, list)
}

// RowOf returns a thread of a list by its row alone, without the dot.
func RowOf(t store.Thread) views.ThreadRow {
	return views.ThreadRow{ID: t.ID, Title: t.Title, UpdatedAt: t.UpdatedAt, Pinned: pinned(t), Source: SourceOf(t),
		Archived: t.Archived(), Temporary: t.Temporary(), Tags: t.Tags()}
}

// PinKey is the member of a thread's metadata that keeps it above the others.
const PinKey = "deerflow_pinned"

func pinned(t store.Thread) bool {
	var meta struct {
		Pinned any `json:"deerflow_pinned"`
	}
	return json.Unmarshal(t.Metadata, &meta) == nil && meta.Pinned == true
}

// SourceOf returns the chat app that a thread was begun in.
func SourceOf(t store.Thread) views.Source {
	if !bytes.Contains(t.Metadata, []byte(`"channel_source"`)) {
		return views.Source{}
	}
	var meta struct {
		Source struct {
			Provider string `json:"provider"`
		} `json:"channel_source"`
	}
	if json.Unmarshal(t.Metadata, &meta) != nil {
		return views.Source{}
	}
	out := views.Source{Name: meta.Source.Provider, Label: meta.Source.Provider}
	if p, known := channels.ProviderOf(out.Name); known {
		out.Label = p.Display
	}
	return out
}

// UndoToken identifies a deletion of its owner.
func UndoToken(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 36) }

// DeletionOf returns the moment of the deletion that a token names.
func DeletionOf(token string) (at time.Time, ok bool) {
	ms, err := strconv.ParseInt(token, 36, 64)
	return time.UnixMilli(ms), err == nil
}

// restorable counts the threads of a deletion.
func (s *Site) restorable(ctx context.Context, token string) (int, error) {
	at, ok := DeletionOf(token)
	if !ok {
		return 0, nil
	}
	return s.DB.Discarded(ctx, principal.Owner(ctx), at)
}
