package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/profile"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

type assistantJSON struct {
	ID          string          `json:"assistant_id"`
	Graph       string          `json:"graph_id"`
	Name        string          `json:"name"`
	Version     int             `json:"version"`
	Config      json.RawMessage `json:"config"`
	Context     json.RawMessage `json:"context"`
	Metadata    json.RawMessage `json:"metadata"`
	Description *string         `json:"description"`
	CreatedAt   string          `json:"created_at"`
	UpdatedAt   string          `json:"updated_at"`
}

func assistantOf(a store.Assistant) assistantJSON {
	return assistantJSON{ID: a.ID, Graph: a.Graph, Name: a.Name, Version: a.Version, Config: route.Object(a.Config),
		Context:  route.Object(a.Context),
		Metadata: route.Object(a.Metadata), Description: a.Description, CreatedAt: wire.Stamp(a.CreatedAt),
		UpdatedAt: wire.Stamp(a.UpdatedAt)}
}

// lead returns the assistant that is always there.
func (a *API) lead() store.Assistant {
	return store.Assistant{ID: wire.LeadAssistant(), Graph: wire.GraphID, Name: wire.GraphID, Version: 1,
		CreatedAt: a.started, UpdatedAt: a.started,
		Metadata: json.RawMessage(`{"created_by":"system"}`)}
}

// AssistantByID resolves an assistant id, a graph id or nothing.
func (a *API) AssistantByID(c echo.Context, id string) (store.Assistant, error) {
	if wire.BuiltIn(id) {
		return a.lead(), nil
	}
	found, err := a.DB.Assistant(c.Request().Context(), a.Owner(c), id)
	if errors.Is(err, store.ErrNotFound) && a.Agents != nil {
		name, bad := profile.Spelled(id)
		if custom, lost := a.Agents.Get(a.Owner(c), name); bad == nil && !errors.Is(lost, profile.ErrNotFound) {
			return a.customAssistant(custom), nil // with invalid files, its run reports the error
		}
	}
	return found, noAssistant(err, id)
}

// customAssistant returns a custom agent as an assistant: running it is running the lead agent under its name.
func (a *API) customAssistant(custom profile.Agent) store.Assistant {
	changed := custom.Changed
	if changed.IsZero() {
		changed = a.started
	}
	return store.Assistant{ID: custom.Name, Graph: wire.GraphID, Name: custom.Name,
		Description: route.TextOrNull(custom.Description), Version: 1,
		CreatedAt: changed, UpdatedAt: changed, Metadata: json.RawMessage(`{"created_by":"user"}`)}
}

// noAssistant converts the error for a missing assistant and passes every other one on.
func noAssistant(err error, id string) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return route.NoAssistant(id)
}

type assistantQuery struct {
	Graph     string          `json:"graph_id"`
	Name      string          `json:"name"`
	Metadata  json.RawMessage `json:"metadata"`
	Limit     *int            `json:"limit"`
	Offset    int             `json:"offset"`
	SortBy    string          `json:"sort_by"`
	SortOrder string          `json:"sort_order"`
	Select    []string        `json:"select"`
}

// assistantsPage is the default page size of a search for assistants.
const assistantsPage = 10

// matches returns the assistants matching a query, in its order, before paging. Stored ones lack config and context.
func (m mount) matches(c echo.Context, q assistantQuery) ([]store.Assistant, error) {
	want, err := wanted("metadata", q.Metadata)
	if err != nil {
		return nil, err
	}
	less, err := assistantOrder(q)
	if err != nil {
		return nil, err
	}
	list := []store.Assistant{}
	add := func(a store.Assistant) bool {
		if (q.Graph == "" || q.Graph == a.Graph) &&
			strings.Contains(strings.ToLower(a.Name), strings.ToLower(q.Name)) && holds(a.Metadata, want) {
			list = append(list, a)
		}
		return true
	}
	add(m.lead())
	stored := map[string]bool{}
	if err := m.DB.EachAssistant(c.Request().Context(), m.Owner(c),
		func(a store.Assistant) bool { stored[a.ID] = true; return add(a) }); err != nil {
		return nil, err
	}
	if m.Agents != nil {
		custom, err := m.Agents.List(m.Owner(c))
		if err != nil {
			return nil, err
		}
		may, err := m.Rights(c.Request().Context())
		if err != nil {
			return nil, err
		}
		for _, e := range custom {
			if !stored[e.Name] && may.May(access.Agent, e.Name) {
				add(m.customAssistant(e.Agent))
			}
		}
	}
	slices.SortStableFunc(list, less)
	return list, nil
}

func assistantOrder(q assistantQuery) (func(a, b store.Assistant) int, error) {
	return route.Order("assistants", q.SortBy, q.SortOrder, map[string]func(a, b store.Assistant) int{
		"created_at":   func(a, b store.Assistant) int { return a.CreatedAt.Compare(b.CreatedAt) },
		"updated_at":   func(a, b store.Assistant) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
		"assistant_id": func(store.Assistant, store.Assistant) int { return 0 },
		"name":         func(a, b store.Assistant) int { return strings.Compare(a.Name, b.Name) },
		"graph_id":     func(a, b store.Assistant) int { return strings.Compare(a.Graph, b.Graph) },
	}, func(a store.Assistant) string { return a.ID })
}

func (m mount) searchAssistants(c echo.Context) error {
	var q assistantQuery
	if err := m.Bind(c, &q); err != nil {
		return err
	}
	part, err := route.BodyPage(q.Limit, q.Offset, assistantsPage)
	if err != nil {
		return err
	}
	list, err := m.matches(c, q)
	if err != nil {
		return err
	}
	list = route.CutPage(c, part, list)
	return array(c, len(list), func(i int) (any, error) {
		one := list[i]
		if !wire.BuiltIn(one.ID) {
			whole, err := m.DB.Assistant(c.Request().Context(), m.Owner(c), one.ID)
			if err == nil { // otherwise it was deleted meanwhile, or is a custom agent
				one = whole
			} else if !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
		}
		return selected(assistantOf(one), q.Select)
	})
}

func (m mount) countAssistants(c echo.Context) error {
	var q assistantQuery
	if err := m.Bind(c, &q); err != nil {
		return err
	}
	list, err := m.matches(c, q)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, len(list))
}

func (m mount) assistant(c echo.Context) error {
	a, err := m.AssistantByID(c, route.Param(c, "aid"))
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, assistantOf(a))
}

// selected keeps the named members of v, all if none is named.
func selected(v any, names []string) (any, error) {
	if len(names) == 0 {
		return v, nil
	}
	b, err := agent.Encode(v)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(names))
	for _, n := range names {
		if raw, ok := all[n]; ok {
			out[n] = raw
		}
	}
	return out, nil
}

// contains reports whether have contains want: objects member by member, everything else by equality.
func contains(have, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		a, err1 := json.Marshal(have)
		b, err2 := json.Marshal(want)
		return err1 == nil && err2 == nil && string(a) == string(b)
	}
	h, ok := have.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range w {
		if inner, ok := h[k]; !ok || !contains(inner, v) {
			return false
		}
	}
	return true
}

// stamp is the format of times in responses.

func describeAssistants() []o.Op {
	const tag = "Assistants"
	object := o.Map(nil)
	page := []o.Prop{o.Is("limit", o.Range(1, route.MaxPage)), o.Is("offset", o.Int(0)), o.Is("metadata", object)}
	parts := []o.Prop{o.Is("config", object), o.Is("context", object), o.Is("metadata", object)}
	return []o.Op{
		{ID: "searchAssistants", Tag: tag, Text: "Find assistants",
			Body: o.Reads[assistantQuery](append(page, o.Is("sort_order", sortOrder().Schema),
				o.Is("sort_by", o.Enum("assistant_id", "created_at", "updated_at", "name", "graph_id")))...), Out: route.Answered("A page of assistants", o.List(o.Ref("AssistantPart")))},
		{ID: "countAssistants", Tag: tag, Text: "Count assistants", Body: o.Reads[assistantQuery](append(o.Without("limit", "offset", "sort_by", "sort_order", "select"),
			o.Is("metadata", object))...),
			Out: route.Answered("The count", o.Int(0))},
		{ID: "createAssistant", Example: `{"graph_id": "lead_agent", "name": "Careful", "config": {"configurable": {"thinking_enabled": true}}}`, Tag: tag, Text: "Create an assistant: named defaults for runs",
			Body: o.Reads[assistantBody](append(parts, o.Is("assistant_id", o.ID()), o.Is("if_exists", o.Enum("raise", "do_nothing")))...), Out: route.Answered("The assistant", o.Ref("Assistant")), Fail: []int{404, 409}},
		{ID: "patchAssistant", Tag: tag, Text: "Change an assistant, creating a new version", Body: o.Reads[assistantBody](append(parts, o.Without("assistant_id", "if_exists")...)...),
			Out: route.Answered("The assistant", o.Ref("Assistant")), Fail: []int{409}},
		{ID: "deleteAssistant", Tag: tag, Text: "Delete an assistant, keeping its runs",
			Query: []o.Param{{Name: "delete_threads", Schema: o.Bool(), Text: "Also delete the threads it created"}},
			Out:   route.Emptied("Deleted"), Fail: []int{409}},
		{ID: "searchAssistantVersions", Tag: tag, Text: "List the versions of an assistant, newest first",
			Body: o.Reads[versionQuery](page...),
			Out:  route.Answered("The versions", o.List(o.Ref("Assistant")))},
		{ID: "useAssistantVersion", Tag: tag, Text: "Set the version that runs use", Need: true,
			Body: o.Reads[versionChoice](o.Req("version", o.Whole())),
			Out:  route.Answered("The assistant", o.Ref("Assistant"))},
		{ID: "getAssistant", Tag: tag, Text: "Get an assistant", Out: route.Answered("The assistant", o.Ref("Assistant"))},
		{ID: "getAssistantGraph", Tag: tag, Text: "Get the graph: nodes and edges",
			Out: route.Answered("The graph",
				o.Of[graphJSON]())},
		{ID: "getAssistantSchemas", Tag: tag, Text: "Get the JSON Schemas of input, state and options",
			Out: route.Answered("The schemas",
				o.Of[graphSchemas]())},
		{ID: "listSubgraphs", Tag: tag, Text: "List the subgraphs of an assistant",
			Out: route.Answered("The subgraphs by namespace", o.Map(nil))},
		{ID: "getSubgraph", Tag: tag, Text: "List the subgraphs in a namespace",
			Out: route.Answered("The subgraphs by namespace", o.Map(nil))},
	}
}
