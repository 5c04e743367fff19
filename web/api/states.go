package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

func noCheckpoint(id string) error {
	return httpx.Errorf(http.StatusNotFound, "Checkpoint %s not found", route.Cut(id, 80))
}

// state answers GET state, at the head or at a checkpoint of the path.
func (m mount) state(c echo.Context, t store.Thread) error {
	b, err := m.readState(c, t.ID, route.Param(c, "cid"))
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, b)
}

// checkpointChoice is the body of stateAtCheckpoint.
type checkpointChoice struct {
	Checkpoint json.RawMessage `json:"checkpoint"`
	ID         string          `json:"checkpoint_id"`
}

func (m mount) stateAtCheckpoint(c echo.Context, t store.Thread) error {
	var body checkpointChoice
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	cp, err := checkpointOf(t.ID, body.ID, body.Checkpoint)
	if err != nil {
		return err
	}
	b, err := m.readState(c, t.ID, cp)
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, b)
}

// checkpointOf reads the two ways to name a checkpoint. "" is the head.
func checkpointOf(thread, id string, raw json.RawMessage) (string, error) {
	if raw = route.Given(raw); raw == nil {
		return id, nil
	}
	var cp struct {
		Thread string `json:"thread_id"`
		NS     string `json:"checkpoint_ns"`
		ID     string `json:"checkpoint_id"`
	}
	if err := json.Unmarshal(raw, &cp); err != nil {
		return "", httpx.Invalid("body", "checkpoint", "want an object with checkpoint_id")
	}
	if cp.Thread != "" && cp.Thread != thread {
		return "", httpx.Errorf(http.StatusBadRequest, "checkpoint.thread_id names another thread")
	}
	if cp.NS != "" {
		return "", noCheckpoint(cp.NS)
	}
	if id != "" && cp.ID == "" {
		return id, nil
	}
	return cp.ID, nil
}

func (m mount) readState(c echo.Context, thread, checkpoint string) (json.RawMessage, error) {
	ctx := c.Request().Context()
	t, err := m.ThreadByID(c, thread)
	if err != nil {
		return nil, err
	}
	snap, err := m.Checkpoint(ctx, t, checkpoint)
	if errors.Is(err, store.ErrNotFound) && checkpoint != "" {
		return nil, noCheckpoint(checkpoint)
	}
	if err != nil {
		return nil, err
	}
	show := runs.AppendValues
	if slices.Contains(httpx.List(c.QueryParams(), "include"), "images") {
		show = runs.AppendValuesWithImages
		if err := m.addImages(ctx, t.ID, snap); err != nil {
			return nil, err
		}
	}
	var failed *runevent.Failure
	if checkpoint == "" || checkpoint == t.Head {
		if failed, err = m.failure(ctx, t); err != nil {
			return nil, err
		}
	}
	return appendState(nil, snap, failed, nil, nil, show)
}

// stateBody is the body of updateState.
type stateBody struct {
	Values     json.RawMessage `json:"values"`
	AsNode     string          `json:"as_node"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	ID         string          `json:"checkpoint_id"`
}

func (m mount) updateState(c echo.Context, t store.Thread) error {
	var body stateBody
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	base, err := checkpointOf(t.ID, body.ID, body.Checkpoint)
	if err != nil {
		return err
	}
	if route.Given(body.Values) == nil && base == "" && body.AsNode == "" {
		b, err := m.readState(c, t.ID, "")
		if err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, b)
	}
	var writes []json.RawMessage
	if raw := bytes.TrimSpace(body.Values); len(raw) == 0 || raw[0] != '[' {
		writes = []json.RawMessage{body.Values}
	} else if err := json.Unmarshal(raw, &writes); err != nil {
		return httpx.Invalid("body", "values", "%v", err)
	}
	for _, one := range writes {
		if one = bytes.TrimSpace(one); len(one) > 0 && one[0] == '[' { // a pair of a name and a value
			if err := m.checkMessages(one); err != nil {
				return err
			}
			continue
		}
		if err := m.checkPatch(c, "values", one); err != nil {
			return err
		}
	}
	if waiting, err := m.DB.Runs(c.Request().Context(), t.ID, runs.Pending, 1, 0); err != nil {
		return err
	} else if len(waiting) > 0 {
		return httpx.Errorf(http.StatusConflict, "Thread is busy")
	}
	cp, err := m.Runs.UpdateState(c.Request().Context(), t.ID,
		runs.Update{Values: route.Given(body.Values), AsNode: body.AsNode, Checkpoint: base})
	switch {
	case errors.Is(err, runs.ErrBusy):
		return httpx.Errorf(http.StatusConflict, "Thread is busy")
	case errors.Is(err, runs.ErrNotFound) && base != "":
		return noCheckpoint(base)
	case errors.Is(err, runs.ErrInput):
		return inputError(err, "values", body.Values)
	case err != nil:
		return err
	}
	b, err := m.readState(c, t.ID, cp.ID)
	if err != nil {
		return err
	}
	pointer, err := agent.Encode(wire.Pointer{Thread: t.ID, NS: cp.NS, CP: cp.ID})
	if err != nil {
		return err
	}
	out := append(append([]byte(`{"configurable":`), pointer...), ',')
	return c.JSONBlob(http.StatusOK, append(out, b[1:]...))
}

// stateChange is the body of patchState.
type stateChange struct {
	Metadata json.RawMessage `json:"metadata"`
}

// patchState merges metadata into that of the state: a new checkpoint with the same values.
// The oldest SDKs do that.
func (m mount) patchState(c echo.Context, t store.Thread) error {
	var body stateChange
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	meta, err := m.Metadata(body.Metadata)
	if err != nil {
		return err
	}
	if len(meta) == 0 || t.Head == "" {
		return c.NoContent(http.StatusNoContent)
	}
	_, err = m.Runs.UpdateState(c.Request().Context(), t.ID, runs.Update{Metadata: meta})
	if errors.Is(err, runs.ErrBusy) {
		return httpx.Errorf(http.StatusConflict, "Thread is busy")
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// checkPatch validates a partial state before it is applied: messages within their limit, and unknown fields refused
// natively, else logged and ignored.
func (m mount) checkPatch(c echo.Context, where string, raw json.RawMessage) error {
	raw = route.Given(raw)
	if raw == nil {
		return nil
	}
	if err := m.checkMessages(raw); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		if where == "values" {
			return httpx.Invalid("body", where, "want an object of state fields")
		}
		return nil // a bare message or a list of them
	}
	if other := route.Given(fields["thread_data"]); other != nil && !ownFolders(other) {
		if m.native {
			return httpx.Errorf(http.StatusUnprocessableEntity,
				"%s.thread_data: the folders of a thread are the server's and can't be changed; leave it out", where)
		}
		m.Log.Info("ignored thread_data from a client", "thread", route.Param(c, "tid"))
	}
	var unknown []string
	for name := range fields {
		if f, ok := agent.FieldByName(name); name != "messages" && (!ok || f.Hidden) {
			unknown = append(unknown, route.Cut(name, 64))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	if m.native {
		return httpx.Errorf(http.StatusUnprocessableEntity, "Unknown thread-state field(s): %s",
			strings.Join(unknown, ", "))
	}
	m.Log.Info("ignored unknown state fields", "thread", route.Param(c, "tid"), "fields", unknown)
	return nil
}

// checkMessages rejects a message whose text exceeds the limit. Short bodies can't contain one.
func (a *API) checkMessages(raw json.RawMessage) error {
	limit := a.Limits().MaxMessageBytes
	if int64(len(raw)) <= limit {
		return nil
	}
	var fields struct {
		Messages json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(raw, &fields) == nil && fields.Messages != nil {
		raw = fields.Messages
	}
	msgs, err := agent.ParseMessages(raw)
	if err != nil {
		return nil // reported at its use
	}
	for _, msg := range msgs {
		if int64(len(msg.Content.String())) > limit {
			return httpx.TooLarge("the text of a message", limit, "server.max_message_bytes")
		}
	}
	return nil
}

// inputError describes errors in a body's messages for clients.
func inputError(err error, where string, raw json.RawMessage) error {
	var fields struct {
		Messages json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(raw, &fields) != nil { // a bare message or a list of them
		fields.Messages = raw
	}
	if _, perr := agent.ParseMessages(fields.Messages); errors.Is(perr, agent.ErrMessage) {
		at, why, _ := strings.Cut(perr.Error(), ": ")
		why = strings.TrimPrefix(why, agent.ErrMessage.Error()+": ")
		return httpx.Errorf(http.StatusBadRequest, "Invalid message at %s.%s: %s", where, at, why)
	}
	return httpx.Errorf(http.StatusBadRequest, "%s",
		strings.TrimPrefix(err.Error(), fmt.Sprintf("%v: ", runs.ErrInput)))
}

// ownFolders reports whether a thread_data equals the thread's own, as sent back by clients.
func ownFolders(raw json.RawMessage) bool {
	var d agent.ThreadData
	return json.Unmarshal(raw, &d) == nil &&
		d == agent.ThreadData{Workspace: files.Workspace, Uploads: files.Uploads, Outputs: files.Outputs}
}
