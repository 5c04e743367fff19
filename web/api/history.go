package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

const historyPage = 10

type historyQuery struct {
	Limit      *int            `json:"limit"`
	Before     json.RawMessage `json:"before"`
	Metadata   json.RawMessage `json:"metadata"`
	Checkpoint json.RawMessage `json:"checkpoint"`
}

func (m mount) history(c echo.Context, t store.Thread) error {
	var q historyQuery
	if err := m.Bind(c, &q); err != nil {
		return err
	}
	limit := historyPage
	if q.Limit != nil {
		limit = *q.Limit
	}
	return m.answerHistory(c, t, q, limit)
}

func (m mount) listHistory(c echo.Context, t store.Thread) error {
	v := c.QueryParams()
	limit, err := httpx.Int(v, "limit", historyPage, 1, route.MaxPage)
	if err != nil {
		return err
	}
	q := historyQuery{Metadata: queryObject(v, "metadata")}
	if before := v.Get("before"); before != "" {
		if q.Before = json.RawMessage(before); before[0] != '{' && before[0] != '"' {
			if q.Before, err = json.Marshal(before); err != nil {
				return err
			}
		}
	}
	return m.answerHistory(c, t, q, limit)
}

// answerHistory sends checkpoints newest first, each with its whole state.
func (m mount) answerHistory(c echo.Context, t store.Thread, q historyQuery, limit int) error {
	if limit < 1 || limit > route.MaxPage {
		return httpx.Invalid("body", "limit", "want a whole number from 1 to %d, got %d", route.MaxPage, limit)
	}
	before, err := beforeID(q.Before)
	if err != nil {
		return err
	}
	match, err := matchMetadata(q.Metadata)
	if err != nil {
		return err
	}
	only, ns, err := historyBase(t.ID, q.Checkpoint)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	list, err := m.DB.Checkpoints(ctx, t.ID, ns, before, limit, func(cp store.Checkpoint) bool {
		return (only == "" || cp.ID == only) && match(cp)
	})
	if err != nil {
		return err
	}
	failed, err := m.failure(ctx, t)
	if err != nil {
		return err
	}
	behind := children(list)
	done, rows := aliases{}, m.DB.History()
	return arrayOf(c, len(list), func(dst []byte, i int) ([]byte, error) {
		snap, err := rows.SnapshotOf(ctx, list[i])
		if err != nil {
			return nil, err
		}
		var f *runevent.Failure
		if list[i].ID == t.Head {
			f = failed
		}
		result, err := written(ctx, rows, list[i], behind[list[i].ID])
		if err != nil {
			return nil, err
		}
		return appendState(dst, snap, f, result, done, runs.AppendValues)
	})
}

// children returns the checkpoints created by nodes after others, keyed by those. list is newest first; of several
// children the newest counts.
func children(list []store.Checkpoint) map[string]store.Checkpoint {
	of := make(map[string]store.Checkpoint, len(list))
	for _, cp := range list {
		if _, ok := of[cp.Parent]; !ok && cp.Parent != "" {
			of[cp.Parent] = cp
		}
	}
	return of
}

// written returns the output of the node between a checkpoint and the next: null if it wasn't a node.
func written(ctx context.Context, rows *store.History, from, to store.Checkpoint) (json.RawMessage, error) {
	began := len(from.Next) > 0 && from.Next[0] == agent.NodeStart && to.Source == "input"
	if to.ID == "" || len(from.Next) == 0 || to.Source != "loop" && !began {
		return nil, nil
	}
	had := func(n int64) bool {
		return slices.ContainsFunc(from.Card.Messages, func(r store.Range) bool { return r.From <= n && n <= r.To })
	}
	patch, fresh := map[string]json.RawMessage{}, []json.RawMessage{}
	for _, r := range to.Card.Messages {
		for n := r.From; n <= r.To; n++ {
			if had(n) {
				continue
			}
			row, err := rows.Message(ctx, to.Thread, n)
			if errors.Is(err, store.ErrNotFound) { // pruned meanwhile
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			fresh = append(fresh, row.Body)
		}
	}
	if len(fresh) > 0 {
		body, err := agent.Encode(fresh)
		if err != nil {
			return nil, err
		}
		patch["messages"] = body
	}
	for name, version := range to.Card.Fields {
		if f, ok := agent.FieldByName(name); !ok || f.Hidden || from.Card.Fields[name] == version {
			continue
		}
		body, err := rows.Field(ctx, to.Thread, name, version)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		patch[name] = body
	}
	return agent.Encode(patch)
}

// historyBase reads the checkpoint a history is asked for: one id, or a namespace.
func historyBase(thread string, raw json.RawMessage) (id, ns string, err error) {
	if raw = route.Given(raw); raw == nil {
		return "", "", nil
	}
	var cp struct {
		Thread string `json:"thread_id"`
		NS     string `json:"checkpoint_ns"`
		ID     string `json:"checkpoint_id"`
	}
	if json.Unmarshal(raw, &cp) != nil {
		return "", "", httpx.Invalid("body", "checkpoint", "want an object with checkpoint_id or checkpoint_ns")
	}
	if cp.Thread != "" && cp.Thread != thread {
		return "", "", httpx.Errorf(http.StatusBadRequest, "checkpoint.thread_id names another thread")
	}
	return cp.ID, cp.NS, nil
}

// beforeID reads the cursor of a history: an id, or an object that holds one.
func beforeID(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(route.Given(raw))
	if len(raw) == 0 {
		return "", nil
	}
	var id string
	if json.Unmarshal(raw, &id) == nil {
		return id, nil
	}
	var o struct {
		ID           string `json:"checkpoint_id"`
		Configurable struct {
			ID string `json:"checkpoint_id"`
		} `json:"configurable"`
		Checkpoint struct {
			ID string `json:"checkpoint_id"`
		} `json:"checkpoint"`
	}
	if json.Unmarshal(raw, &o) != nil || o.ID+o.Configurable.ID+o.Checkpoint.ID == "" {
		return "", httpx.Invalid("body", "before", "want an id or an object with checkpoint_id")
	}
	switch {
	case o.ID != "":
		return o.ID, nil
	case o.Configurable.ID != "":
		return o.Configurable.ID, nil
	}
	return o.Checkpoint.ID, nil
}

// matchMetadata returns the filter of a history.
func matchMetadata(raw json.RawMessage) (func(store.Checkpoint) bool, error) {
	want, err := wanted("metadata", raw)
	if err != nil {
		return nil, err
	}
	if len(want) == 0 {
		return func(store.Checkpoint) bool { return true }, nil
	}
	return func(cp store.Checkpoint) bool {
		have := map[string]any{}
		if json.Unmarshal(route.Object(cp.Meta), &have) != nil {
			return false
		}
		have["source"], have["step"], have["thread_id"], have["run_id"] = cp.Source, cp.Step, cp.Thread, cp.Run
		return contains(have, want)
	}, nil
}
