package route

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/web/httpx"
)

// MaxPage is the most one page may have.
const MaxPage = 1000

// Page is the part of a list that a client asks for.
type Page struct{ Limit, Offset int }

// BodyPage returns the page requested by a body, with a default size.
func BodyPage(limit *int, offset, usual int) (Page, error) {
	size, err := pageSize(limit, usual)
	if err != nil {
		return Page{}, err
	}
	return Page{size, offset}, CheckOffset(offset)
}

// QueryPage returns the page requested by a query, with a default size.
func QueryPage(q url.Values, usual, most int) (p Page, err error) {
	if p.Limit, err = httpx.Int(q, "limit", usual, 1, most); err != nil {
		return p, err
	}
	p.Offset, err = httpx.Int(q, "offset", 0, 0, 1<<31-1)
	return p, err
}

// RunsPage returns the page of runs a query asks for, and the status they shall have; any when it is empty.
func RunsPage(q url.Values, usual, most int) (p Page, status string, err error) {
	if p, err = QueryPage(q, usual, most); err != nil {
		return p, "", err
	}
	status = q.Get("status")
	if status != "" && !slices.Contains([]string{runs.Pending, runs.Running, runs.Success, runs.Failed, runs.Timeout,
		runs.Interrupted}, status) {
		return p, "", httpx.Invalid("query", "status", "unknown run status %q", Cut(status, 40))
	}
	return p, status, nil
}

// pageSize returns the limit of a body, def when it is absent.
func pageSize(limit *int, def int) (int, error) {
	if limit == nil {
		return def, nil
	}
	if *limit < 1 || *limit > MaxPage {
		return 0, httpx.Invalid("body", "limit", "want a whole number from 1 to %d, got %d", MaxPage, *limit)
	}
	return *limit, nil
}

// CheckOffset refuses a page that would begin before the first.
func CheckOffset(offset int) error {
	if offset < 0 {
		return httpx.Invalid("body", "offset", "want a whole number from 0, got %d", offset)
	}
	return nil
}

// CutPage returns one page of a list and describes the others in headers.
func CutPage[T any](c echo.Context, p Page, list []T) []T {
	total, from := len(list), min(p.Offset, len(list))
	list = list[from:min(from+p.Limit, total)]
	Paged(c, total, from+len(list))
	return list
}

// Paged sets headers with the total number and the start of the next page.
func Paged(c echo.Context, total, next int) {
	h := c.Response().Header()
	h.Set("X-Pagination-Total", strconv.Itoa(total))
	if next < total {
		h.Set("X-Pagination-Next", strconv.Itoa(next))
	}
}

// Order returns the order requested by a body, among the given ones; the default is the newest first. Ties are ordered
// by id.
func Order[T any](things, by, direction string, ways map[string]func(a, b T) int,
	id func(T) string) (func(a, b T) int, error) {
	sign := -1
	switch direction {
	case "", "desc":
	case "asc":
		sign = 1
	default:
		return nil, httpx.Invalid("body", "sort_order", "want asc or desc, got %q", Cut(direction, 40))
	}
	way := ways[cmp.Or(by, "created_at")]
	if way == nil {
		return nil, httpx.Invalid("body", "sort_by", "%s cannot be sorted by %q", things, Cut(by, 40))
	}
	return func(a, b T) int { return sign * cmp.Or(way(a, b), strings.Compare(id(a), id(b))) }, nil
}
