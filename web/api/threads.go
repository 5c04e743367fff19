package api

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

// newThreadID returns the client's id for a new thread, or creates one. Only native requests
// distinguish a missing id from an empty one.
func (m mount) newThreadID(named *string) (string, error) {
	switch {
	case named == nil, *named == "" && !m.native:
		return uuid.Must(uuid.NewV7()).String(), nil
	case !m.ValidID(*named):
		return "", m.BadID("body", *named)
	}
	return *named, nil
}

// threadBody is the body of createThread.
type threadBody struct {
	Named      *string         `json:"thread_id"`
	Metadata   json.RawMessage `json:"metadata"`
	Project    string          `json:"project_id"`
	IfExists   string          `json:"if_exists"`
	Supersteps []superstep     `json:"supersteps"`
	TTL        json.RawMessage `json:"ttl"`
	Temporary  bool            `json:"temporary"`
}

func (m mount) createThread(c echo.Context) error {
	var body threadBody
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	ttl, err := threadTTL(body.TTL)
	if err != nil {
		return err
	}
	id, err := m.newThreadID(body.Named)
	if err != nil {
		return err
	}
	switch body.IfExists {
	case "":
		body.IfExists = "raise"
		if m.native {
			body.IfExists = "do_nothing"
		}
	case "raise", "do_nothing":
	default:
		return httpx.Invalid("body", "if_exists", "want raise or do_nothing, got %q", route.Cut(body.IfExists, 40))
	}
	meta, err := m.Metadata(body.Metadata)
	if err != nil {
		return err
	}
	if body.Temporary {
		if meta == nil {
			meta = map[string]json.RawMessage{}
		}
		meta[store.TemporaryKey] = json.RawMessage("true")
		if body.Metadata, err = agent.Encode(meta); err != nil {
			return err
		}
	}
	ctx := c.Request().Context()
	t := store.Thread{ID: id, Owner: m.Owner(c), Status: runs.Idle, Metadata: route.Object(body.Metadata),
		CreatedAt: m.DB.Now(), Project: body.Project}
	if t.Project != "" {
		if _, err := m.DB.ProjectFor(ctx, t.Owner, t.Project); errors.Is(err, store.ErrNotFound) {
			return httpx.Errorf(http.StatusNotFound, "Project %s not found", route.Cut(t.Project, 80))
		} else if err != nil {
			return err
		}
	}
	b := store.Batch{Thread: &t, NewThread: true}
	if b.KV, err = lifetime(id, ttl); err != nil {
		return err
	}
	err = m.DB.Commit(ctx, b)
	if errors.Is(err, store.ErrExists) {
		if have, err := m.DB.Thread(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		} else if body.IfExists == "raise" || err == nil && (m.Foreign(c, have.Owner) || !have.DeletedAt.IsZero()) {
			return httpx.Errorf(http.StatusConflict, "Thread already exists")
		}
		body.Supersteps = nil
	} else if err != nil {
		return err
	}
	for _, step := range body.Supersteps {
		if err := m.superstep(c, id, step); err != nil {
			if drop := m.Runs.DeleteThread(ctx, id); drop != nil { // a partial thread is useless
				m.Log.Error("couldn't restore a thread", "thread", id, "err", drop)
			}
			return err
		}
	}
	return m.answerThread(c, id)
}

// answerThread responds with the current thread.
func (m mount) answerThread(c echo.Context, id string) error {
	t, err := m.ThreadByID(c, id)
	if err != nil {
		return err
	}
	out, err := m.wholeThread(c.Request().Context(), t)
	if err != nil {
		return err
	}
	if slices.Contains(httpx.List(c.QueryParams(), "include"), "ttl") {
		ttl, err := m.DB.ThreadTTL(c.Request().Context(), id)
		if err == nil {
			out.TTL = &ttlJSON{Minutes: ttl.After.Minutes(), Strategy: ttl.Strategy,
				ExpiresAt: wire.Stamp(t.UpdatedAt.Add(ttl.After))}
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// threadTTL reads how long a thread lives; nil if nothing is said.
func threadTTL(raw json.RawMessage) (*store.TTL, error) {
	ttl, err := threads.ParseTTL(raw)
	if err != nil {
		return nil, httpx.Invalid("body", "ttl", "%s", strings.TrimPrefix(err.Error(), runs.ErrInput.Error()+": "))
	}
	return ttl, nil
}

// lifetime returns the rows for a thread's time to live, if one is given.
func lifetime(thread string, ttl *store.TTL) ([]store.KV, error) {
	if ttl == nil {
		return nil, nil
	}
	row, err := ttl.Row(thread)
	return []store.KV{row}, err
}

func (m mount) thread(c echo.Context, t store.Thread) error {
	return m.answerThread(c, t.ID)
}

// threadChange is the body of patchThread.
type threadChange struct {
	Metadata json.RawMessage `json:"metadata"`
	TTL      json.RawMessage `json:"ttl"`
}

func (m mount) patchThread(c echo.Context, t store.Thread) error {
	var body threadChange
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	ttl, err := threadTTL(body.TTL)
	if err != nil {
		return err
	}
	patch, err := m.Metadata(body.Metadata)
	if err != nil {
		return err
	}
	if err := m.mergeMetadata(c, t.ID, patch, ttl); err != nil {
		return err
	}
	if strings.Contains(c.Request().Header.Get("Prefer"), "return=minimal") {
		return c.NoContent(http.StatusNoContent)
	}
	return m.answerThread(c, t.ID)
}

// mergeMetadata writes the members of patch over a thread's metadata. A time to live counts
// from now on.
func (a *API) mergeMetadata(c echo.Context, id string, patch map[string]json.RawMessage, ttl *store.TTL) error {
	t, err := a.ThreadByID(c, id)
	if err != nil || len(patch) == 0 && ttl == nil {
		return err
	}
	have := map[string]json.RawMessage{}
	if err := json.Unmarshal(route.Object(t.Metadata), &have); err != nil {
		return err
	}
	maps.Copy(have, patch)
	merged, err := agent.Encode(have)
	if err != nil {
		return err
	}
	if _, err := a.Metadata(merged); err != nil {
		return err
	}
	// Pinning, archiving or tagging a thread doesn't count as an update: it keeps its place among the
	// recent ones.
	news := ttl != nil
	for name := range patch {
		news = news || !slices.Contains([]string{"deerflow_pinned", store.ArchivedKey, store.TagsKey}, name)
	}
	b := store.Batch{ThreadID: id, Patch: &store.ThreadPatch{Touch: news}}
	if len(patch) > 0 {
		if b.Patch.Merge, err = agent.Encode(patch); err != nil {
			return err
		}
	}
	if b.KV, err = lifetime(id, ttl); err != nil {
		return err
	}
	return a.DB.Commit(c.Request().Context(), b)
}

func (m mount) deleteThread(c echo.Context, id string) error {
	ctx := c.Request().Context()
	if m.native && m.Runs.Active(id) != "" {
		return httpx.Errorf(http.StatusConflict, "Thread has work in flight; cancel it or wait until it has ended")
	}
	err := m.Runs.DeleteThread(ctx, id)
	gone := errors.Is(err, runs.ErrNotFound) || errors.Is(err, store.ErrNotFound)
	switch {
	case gone && !m.native:
		return route.NoThread(id)
	case gone: // its files may exist without it: uploads come before the first run
		if err := m.Dirs.Remove(id); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if m.native {
		return httpx.JSON(c, http.StatusOK, route.DoneMessage{Message: "Deleted thread " + id, Success: true})
	}
	return c.NoContent(http.StatusNoContent)
}
