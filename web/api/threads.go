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
	o "fawn/web/openapi"
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
	now := m.DB.Now()
	t := store.Thread{ID: id, Owner: m.Owner(c), Status: runs.Idle, Metadata: route.Object(body.Metadata),
		CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now, Project: body.Project}
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
		return m.answerThread(c, id)
	} else if err != nil {
		return err
	}
	if len(body.Supersteps) == 0 {
		return m.showThread(c, t)
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
	return m.showThread(c, t)
}

// showThread responds with a thread as it was just read or written.
func (m mount) showThread(c echo.Context, t store.Thread) error {
	out, err := m.wholeThread(c.Request().Context(), t)
	if err != nil {
		return err
	}
	if slices.Contains(httpx.List(c.QueryParams(), "include"), "ttl") {
		ttl, err := m.DB.ThreadTTL(c.Request().Context(), t.ID)
		if err == nil {
			out.TTL = &ttlJSON{Minutes: ttl.After.Minutes(), Strategy: ttl.Strategy,
				ExpiresAt: wire.Stamp(t.UpdatedAt.Add(ttl.After))}
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// threadTTL reads a thread's time to live; nil if none is given.
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

func describeThreads() []o.Op {
	const tag = "Threads"
	return []o.Op{
		{ID: "createThread", Example: `{"metadata": {"topic": "deer"}, "if_exists": "do_nothing"}`, Tag: tag, Text: "Create a thread",
			More: "Under /api, an existing thread is returned unless if_exists is raise. A temporary one is in no list and is deleted after an hour without a run; metadata.fawn_temporary false keeps it.",
			Body: o.Reads[threadBody](o.Is("thread_id", o.ID()), o.Is("metadata", o.Map(nil)),
				o.Is("if_exists", o.Enum("raise", "do_nothing")), o.Is("ttl", o.AnyOf(o.Number(), o.Map(nil)))),
			Out: route.Answered("The thread", o.Ref("Thread")), Fail: []int{404, 409}},
		{ID: "listThreads", Tag: tag, Text: "List threads, filtered by query parameters",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, route.MaxPage)}, {Name: "offset", Schema: o.Int(0)},
				{Name: "metadata", Schema: o.String(), Text: "JSON object that the metadata must contain"},
				{Name: "project_id", Schema: o.String(), Text: "Only threads of this project"},
				{Name: "status", Schema: threadStatus()}, threadSort(), sortOrder()},
			Out: route.Answered("A page of threads", o.List(o.Ref("ThreadPart"))), Fail: []int{413}},
		{ID: "searchThreads", Example: `{"metadata": {"topic": "deer"}, "status": "idle", "limit": 10, "sort_by": "updated_at", "sort_order": "desc"}`, Tag: tag, Text: "Find threads",
			Body: o.Reads[threadQuery](append(threadFilter(), o.Is("limit", o.Range(1, route.MaxPage)), o.Is("offset", o.Int(0)),
				o.Is("sort_by", threadSort().Schema), o.Is("sort_order", sortOrder().Schema))...),
			Out: route.Answered("A page of threads", o.List(o.Ref("ThreadPart")))},
		{ID: "pruneThreads", Tag: tag, Text: "Delete threads, or only their history", Need: true,
			Body: o.Reads[pruneBody](o.Req("thread_ids", o.List(o.String())), o.Is("strategy", o.Enum("delete", "keep_latest"))),
			Out:  route.Answered("The count", o.Of[prunedJSON](o.Is("pruned_count", o.Int(0))))},
		{ID: "streamThread", Header: route.LastEvent(), Tag: tag, Text: "Follow all runs of a thread",
			More:  "Each run ends with run_done.",
			Query: []o.Param{{Name: "stream_mode", Schema: o.Enum("run_modes", "lifecycle", "state_update")}},
			Out:   route.Streamed(), Endless: true},
		{ID: "getThreadStorage", Tag: tag, Text: "Bytes that the checkpoints of a thread take",
			Out: route.Answered("By kind and by field of the state", threadStorage())},
		{ID: "countThreads", Tag: tag, Text: "Count threads",
			Body: o.Reads[threadQuery](append(threadFilter(), o.Without("limit", "offset", "sort_by", "sort_order", "select", "extract")...)...),
			Out:  route.Answered("The count", o.Int(0))},
		{ID: "getThread", Tag: tag, Text: "Get a thread",
			Query: []o.Param{{Name: "include", Schema: o.String(), Text: "ttl adds the time to live"}},
			Out:   route.Answered("The thread", o.Ref("Thread"))},
		{ID: "patchThread", Example: `{"metadata": {"topic": "deer"}}`, Tag: tag, Text: "Merge metadata into a thread",
			Body: o.Reads[threadChange](o.Is("metadata", o.Map(nil)), o.Is("ttl", o.AnyOf(o.Number(), o.Map(nil)))),
			Out: append(route.Answered("The thread", o.Ref("Thread")),
				route.Emptied("Done; sent with Prefer: return=minimal")...)},
		{ID: "deleteThread", Lazy: true, Tag: tag, Text: "Delete a thread, its runs and its files",
			Out: append(route.Emptied("Deleted"),
				o.Answer{Status: 200, Text: "Deleted, under /api", Schema: success()}),
			Fail: []int{409}},
		{ID: "copyThread", Tag: tag, Text: "Copy a thread with its history and files",
			Out: route.Answered("The copy", o.Ref("Thread"))},
		{ID: "compactThread", Tag: tag, Text: "Replace older messages with a summary for the model",
			Body: o.Reads[compactBody](o.Is("keep", o.Object(o.Req("type", o.Enum("fraction", "tokens", "messages")),
				o.Req("value", o.Number())))),
			Out: route.Answered("The result of the compaction",
				o.Of[compactedJSON](o.Is("reason", o.Enum("compacted", "nothing_to_compact")),
					o.Is("removed_message_count", o.Int(0)), o.Is("preserved_message_count", o.Int(0)), o.Is("total_tokens", o.Int(0)))), Fail: []int{409}},
	}
}

// threadStorage returns the schema of the size of a thread's checkpoints.
func threadStorage() o.Schema {
	return o.Of[storageJSON](o.Is("total_bytes", o.Int(0)))
}

// success returns the schema with which DeerFlow's gateway reports success.
func success() o.Schema {
	return o.Of[route.DoneMessage]()
}

// threadFilter describes the members that select threads.
func threadFilter() []o.Prop {
	return []o.Prop{o.Is("metadata", o.Map(nil)), o.Is("values", o.Map(nil)), o.Is("status", threadStatus())}
}

func threadSort() o.Param {
	return o.Param{Name: "sort_by",
		Schema: o.Enum("thread_id", "status", "created_at", "updated_at", "state_updated_at")}
}

func sortOrder() o.Param { return o.Param{Name: "sort_order", Schema: o.Enum("asc", "desc")} }

func describeState() []o.Op {
	const tag = "State and history"
	return []o.Op{
		{ID: "getState", Tag: tag, Text: "Get the state of a thread",
			Query: []o.Param{stateInclude()}, Out: route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "updateState", Example: `{"values": {"title": "Deer in winter"}}`, Tag: tag, Text: "Write state through the reducers, or fork a checkpoint",
			Body: o.Reads[stateBody](o.Is("checkpoint", checkpointBody())),
			Out:  route.Answered("The new state and its checkpoint", o.Ref("ThreadState")), Fail: []int{409}},
		{ID: "patchState", Tag: tag, Text: "Merge metadata into the state",
			Body: o.Reads[stateChange](o.Is("metadata", o.Map(nil))), Out: route.Emptied("Done"), Fail: []int{409}},
		{ID: "getStateAt", Tag: tag, Text: "Get the state at a checkpoint",
			Query: []o.Param{stateInclude()}, Out: route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "getStateAtCheckpoint", Tag: tag, Text: "Get the state at a checkpoint given in the body",
			Body: o.Reads[checkpointChoice](o.Is("checkpoint", checkpointBody())),
			Out:  route.Answered("The state", o.Ref("ThreadState"))},
		{ID: "listHistory", Tag: tag, Text: "List checkpoints, newest first, filtered by query parameters",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, route.MaxPage)}, {Name: "before", Schema: o.String()},
				{Name: "metadata", Schema: o.String()}},
			Out: route.Answered("The states", o.List(o.Ref("ThreadState")))},
		{ID: "searchHistory", Example: `{"limit": 10}`, Tag: tag, Text: "List checkpoints, newest first",
			Body: o.Reads[historyQuery](o.Is("limit", o.Range(1, route.MaxPage)), o.Is("before", o.AnyOf(o.String(), o.Map(nil))),
				o.Is("metadata", o.Map(nil)), o.Is("checkpoint", checkpointBody())),
			Out: route.Answered("The states", o.List(o.Ref("ThreadState")))},
	}
}

func stateInclude() o.Param {
	return o.Param{Name: "include", Schema: o.String(), Text: "images adds the images shown to the model"}
}

func (m mount) copyThread(c echo.Context, t store.Thread) error {
	made, err := m.Copier.Copy(c.Request().Context(), t.ID)
	if errors.Is(err, runs.ErrNotFound) {
		return route.NoThread(t.ID)
	}
	if err != nil {
		return err
	}
	return m.answerThread(c, made.ID)
}
