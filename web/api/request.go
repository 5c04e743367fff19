package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/knowledge"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/sandbox"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/once"
	"fawn/web/route"
)

// maxTraceparent is the length of the longest header that is kept.
const maxTraceparent = 128

// runRequest is a checked request for a run.
type runRequest struct {
	runs.Request
	modes     wire.Modes
	temporary bool // delete the thread when the run has ended
	key       once.Key
}

// runBody is the body of all routes that begin a run.
type runBody struct {
	runs.Request
	OnCompletion string `json:"on_completion"`
}

// bindRun reads the body all run-creating routes share; thread is the one of the path, if any.
func (m mount) bindRun(c echo.Context, thread string) (runRequest, error) {
	body, err := httpx.Body(c.Request(), m.BodyLimit())
	if err != nil {
		return runRequest{}, err
	}
	return m.decodeRun(c, thread, body)
}

func (m mount) decodeRun(c echo.Context, thread string, body []byte) (runRequest, error) {
	var b runBody
	if err := httpx.Decode(body, &b); err != nil {
		return runRequest{}, err
	}
	req := runRequest{Request: b.Request}
	var err error
	if req.key, err = once.Read(c.Request(), m.Owner(c), body); err != nil {
		return req, err
	}
	if err := takeSecrets(&req.Request); err != nil {
		return req, err
	}
	req.Hold = false // only the page queues this way
	if req.Trace = c.Request().Header.Get("traceparent"); len(req.Trace) > maxTraceparent {
		req.Trace = ""
	}
	req.Origin, req.Owner, req.HeaderModel = "api", m.Owner(c), c.Request().Header.Get("X-Model")
	for _, raw := range []*json.RawMessage{&req.Input, &req.Command, &req.Metadata, &req.Config, &req.Context,
		&req.Checkpoint} {
		*raw = route.Given(*raw)
	}
	if err := m.threadOf(thread, &req); err != nil {
		return req, err
	}
	if req.AssistantID == "" && !m.native {
		return req, httpx.Invalid("body", "assistant_id",
			"is required: the id of an assistant or of a graph, such as %s", wire.GraphID)
	}
	assistant, err := m.AssistantByID(c, req.AssistantID)
	if err != nil {
		return req, err
	}
	req.AssistantID = assistant.ID
	if err := checkRun(&req); err != nil {
		return req, err
	}
	if req.Multitask == "" && m.native {
		req.Multitask = "reject"
	}
	if _, err := m.Metadata(req.Metadata); err != nil {
		return req, err
	}
	if err := m.checkPatch(c, "input", req.Input); err != nil {
		return req, err
	}
	if err := m.chooseModel(&req); err != nil {
		return req, err
	}
	if err := m.checkChoices(c.Request().Context(), &req); err != nil {
		return req, err
	}
	if thread == "" {
		m.lifetime(&req, b.OnCompletion)
		if req.key.Given() && req.temporary { // requests with the same key read the same thread
			req.Thread = req.key.ID()
		}
	}
	return req, m.checkCommand(c, &req)
}

// lifetime decides whether a stateless run's thread is kept: a thread created for the run is deleted with it, natively
// only on request.
func (m mount) lifetime(req *runRequest, completion string) {
	req.temporary = completion == "delete"
	if req.Thread == "" {
		req.Thread = uuid.Must(uuid.NewV7()).String()
		req.temporary = req.temporary || !m.native && completion != "keep"
	}
}

// threadOf determines the thread: the path's, otherwise the one in the options, otherwise a new one.
func (m mount) threadOf(thread string, req *runRequest) error {
	if req.Thread = thread; thread != "" {
		return nil
	}
	if req.Thread = req.ThreadID(); req.Thread != "" && !m.ValidID(req.Thread) {
		return m.BadID("body", req.Thread)
	}
	return nil
}

// checkRun rejects invalid runs, naming the field.
func checkRun(req *runRequest) error {
	for _, o := range []struct {
		name string
		raw  json.RawMessage
	}{{"config", req.Config}, {"context", req.Context}, {"command", req.Command}} {
		if _, err := route.Members(o.name, o.raw); err != nil {
			return err
		}
	}
	for _, e := range []struct {
		name, value string
		allowed     []string
	}{
		{"multitask_strategy", req.Multitask, []string{"reject", "enqueue", "interrupt", "rollback"}},
		{"on_disconnect", req.OnDisconnect, []string{"continue", "cancel"}},
		{"durability", req.Durability, []string{"sync", "async", "exit"}},
		{"if_not_exists", req.IfNotExists, []string{"create", "reject"}},
	} {
		if e.value != "" && !slices.Contains(e.allowed, e.value) {
			return httpx.Invalid("body", e.name, "want one of %v, got %q", e.allowed, route.Cut(e.value, 40))
		}
	}
	if req.AfterSeconds < 0 || req.AfterSeconds > request.MaxDelay.Seconds() {
		return httpx.Invalid("body", "after_seconds", "want 0 to %.0f, got %v", request.MaxDelay.Seconds(),
			req.AfterSeconds)
	}
	if err := checkWebhook(req.Webhook); err != nil {
		return err
	}
	var err error
	if req.modes, err = parseModes(req.StreamMode); err != nil {
		return err
	}
	if _, err := checkpointOf(req.Thread, req.CheckpointID, req.Checkpoint); err != nil {
		return err
	}
	return nil
}

// chooseModel removes the names of unusable models from the request, so that the next level decides, and records that
// on the run. Natively they are refused.
func (m mount) chooseModel(req *runRequest) error {
	snap := m.Config()
	if len(snap.UsableModels()) == 0 { // the run itself reports it
		return nil
	}
	usable := func(name string) bool {
		model, ok := snap.Model(name)
		return ok && model.Disabled == "" || name == lead.OfflineModel
	}
	var unknown []string
	if req.HeaderModel != "" && !usable(req.HeaderModel) {
		unknown, req.HeaderModel = append(unknown, req.HeaderModel), ""
	}
	var cfg map[string]json.RawMessage
	if req.Config != nil {
		if err := json.Unmarshal(req.Config, &cfg); err != nil {
			return err
		}
	}
	drop := func(raw json.RawMessage) (json.RawMessage, error) {
		var obj map[string]json.RawMessage
		var name string
		if route.Given(raw) == nil || json.Unmarshal(raw, &obj) != nil ||
			json.Unmarshal(obj["model_name"], &name) != nil || name == "" || usable(name) {
			return raw, nil
		}
		unknown = append(unknown, name)
		delete(obj, "model_name")
		return agent.Encode(obj)
	}
	var err error
	if req.Context, err = drop(req.Context); err != nil {
		return err
	}
	changed := len(unknown)
	for _, key := range []string{"context", "configurable"} {
		if raw, ok := cfg[key]; ok {
			if cfg[key], err = drop(raw); err != nil {
				return err
			}
		}
	}
	if len(unknown) > changed {
		if req.Config, err = agent.Encode(cfg); err != nil {
			return err
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	if m.native {
		return httpx.Errorf(http.StatusBadRequest, "Model '%s' is not in the configured model allowlist",
			route.Cut(unknown[0], 80))
	}
	meta := map[string]json.RawMessage{}
	if req.Metadata != nil {
		if err := json.Unmarshal(req.Metadata, &meta); err != nil {
			return err
		}
	}
	if meta["model_warning"], err = agent.Encode("model " + route.Cut(unknown[0], 80) +
		" is not configured; the next choice was used"); err != nil {
		return err
	}
	req.Metadata, err = agent.Encode(meta)
	return err
}

// checkChoices refuses an agent that does not exist, collections of documents that the caller can't read, and an effort
// the model does not take where nothing may be left out.
func (m mount) checkChoices(ctx context.Context, req *runRequest) error {
	o, err := req.Choices()
	if err != nil {
		return nil // Start reports it
	}
	if err := lead.CheckAgent(m.Agents, req.Owner, o.Options); err != nil {
		return httpx.Invalid("body", "agent_name", "%s", err.Error())
	}
	missing, err := knowledge.UnknownIn(ctx, m.DB, req.Owner, o.Knowledge)
	if err != nil {
		return err
	}
	if missing != "" {
		return httpx.Invalid("body", "knowledge", "there is no collection %q; GET /api/knowledge lists those you can use",
			route.Cut(missing, 80))
	}
	snap := m.Config()
	usable := snap.UsableModels()
	if o.ReasoningEffort == "" || snap.File.Runs.AllowDegradation || len(usable) == 0 {
		return nil
	}
	model := usable[0]
	if named, ok := snap.Model(o.ModelName); ok {
		model = named
	}
	if err := lead.TakesEffort(model, o.ReasoningEffort); err != nil && model.SupportsReasoningEffort {
		return httpx.Invalid("body", "reasoning_effort", "%s", err.Error())
	}
	return nil
}

// checkCommand refuses an invalid command. A command replaces the input.
func (m mount) checkCommand(c echo.Context, req *runRequest) error {
	if req.Command == nil {
		return nil
	}
	if err := req.CheckCommand(); err != nil {
		where, why, found := strings.Cut(strings.TrimPrefix(err.Error(), runs.ErrInput.Error()+": "), ": ")
		if !found || !strings.HasPrefix(where, "command.") {
			return httpx.Invalid("body", "command", "%s: %s", where, why)
		}
		return httpx.Invalid("body", where, "%s", why)
	}
	var parts struct {
		Resume json.RawMessage `json:"resume"`
		Update json.RawMessage `json:"update"`
	}
	if err := json.Unmarshal(req.Command, &parts); err != nil {
		return httpx.Invalid("body", "command", "%v", err)
	}
	if limit := m.Limits().MaxMessageBytes; int64(len(parts.Resume)) > limit {
		return httpx.TooLarge("the answer of command.resume", limit, "server.max_message_bytes")
	}
	return m.checkPatch(c, "command.update", parts.Update)
}

// start creates the run and converts its refusals.
func (m mount) start(c echo.Context, req runRequest) (store.Run, error) {
	ctx := c.Request().Context()
	r, there, err := m.keys.Run(ctx, req.key, func(id string) (store.Run, error) {
		req.ID = id
		return m.Runs.Start(ctx, req.Request)
	})
	switch {
	case there:
		c.Response().Header().Set(once.Replayed, "true")
		return r, nil
	case err == nil && req.temporary:
		return r, m.deleteAfter(ctx, r)
	case errors.Is(err, runs.ErrBusy):
		return r, httpx.Errorf(http.StatusConflict, "Thread %s already has an active run", req.Thread)
	case errors.Is(err, runs.ErrInput):
		return r, inputError(err, "input", req.Input)
	case errors.Is(err, runs.ErrNotFound):
		if base, _ := checkpointOf(req.Thread, req.CheckpointID, req.Checkpoint); base != "" {
			return r, noCheckpoint(base)
		}
		return r, route.NoThread(req.Thread)
	}
	return r, err
}

// parseModes reads mode names. None at all means values; an unknown one is a 422.
func parseModes(names []string) (wire.Modes, error) {
	if len(names) == 0 {
		return wire.ModeValues, nil
	}
	var set wire.Modes
	for _, name := range names {
		one := wire.ModeOf(name)
		if one == 0 {
			return 0, httpx.Invalid("body", "stream_mode", "unknown mode %q (want %s)", route.Cut(name, 40),
				strings.Join(wire.ModeNames(), ", "))
		}
		set |= one
	}
	return set, nil
}

// takeSecrets moves a run's secrets out of its stored request before anything else reads it. No response contains a
// value.
func takeSecrets(req *runs.Request) error {
	req.SecretNames = nil // only the server sets them
	if err := req.TakeSecrets(); err != nil {
		return httpx.Invalid("body", "context.secrets", "%v", err)
	}
	for _, name := range req.SecretNames {
		if err := sandbox.ValidVariable(name); err != nil {
			return httpx.Invalid("body", "context.secrets", "%v", err)
		}
	}
	return nil
}

// storable checks options that are kept for later runs: objects within the limit of a
// message's text, without secrets.
func (a *API) storable(config, options json.RawMessage) error {
	req := runs.Request{Config: config, Context: options}
	for _, o := range []struct {
		field string
		raw   json.RawMessage
	}{{"config", config}, {"context", options}} {
		if max := a.Limits().MaxMessageBytes; int64(len(o.raw)) > max {
			return httpx.TooLarge(o.field, max, "server.max_message_bytes")
		}
		obj, err := route.Members(o.field, o.raw)
		if err != nil {
			return err
		}
		if route.Given(obj["secrets"]) != nil {
			return errSecrets(o.field)
		}
	}
	if err := takeSecrets(&req); err != nil {
		return err
	}
	if len(req.SecretNames) > 0 {
		return errSecrets("context")
	}
	return nil
}

func errSecrets(field string) error {
	return httpx.Invalid("body", field+".secrets", "secrets are never stored; send them with each run")
}
