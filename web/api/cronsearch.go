package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

type cronQuery struct {
	Assistant string          `json:"assistant_id"`
	Thread    string          `json:"thread_id"`
	Enabled   *bool           `json:"enabled"`
	Metadata  json.RawMessage `json:"metadata"`
	Limit     *int            `json:"limit"`
	Offset    int             `json:"offset"`
	SortBy    string          `json:"sort_by"`
	SortOrder string          `json:"sort_order"`
	Select    []string        `json:"select"`
}

// crons returns the matches of a query in its order, without payloads.
func (m mount) crons(c echo.Context, q cronQuery) ([]store.Cron, error) {
	want, err := wanted("metadata", q.Metadata)
	if err != nil {
		return nil, err
	}
	if wire.BuiltIn(q.Assistant) && q.Assistant != "" {
		q.Assistant = wire.LeadAssistant()
	}
	less, err := cronOrder(q)
	if err != nil {
		return nil, err
	}
	list := []store.Cron{}
	err = m.DB.EachCron(c.Request().Context(), m.Owner(c), func(one store.Cron) bool {
		if one.Kind == store.CronRepeats && (q.Assistant == "" || q.Assistant == one.Assistant) &&
			(q.Thread == "" || q.Thread == one.Thread) &&
			(q.Enabled == nil || *q.Enabled == one.Enabled) && holds(one.Metadata, want) {
			list = append(list, one)
		}
		return true
	})
	slices.SortStableFunc(list, less)
	return list, err
}

func cronOrder(q cronQuery) (func(a, b store.Cron) int, error) {
	return route.Order("crons", q.SortBy, q.SortOrder, map[string]func(a, b store.Cron) int{
		"created_at":    func(a, b store.Cron) int { return a.CreatedAt.Compare(b.CreatedAt) },
		"updated_at":    func(a, b store.Cron) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
		"next_run_date": func(a, b store.Cron) int { return a.NextAt.Compare(b.NextAt) },
		"end_time":      func(a, b store.Cron) int { return a.EndAt.Compare(b.EndAt) },
		"cron_id":       func(store.Cron, store.Cron) int { return 0 },
		"assistant_id":  func(a, b store.Cron) int { return strings.Compare(a.Assistant, b.Assistant) },
		"thread_id":     func(a, b store.Cron) int { return strings.Compare(a.Thread, b.Thread) },
	}, func(c store.Cron) string { return c.ID })
}

func (m mount) searchCrons(c echo.Context) error {
	var q cronQuery
	if err := m.Bind(c, &q); err != nil {
		return err
	}
	part, err := route.BodyPage(q.Limit, q.Offset, cronsPage)
	if err != nil {
		return err
	}
	list, err := m.crons(c, q)
	if err != nil {
		return err
	}
	list = route.CutPage(c, part, list)
	return array(c, len(list), func(i int) (any, error) {
		whole, err := m.DB.Cron(c.Request().Context(), m.Owner(c), list[i].ID)
		if errors.Is(err, store.ErrNotFound) { // deleted meanwhile
			whole, err = list[i], nil
		}
		if err != nil {
			return nil, err
		}
		out, err := cronOf(whole)
		if err != nil {
			return nil, err
		}
		return selected(out, q.Select)
	})
}

func (m mount) countCrons(c echo.Context) error {
	var q cronQuery
	if err := m.Bind(c, &q); err != nil {
		return err
	}
	list, err := m.crons(c, q)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, len(list))
}
