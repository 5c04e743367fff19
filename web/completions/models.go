package completions

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/lead"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
)

// modelJSON is an agent, or a model that the built-in agent may answer with.
type modelJSON struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
	Name    string `json:"name,omitempty"`
	About   string `json:"description,omitempty"`

	assistant string // assistant that answers
	chosen    string // model it answers with, "" as configured
}

// available lists the names that a request may give: the built-in agent, the asker's own, and models where the owner allows it.
func (s *Server) available(ctx context.Context) ([]modelJSON, error) {
	var agents []struct {
		ID          string    `json:"assistant_id"`
		Graph       string    `json:"graph_id"`
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Created     time.Time `json:"created_at"`
		Metadata    struct {
			By string `json:"created_by"`
		} `json:"metadata"`
	}
	if err := s.API.Call(ctx, http.MethodPost, mount+"/assistants/search", map[string]any{"limit": route.MaxPage}, &agents); err != nil {
		return nil, err
	}
	var out []modelJSON
	for _, a := range agents {
		m := modelJSON{ID: a.ID, Object: "model", Created: a.Created.Unix(), Owner: "fawn", Name: a.Name, About: a.Description, assistant: a.ID}
		if a.Metadata.By == "system" {
			m.ID = a.Graph
		}
		out = append(out, m)
	}
	snap := s.Config()
	if snap.File.OpenAIAPI.Models {
		may, err := s.Access.Of(ctx, principal.Owner(ctx))
		if err != nil {
			return nil, err
		}
		for _, one := range lead.Permitted(snap.UsableModels(), may) {
			if !slices.ContainsFunc(out, func(m modelJSON) bool { return m.ID == one.Name }) {
				out = append(out, modelJSON{ID: one.Name, Object: "model", Created: s.began.Unix(), Owner: "fawn", Name: one.DisplayName,
					About: one.Description, assistant: "lead_agent", chosen: one.Name})
			}
		}
	}
	return out, nil
}

// resolve finds the agent or model that a request names.
func (s *Server) resolve(ctx context.Context, id string) (modelJSON, error) {
	if !s.Config().File.OpenAIAPI.Enabled {
		return modelJSON{}, &failure{Message: "The OpenAI-compatible API is switched off (openai_api.enabled in the config)",
			Type: "invalid_request_error", status: http.StatusNotFound}
	}
	if id == "" {
		return modelJSON{}, invalid("model", "model is required: the name of an agent, such as lead_agent")
	}
	list, err := s.available(ctx)
	if err != nil {
		return modelJSON{}, err
	}
	at := slices.IndexFunc(list, func(m modelJSON) bool { return m.ID == id || m.assistant == id && m.chosen == "" })
	if at < 0 {
		code, param := "model_not_found", "model"
		return modelJSON{}, &failure{Message: "The model " + route.Cut(id, 80) + " does not exist; GET /v1/models lists what there is",
			Type: "invalid_request_error", Param: &param, Code: &code, status: http.StatusNotFound}
	}
	list[at].ID = id
	return list[at], nil
}

// modelList is a list in OpenAI's form.
type modelList struct {
	Data   []modelJSON `json:"data"`
	Object string      `json:"object"` // list
}

func (s *Server) models(c echo.Context) error {
	list := []modelJSON{}
	if s.Config().File.OpenAIAPI.Enabled {
		var err error
		if list, err = s.available(c.Request().Context()); err != nil {
			return err
		}
	}
	return httpx.JSON(c, http.StatusOK, modelList{list, "list"})
}

func (s *Server) model(c echo.Context) error {
	m, err := s.resolve(c.Request().Context(), route.Param(c, "*"))
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, m)
}
