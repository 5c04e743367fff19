package api

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

type assistantBody struct {
	ID          string          `json:"assistant_id"`
	Graph       *string         `json:"graph_id"`
	Name        *string         `json:"name"`
	Description *string         `json:"description"`
	Config      json.RawMessage `json:"config"`
	Context     json.RawMessage `json:"context"`
	Metadata    json.RawMessage `json:"metadata"`
	IfExists    string          `json:"if_exists"`
}

// bindAssistant reads and checks the parts of an assistant.
func (m mount) bindAssistant(c echo.Context) (b assistantBody, err error) {
	if err := m.Bind(c, &b); err != nil {
		return b, err
	}
	if b.Graph != nil && *b.Graph != wire.GraphID {
		return b, httpx.Errorf(http.StatusNotFound, "Graph %q not found; there is %q", route.Cut(*b.Graph, 80),
			wire.GraphID)
	}
	for _, s := range []struct {
		field string
		value *string
		most  int
	}{{"name", b.Name, route.MaxName}, {"description", b.Description, route.MaxText}} {
		if s.value != nil && len(*s.value) > s.most {
			return b, httpx.Invalid("body", s.field, "want at most %d bytes, got %d", s.most, len(*s.value))
		}
	}
	b.Config, b.Context = route.Given(b.Config), route.Given(b.Context)
	if err = m.storable(b.Config, b.Context); err != nil {
		return b, err
	}
	_, err = m.Metadata(b.Metadata)
	return b, err
}

func (m mount) createAssistant(c echo.Context) error {
	b, err := m.bindAssistant(c)
	if err != nil {
		return err
	}
	switch b.IfExists {
	case "", "raise", "do_nothing":
	default:
		return httpx.Invalid("body", "if_exists", "want raise or do_nothing, got %q", route.Cut(b.IfExists, 40))
	}
	a := store.Assistant{ID: b.ID, Owner: m.Owner(c), Graph: wire.GraphID, Name: "Untitled", Description: b.Description,
		Config: b.Config, Context: b.Context, Metadata: route.Given(b.Metadata)}
	if b.Name != nil {
		a.Name = *b.Name
	}
	switch {
	case a.ID == "":
		a.ID = uuid.Must(uuid.NewV7()).String()
	case wire.BuiltIn(a.ID):
		if b.IfExists == "do_nothing" {
			return httpx.JSON(c, http.StatusOK, assistantOf(m.lead()))
		}
		return httpx.Errorf(http.StatusConflict, "Assistant already exists")
	case !m.ValidID(a.ID):
		return httpx.Invalid("body", "assistant_id", "want 1 to %d letters, digits, dashes and underscores, got %q",
			route.MaxID, route.Cut(a.ID, 80))
	}
	ctx := c.Request().Context()
	a, err = m.DB.CreateAssistant(ctx, a)
	if errors.Is(err, store.ErrExists) {
		have, mine := m.DB.Assistant(ctx, m.Owner(c), b.ID)
		if b.IfExists != "do_nothing" || errors.Is(mine, store.ErrNotFound) {
			return httpx.Errorf(http.StatusConflict, "Assistant already exists")
		}
		a, err = have, mine
	}
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, assistantOf(a))
}

// ownAssistant returns the assistant of the path, which must not be the built-in one.
func ownAssistant(c echo.Context, verb string) (string, error) {
	id := route.Param(c, "aid")
	if wire.BuiltIn(id) {
		return id, httpx.Errorf(http.StatusConflict,
			"The assistant %s is built in and cannot be %s; create one of your own", wire.GraphID, verb)
	}
	return id, nil
}

func (m mount) patchAssistant(c echo.Context) error {
	id, err := ownAssistant(c, "changed")
	if err != nil {
		return err
	}
	b, err := m.bindAssistant(c)
	if err != nil {
		return err
	}
	patch, err := m.Metadata(b.Metadata)
	if err != nil {
		return err
	}
	a, err := m.DB.ChangeAssistant(c.Request().Context(), m.Owner(c), id, func(a *store.Assistant) error {
		if b.Name != nil {
			a.Name = *b.Name
		}
		if b.Description != nil {
			a.Description = b.Description
		}
		if b.Config != nil {
			a.Config = b.Config
		}
		if b.Context != nil {
			a.Context = b.Context
		}
		have := map[string]json.RawMessage{}
		if err := json.Unmarshal(route.Object(a.Metadata), &have); err != nil {
			return err
		}
		maps.Copy(have, patch)
		merged, err := agent.Encode(have)
		if err != nil {
			return err
		}
		a.Metadata = merged
		_, err = m.Metadata(merged)
		return err
	})
	if err != nil {
		return noAssistant(err, id)
	}
	return httpx.JSON(c, http.StatusOK, assistantOf(a))
}

// deleteAssistant removes an assistant, with delete_threads also the threads it made.
func (m mount) deleteAssistant(c echo.Context) error {
	id, err := ownAssistant(c, "deleted")
	if err != nil {
		return err
	}
	threads, err := httpx.Bool(c.QueryParams(), "delete_threads", false)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := m.DB.DeleteAssistant(ctx, m.Owner(c), id); err != nil {
		return noAssistant(err, id)
	}
	if threads {
		want, err := agent.Encode(map[string]string{"assistant_id": id})
		if err != nil {
			return err
		}
		list, _, err := m.DB.Threads(ctx, store.ThreadQuery{Owner: m.Owner(c), Metadata: want})
		if err != nil {
			return err
		}
		for _, t := range list {
			if err := m.Runs.DeleteThread(ctx, t.ID); err != nil && !errors.Is(err, runs.ErrNotFound) {
				return err
			}
		}
	}
	return c.NoContent(http.StatusNoContent)
}

// versionQuery is the body of assistantVersions.
type versionQuery struct {
	Metadata json.RawMessage `json:"metadata"`
	Limit    *int            `json:"limit"`
	Offset   int             `json:"offset"`
}

// assistantVersions lists the versions of an assistant, newest first.
func (m mount) assistantVersions(c echo.Context) error {
	var q versionQuery
	if err := m.Bind(c, &q); err != nil {
		return err
	}
	part, err := route.BodyPage(q.Limit, q.Offset, assistantsPage)
	if err != nil {
		return err
	}
	want, err := wanted("metadata", q.Metadata)
	if err != nil {
		return err
	}
	id := route.Param(c, "aid")
	list := []store.Assistant{}
	if wire.BuiltIn(id) {
		if lead := m.lead(); q.Offset == 0 && holds(lead.Metadata, want) {
			list = append(list, lead)
		}
	} else {
		keep := func(a store.Assistant) bool { return holds(a.Metadata, want) }
		if list, err = m.DB.AssistantVersions(c.Request().Context(), m.Owner(c), id, keep, part.Limit,
			part.Offset); err != nil {
			return noAssistant(err, id)
		}
	}
	return array(c, len(list), func(i int) (any, error) { return assistantOf(list[i]), nil })
}

// versionChoice is the body of useVersion.
type versionChoice struct {
	Version *int `json:"version"`
}

// useVersion restores an older version.
func (m mount) useVersion(c echo.Context) error {
	var body versionChoice
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	if body.Version == nil {
		return httpx.Invalid("body", "version", "is required")
	}
	id := route.Param(c, "aid")
	if wire.BuiltIn(id) {
		if *body.Version != 1 {
			return noVersion(id, *body.Version)
		}
		return httpx.JSON(c, http.StatusOK, assistantOf(m.lead()))
	}
	ctx := c.Request().Context()
	a, err := m.DB.UseAssistantVersion(ctx, m.Owner(c), id, *body.Version)
	if errors.Is(err, store.ErrNotFound) {
		if _, err := m.DB.Assistant(ctx, m.Owner(c), id); err != nil {
			return noAssistant(err, id)
		}
		return noVersion(id, *body.Version)
	}
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, assistantOf(a))
}

func noVersion(id string, version int) error {
	return httpx.Errorf(http.StatusNotFound, "Assistant %s has no version %d", route.Cut(id, 80), version)
}
