package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/changes"
	"fawn/sandbox/linediff"
	"fawn/store"
	"fawn/web/httpx"
)

// changesJSON is a run's file changes.
type changesJSON struct {
	Run       string           `json:"run_id"`
	Thread    string           `json:"thread_id"`
	Available bool             `json:"available"` // false: nothing is known to have changed
	Version   int              `json:"version"`
	Summary   changes.Summary  `json:"summary"`
	Files     []changeJSON     `json:"files"`
	Limits    map[string]int64 `json:"limits"`
}

type changeJSON struct {
	changes.File
	Diff    string `json:"diff"`
	DiffCut bool   `json:"diff_truncated"`
}

// workspaceChanges handles GET …/runs/:rid/workspace-changes.
func (g *Gateway) workspaceChanges(c echo.Context, r store.Run) error {
	files, err := httpx.Bool(c.QueryParams(), "include_files", true)
	if err != nil {
		return err
	}
	diff, err := httpx.Bool(c.QueryParams(), "include_diff", false)
	if err != nil {
		return err
	}
	record, known, err := g.changesOf(c.Request().Context(), r)
	if err != nil {
		return err
	}
	out := changesJSON{Run: r.ID, Thread: r.ThreadID, Available: known, Version: 1, Summary: record.Summary,
		Files: []changeJSON{},
		Limits: map[string]int64{"max_files": changes.MaxFiles, "max_file_bytes_for_diff": changes.MaxText,
			"max_total_diff_bytes": changes.MaxDiff}}
	if !files {
		record.Files = nil
	}
	left := changes.MaxDiff
	for _, f := range record.Files {
		one := changeJSON{File: f}
		if diff && f.Why == nil {
			lines, ok, err := changes.New(g.Dirs).Diff(r.ThreadID, f)
			if err != nil {
				return err
			}
			if ok {
				from, to := patchNames(f)
				one.Diff, one.DiffCut = linediff.Unified(lines, from, to, left)
				left -= len(one.Diff)
			} else {
				lost := changes.Lost
				one.Why = &lost
			}
		}
		out.Files = append(out.Files, one)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// changesOf reads a run's file changes; known is false if there were none.
func (g *Gateway) changesOf(ctx context.Context, r store.Run) (record changes.Record, known bool, err error) {
	body, err := g.DB.KV(ctx, store.Global, store.ChangesSpace, store.ChangesKey(r.ThreadID, r.ID))
	if errors.Is(err, store.ErrNotFound) {
		return record, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &record)
	}
	return record, err == nil, err
}

// patchNames returns the names in the head of a patch.
func patchNames(f changes.File) (from, to string) {
	from, to = "a"+f.Path, "b"+f.Path
	switch f.Status {
	case changes.Created:
		from = "/dev/null"
	case changes.Deleted:
		to = "/dev/null"
	}
	return from, to
}
