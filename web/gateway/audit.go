package gateway

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/httpx"
)

// Rows of one page of the audit.
const (
	auditPage    = 100
	auditPageMax = 1000
)

// auditJSON is a page of the audit, newest first. Next is the value of before for the next page, nil for the last one.
type auditJSON struct {
	Rows []json.RawMessage `json:"rows"`
	Next *int64            `json:"next"`
}

// threadAudit handles GET /threads/:tid/audit.
func (g *Gateway) threadAudit(c echo.Context, t store.Thread) error {
	return g.auditPage(c, t.ID)
}

// audit handles GET /audit: all threads.
func (g *Gateway) audit(c echo.Context) error { return g.auditPage(c, "") }

func (g *Gateway) auditPage(c echo.Context, thread string) error {
	q := c.QueryParams()
	limit, err := httpx.Int(q, "limit", auditPage, 1, auditPageMax)
	if err != nil {
		return err
	}
	before, err := httpx.Int(q, "before", 0, 0, math.MaxInt)
	if err != nil {
		return err
	}
	rows, err := g.DB.Audit(c.Request().Context(),
		store.AuditQuery{Owner: g.Owner(c), Thread: thread, Kind: q.Get("kind"), Before: int64(before),
			Limit: limit + 1})
	if err != nil {
		return err
	}
	page := auditJSON{Rows: []json.RawMessage{}}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = &rows[limit-1].ID
	}
	for _, r := range rows {
		// A body is an object with a kind, so something follows the brace.
		row := append(strconv.AppendInt([]byte(`{"id":`), r.ID, 10), ',')
		page.Rows = append(page.Rows, append(row, r.Body[1:]...))
	}
	return httpx.JSON(c, http.StatusOK, page)
}
