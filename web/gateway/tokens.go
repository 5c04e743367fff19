package gateway

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/httpx"
)

type contextUsage struct {
	Tokens     int     `json:"token_count"`
	Most       int     `json:"max_context_tokens"`
	Percentage float64 `json:"percentage"`
}

type tokenUsage struct {
	Thread   string                 `json:"thread_id"`
	Total    int64                  `json:"total_tokens"`
	Input    int64                  `json:"total_input_tokens"`
	Output   int64                  `json:"total_output_tokens"`
	Runs     int                    `json:"total_runs"`
	ByModel  map[string]*modelSpent `json:"by_model"`
	ByCaller map[string]int64       `json:"by_caller"`
	Cost     *float64               `json:"total_cost,omitempty"`
	Currency *string                `json:"currency,omitempty"`
	Context  *contextUsage          `json:"context_usage,omitempty"`
}

// threadTokens adds up a thread's tokens: those of its runs' answers, and of side calls.
func (g *Gateway) threadTokens(c echo.Context, t store.Thread) error {
	active, err := httpx.Bool(c.QueryParams(), "include_active", false)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	list, err := g.DB.Runs(ctx, t.ID, "", 0, 0)
	if err != nil {
		return err
	}
	spent, err := g.DB.SpentIn(ctx, t.ID, active)
	if err != nil {
		return err
	}
	out := tokenUsage{Thread: t.ID, ByModel: map[string]*modelSpent{},
		ByCaller: map[string]int64{"lead_agent": 0, "subagent": 0, "middleware": 0}}
	for _, r := range list {
		if active || runs.Done(r.Status) {
			out.Runs++
		}
	}
	var all money
	for _, s := range spent {
		out.Total, out.Input, out.Output = out.Total+s.Total, out.Input+s.Input, out.Output+s.Output
		out.ByCaller[s.Caller] += s.Total
		if out.ByModel[s.Model] == nil {
			out.ByModel[s.Model] = &modelSpent{}
		}
		out.ByModel[s.Model].add(s)
		all.add(s)
	}
	out.Cost, out.Currency = all.sum()
	snap, err := g.Checkpoint(ctx, t, "")
	if err != nil {
		return err
	}
	out.Context, err = g.contextUsage(snap)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// contextUsage returns how full the model's window was in the last answer; nil when that is not known.
func (g *Gateway) contextUsage(snap store.Snapshot) (*contextUsage, error) {
	for _, row := range slices.Backward(snap.Messages) {
		var msg struct {
			Type  string      `json:"type"`
			Usage agent.Usage `json:"usage_metadata"`
			Meta  struct {
				Model string `json:"model_name"`
			} `json:"response_metadata"`
		}
		if err := json.Unmarshal(row.Body, &msg); err != nil {
			return nil, err
		}
		if msg.Type != agent.TypeAI || msg.Usage.Total == 0 {
			continue
		}
		windowOf := g.Window
		if windowOf == nil {
			windowOf = g.Config().WindowOf
		}
		if window := windowOf(msg.Usage.Model, msg.Meta.Model); window > 0 {
			return &contextUsage{Tokens: msg.Usage.Total, Most: window,
				Percentage: float64(msg.Usage.Total*1000/window) / 10}, nil
		}
		return nil, nil
	}
	return nil, nil
}
