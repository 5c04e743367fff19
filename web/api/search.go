package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

// threadsPage is the default number of threads per search.
const threadsPage = 100

type threadQuery struct {
	Metadata  json.RawMessage   `json:"metadata"`
	Values    json.RawMessage   `json:"values"`
	IDs       []string          `json:"ids"`
	Project   string            `json:"project_id"`
	Status    string            `json:"status"`
	Limit     *int              `json:"limit"`
	Offset    int               `json:"offset"`
	SortBy    string            `json:"sort_by"`
	SortOrder string            `json:"sort_order"`
	Select    []string          `json:"select"`
	Extract   map[string]string `json:"extract"`
}

func (m mount) searchThreads(c echo.Context) error {
	var q threadQuery
	if err := m.Bind(c, &q); err != nil {
		return err
	}
	return m.answerThreads(c, q)
}

// listThreads searches with a filter in the query.
func (m mount) listThreads(c echo.Context) error {
	values := c.QueryParams()
	part, err := route.QueryPage(values, threadsPage, route.MaxPage)
	if err != nil {
		return err
	}
	q := threadQuery{Limit: &part.Limit, Offset: part.Offset, Status: values.Get("status"), Project: values.Get("project_id"),
		SortBy: values.Get("sort_by"), SortOrder: values.Get("sort_order"),
		IDs: httpx.List(values, "ids"), Select: httpx.List(values, "select"), Metadata: queryObject(values, "metadata")}
	return m.answerThreads(c, q)
}

func queryObject(q url.Values, name string) json.RawMessage {
	if v := q.Get(name); v != "" {
		return json.RawMessage(v)
	}
	return nil
}

func (m mount) answerThreads(c echo.Context, q threadQuery) error {
	if q.Limit != nil && (*q.Limit < 1 || *q.Limit > route.MaxPage) {
		return httpx.Invalid("body", "limit", "want a whole number from 1 to %d, got %d", route.MaxPage, *q.Limit)
	}
	extract, err := parseExtracts(q.Extract)
	if err != nil {
		return err
	}
	page, total, err := m.findThreads(c.Request().Context(), m.Owner(c), q)
	if err != nil {
		return err
	}
	route.Paged(c, total, q.Offset+len(page))
	return array(c, len(page), func(i int) (any, error) {
		out := threadRow(page[i])
		if extract.whole() || !m.native && len(q.Select) == 0 && len(extract) == 0 || slices.Contains(q.Select, "values") ||
			slices.Contains(q.Select, "interrupts") || slices.Contains(q.Select, "error") {
			if out, err = m.wholeThread(c.Request().Context(), page[i]); err != nil {
				return nil, err
			}
		}
		if len(extract) == 0 {
			return selected(out, q.Select)
		}
		if out.Extracted, err = extract.from(out); err != nil {
			return nil, err
		}
		if !slices.Contains(q.Select, "values") { // they were only needed for the search
			out.Values = threadRow(page[i]).Values
		}
		if len(q.Select) == 0 {
			return out, nil
		}
		return selected(out, append(q.Select[:len(q.Select):len(q.Select)], "extracted"))
	})
}

// pruneBody is the body of pruneThreads.
type pruneBody struct {
	Threads  []string `json:"thread_ids"`
	Strategy string   `json:"strategy"`
}

type prunedJSON struct {
	Count int `json:"pruned_count"`
}

// pruneThreads deletes threads, or the history that their current state doesn't need.
func (m mount) pruneThreads(c echo.Context) error {
	var body pruneBody
	if err := m.Bind(c, &body); err != nil {
		return err
	}
	if body.Strategy == "" {
		body.Strategy = string(threads.PruneDelete)
	}
	if s := threads.Strategy(body.Strategy); s != threads.PruneDelete && s != threads.KeepLatest {
		return httpx.Invalid("body", "strategy", "want delete or keep_latest, got %q", route.Cut(body.Strategy, 40))
	}
	if body.Threads == nil || len(body.Threads) > route.MaxPage {
		return httpx.Invalid("body", "thread_ids", "want a list of at most %d ids", route.MaxPage)
	}
	mine := []string{}
	for _, id := range body.Threads {
		_, err := m.DB.ThreadOf(c.Request().Context(), m.Owner(c), id)
		switch {
		case err == nil:
			mine = append(mine, id)
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	n, err := threads.Prune(c.Request().Context(), m.DB, m.Runs, mine, threads.Strategy(body.Strategy))
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, prunedJSON{n})
}

func (m mount) countThreads(c echo.Context) error {
	var q threadQuery
	if err := m.Bind(c, &q); err != nil {
		return err
	}
	one := 1
	q.Limit, q.Offset = &one, 0
	_, total, err := m.findThreads(c.Request().Context(), m.Owner(c), q)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, total)
}

// findThreads returns a page of threads and their total number.
func (a *API) findThreads(ctx context.Context, owner string, q threadQuery) ([]store.Thread, int, error) {
	switch q.Status {
	case "", runs.Idle, runs.Busy, runs.ThreadInterrupted, runs.ThreadError:
	default:
		return nil, 0, httpx.Invalid("body", "status", "want idle, busy, interrupted or error, got %q",
			route.Cut(q.Status, 40))
	}
	switch q.SortBy {
	case "", "thread_id", "status", "created_at", "updated_at", "state_updated_at":
	default:
		return nil, 0, httpx.Invalid("body", "sort_by", "threads cannot be sorted by %q", route.Cut(q.SortBy, 40))
	}
	switch q.SortOrder {
	case "", "asc", "desc":
	default:
		return nil, 0, httpx.Invalid("body", "sort_order", "want asc or desc, got %q", route.Cut(q.SortOrder, 40))
	}
	if _, err := a.Metadata(q.Metadata); err != nil {
		return nil, 0, err
	}
	if err := route.CheckOffset(q.Offset); err != nil {
		return nil, 0, err
	}
	limit, offset := threadsPage, q.Offset
	if q.Limit != nil {
		limit = *q.Limit
	}
	sq := store.ThreadQuery{Owner: owner, IDs: q.IDs, Project: q.Project, Status: q.Status, Metadata: route.Given(q.Metadata), Limit: limit,
		Offset: offset, SortBy: q.SortBy, SortOrder: q.SortOrder}
	want, err := wanted("values", q.Values)
	if err != nil {
		return nil, 0, err
	}
	if len(want) == 0 {
		return a.DB.Threads(ctx, sq)
	}
	// Values are in separate rows: every candidate must be read.
	sq.Limit, sq.Offset = 0, 0
	all, _, err := a.DB.Threads(ctx, sq)
	if err != nil {
		return nil, 0, err
	}
	page, total := []store.Thread{}, 0
	for _, t := range all {
		snap, err := a.Checkpoint(ctx, t, "")
		if err != nil {
			return nil, 0, err
		}
		var have any
		if err := json.Unmarshal(runs.Values(snap, true), &have); err != nil {
			return nil, 0, err
		}
		if !contains(have, want) {
			continue
		}
		if total >= offset && len(page) < limit {
			page = append(page, t)
		}
		total++
	}
	return page, total, nil
}

// arrayBuffer limits the buffered part of a long response.
const arrayBuffer = 64 << 10

// array answers with a list whose elements are made one at a time: a page of full states
// can be far larger than what should be held at once.
func array(c echo.Context, n int, element func(i int) (any, error)) error {
	return arrayOf(c, n, func(dst []byte, i int) ([]byte, error) {
		v, err := element(i)
		if err != nil {
			return nil, err
		}
		one, err := agent.Encode(v)
		return append(dst, one...), err
	})
}

// arrayOf is array with elements appended to the response.
func arrayOf(c echo.Context, n int, element func(dst []byte, i int) ([]byte, error)) error {
	b := []byte{'['}
	res := c.Response()
	begun := false
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = element(b, i); err != nil {
			return err
		}
		if len(b) > arrayBuffer {
			if !begun {
				begun = true
				res.Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
			}
			if _, err := res.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	if b = append(b, ']'); !begun {
		return httpx.Tagged(c, b)
	}
	_, err := res.Write(b)
	return err
}

// wanted decodes an object that things must contain, nil if it asks for nothing.
func wanted(field string, raw json.RawMessage) (map[string]any, error) {
	if raw = route.Given(raw); raw == nil {
		return nil, nil
	}
	var want map[string]any
	if json.Unmarshal(raw, &want) != nil {
		return nil, httpx.Invalid("body", field, "want an object")
	}
	return want, nil
}

// holds reports whether a JSON object contains everything want says.
func holds(raw json.RawMessage, want map[string]any) bool {
	if len(want) == 0 {
		return true
	}
	var have map[string]any
	return json.Unmarshal(route.Object(raw), &have) == nil && contains(have, want)
}
