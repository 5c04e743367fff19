package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"fawn/sandbox/changes"
	"fawn/store"
	"fawn/views"
	"fawn/web/ui/turns"
)

// maxMade limits the cards of a turn for files that weren't presented.
const maxMade = 6

// ChangesOf reads a run's file changes; known is false if there were none.
func (h *Handlers) ChangesOf(ctx context.Context, thread, run string) (r changes.Record, known bool, err error) {
	body, err := h.DB.KV(ctx, store.Global, store.ChangesSpace, store.ChangesKey(thread, run))
	if errors.Is(err, store.ErrNotFound) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	return r, err == nil, err
}

// touched adds cards for files that the turn's runs changed, after the files they presented.
func (h *Handlers) touched(ctx context.Context, b *turns.Builder, t *views.Turn, list []store.Run) error {
	t.Changes = nil
	left := maxMade
	for _, run := range list {
		r, known, err := h.ChangesOf(ctx, run.ThreadID, run.ID)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		t.Changes = append(t.Changes, views.RunChanges{Run: run.ID, Files: r.Summary.Files(),
			Added:   r.Summary.Additions,
			Removed: r.Summary.Deletions})
		for _, f := range r.Files {
			at := strings.TrimPrefix(f.Path, "/")
			if left == 0 || f.Status == changes.Deleted || f.Symlink ||
				slices.ContainsFunc(t.Files, func(o views.File) bool { return o.Path == at }) {
				continue
			}
			card := b.File(f.Path)
			if card.Modified.IsZero() { // gone since
				continue
			}
			card.New = f.Status == changes.Created
			t.Files = append(t.Files, card)
			left--
		}
	}
	return nil
}

// made returns the turns' files that weren't presented.
func (v *View) made() []views.File {
	var out []views.File
	for i := len(v.Turns.Turns) - 1; i >= 0; i-- {
		for _, f := range v.Turns.Turns[i].Files {
			known := func(o views.File) bool { return o.Path == f.Path }
			if !slices.Contains(v.Artifacts, "/"+f.Path) && !slices.ContainsFunc(out, known) {
				out = append(out, f)
			}
		}
	}
	return out
}
