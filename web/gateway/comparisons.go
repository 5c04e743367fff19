package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"

	o "fawn/web/openapi"
)

// comparisonRoutes returns the routes of questions that several models answer.
func (g *Gateway) comparisonRoutes() []route.Route {
	return []route.Route{
		route.On("POST", "/comparisons", user, "compareModels", g.compare),
		route.On("GET", "/comparisons/records", user, "listModelRecords", g.modelRecords),
		route.On("GET", "/comparisons/{comparison_id}", user, "getComparison", g.comparison),
		route.On("POST", "/comparisons/{comparison_id}/choose", user, "chooseAnswer", g.choose),
	}
}

type comparisonJSON struct {
	ID     string     `json:"id"`
	Sides  []sideJSON `json:"sides"`
	Chosen *string    `json:"chosen"` // thread_id of the answer that was preferred
}

type sideJSON struct {
	Thread string `json:"thread_id"`
	Model  string `json:"model"`
}

func comparisonOf(c store.Comparison) comparisonJSON {
	out := comparisonJSON{ID: c.ID, Sides: []sideJSON{}, Chosen: route.TextOrNull(c.Chosen)}
	for _, s := range c.Sides {
		out.Sides = append(out.Sides, sideJSON{s.Thread, s.Model})
	}
	return out
}

// titleBytes limits what the title of a branch takes of the message.
const titleBytes = 80

// compareBody is the body of compare.
type compareBody struct {
	Thread  string   `json:"thread_id"`
	Message string   `json:"message"`
	Models  []string `json:"models"`
}

// compare handles POST /comparisons: the models answer the message, each in its own thread.
func (g *Gateway) compare(c echo.Context) error {
	var b compareBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Message == "" {
		return httpx.Invalid("body", "message", "is required")
	}
	ctx, owner := c.Request().Context(), g.Owner(c)
	title := ""
	if b.Thread == "" {
		b.Thread = uuid.Must(uuid.NewV7()).String()
	} else {
		t, err := g.ThreadByID(c, b.Thread)
		if err != nil {
			return err
		}
		title = t.Title
	}
	for _, name := range b.Models {
		if m, ok := g.Config().Model(name); !ok || m.Disabled != "" {
			return httpx.Invalid("body", "models", "there is no usable model %q", route.Cut(name, 80))
		}
	}
	input, err := agent.Encode(map[string]any{"messages": []any{map[string]any{"type": "human",
		"id": uuid.Must(uuid.NewV7()).String(), "content": b.Message}}})
	if err != nil {
		return err
	}
	title = cmp.Or(title, strings.Join(strings.Fields(route.Cut(b.Message, titleBytes)), " "))
	out, err := g.Copier.Compare(ctx, g.Runs, owner, b.Thread, b.Models, input, func(model string) string {
		if title == "" {
			return ""
		}
		return title + " (" + model + ")"
	}, func(ctx context.Context, thread, model string, input json.RawMessage) error {
		req := runs.Request{Thread: thread, Owner: owner, Origin: "api", Multitask: "reject", OnDisconnect: "continue", Input: input}
		var err error
		if req.Context, err = agent.Encode(map[string]any{"model_name": model}); err != nil {
			return err
		}
		_, err = g.Runs.Start(ctx, req)
		return err
	})
	if errors.Is(err, threads.ErrTemporary) {
		return httpx.Errorf(http.StatusConflict, "Models can't be compared in a temporary chat; keep it first")
	}
	if errors.Is(err, threads.ErrSides) {
		return httpx.Invalid("body", "models", "%s", err.Error())
	}
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusCreated, comparisonOf(out))
}

func (g *Gateway) comparison(c echo.Context) error {
	one, err := g.DB.Comparison(c.Request().Context(), g.Owner(c), route.Param(c, "comparison"))
	if err != nil {
		return notThere(err, "Comparison not found")
	}
	return httpx.JSON(c, http.StatusOK, comparisonOf(one))
}

// choiceBody is the body of choose.
type choiceBody struct {
	Thread string `json:"thread_id"`
}

// choose handles POST /comparisons/:comparison/choose. All threads stay; delete unneeded ones.
func (g *Gateway) choose(c echo.Context) error {
	var b choiceBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if err := g.DB.ChooseSide(c.Request().Context(), g.Owner(c), route.Param(c, "comparison"), b.Thread); err != nil {
		return notThere(err, "The comparison, or the thread in it, was not found")
	}
	return g.comparison(c)
}

// modelRecord says how often a model's answer was preferred.
type modelRecord struct {
	Model string `json:"model"`
	Won   int    `json:"won"`
	Seen  int    `json:"compared"`
}

type modelRecordList struct {
	Models []modelRecord `json:"models"`
}

// modelRecords handles GET /comparisons/records: how often everyone preferred the models that the caller may use.
func (g *Gateway) modelRecords(c echo.Context) error {
	ctx := c.Request().Context()
	list, err := g.DB.ModelRecords(ctx)
	if err != nil {
		return err
	}
	may, err := g.Access.Of(ctx, g.Owner(c))
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r store.ModelRecord) bool { return !may.May(access.Model, r.Model) })
	out := make([]modelRecord, len(list))
	for i, r := range list {
		out[i] = modelRecord{r.Model, r.Won, r.Seen}
	}
	return httpx.JSON(c, http.StatusOK, modelRecordList{out})
}

// describeComparisons describes the routes.
func describeComparisons() []o.Op {
	const tag = "Models"
	one := o.Ref("Comparison")
	return []o.Op{
		{ID: "compareModels", Tag: tag, Text: "Have two or three models answer the same message", Need: true,
			More: "Each model answers in a branch of the thread, or in a new thread without thread_id; join its run to read the answer. " +
				"The thread itself stays as it is.",
			Body: o.Reads[compareBody](o.Req("message", o.String()), o.Req("models", o.List(o.String()))),
			Out:  []o.Answer{{Status: 201, Text: "The comparison, under way", Schema: one}}, Fail: []int{403, 404, 409}},
		{ID: "listModelRecords", Tag: tag, Text: "Tell how often each model's answer was preferred",
			Out: route.Answered("The models, the best first", o.Of[modelRecordList]())},
		{ID: "getComparison", Tag: tag, Text: "Get a comparison", Out: route.Answered("The comparison", one)},
		{ID: "chooseAnswer", Tag: tag, Text: "Say which answer of a comparison is better", More: "The threads of the others stay.",
			Need: true, Body: o.Reads[choiceBody](o.Req("thread_id", o.String())), Out: route.Answered("The comparison", one)},
	}
}

// comparisonSchemas returns the schemas of describeComparisons.
func comparisonSchemas() map[string]o.Schema {
	return map[string]o.Schema{"Comparison": o.Of[comparisonJSON]()}
}
