package api

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// What names in the store may be.
const (
	maxLabels = 32
	maxLabel  = 256 // bytes per label
	maxKey    = 512 // bytes
	itemsPage = 10
	namesPage = 100
)

type itemJSON struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	CreatedAt string          `json:"created_at"`
	UpdatedAt string          `json:"updated_at"`
	Score     *float64        `json:"score,omitempty"` // score of a search with a query
}

func itemOf(it store.Item) itemJSON {
	return itemJSON{Namespace: it.Namespace, Key: it.Key, Value: it.Value, CreatedAt: wire.Stamp(it.CreatedAt),
		UpdatedAt: wire.Stamp(it.UpdatedAt)}
}

// checkLabels refuses labels that no namespace can have. A search may use "*".
func checkLabels(where, field string, labels []string) error {
	if len(labels) > maxLabels {
		return httpx.Invalid(where, field, "want at most %d labels, got %d", maxLabels, len(labels))
	}
	for _, l := range labels {
		switch {
		case l == "" || strings.Contains(l, "."):
			return httpx.Invalid(where, field, "Namespace labels cannot be empty or contain periods. Received: %s",
				route.Cut(strings.Join(labels, ", "), 200))
		case len(l) > maxLabel:
			return httpx.Invalid(where, field, "a label has at most %d bytes, got %d", maxLabel, len(l))
		}
	}
	return nil
}

// checkItem refuses a place where no item can be.
func checkItem(where string, namespace []string, key string) error {
	switch {
	case len(namespace) == 0:
		return httpx.Invalid(where, "namespace", "is required: a list of labels")
	case key == "":
		return httpx.Invalid(where, "key", "is required")
	case len(key) > maxKey:
		return httpx.Invalid(where, "key", "want at most %d bytes, got %d", maxKey, len(key))
	}
	return checkLabels(where, "namespace", namespace)
}

// itemBody is the body of putItem.
type itemBody struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	TTL       *float64        `json:"ttl"` // minutes
}

func (m mount) putItem(c echo.Context) error {
	var b itemBody
	if err := m.Bind(c, &b); err != nil {
		return err
	}
	if err := checkItem("body", b.Namespace, b.Key); err != nil {
		return err
	}
	var value map[string]json.RawMessage
	if route.Given(b.Value) == nil || json.Unmarshal(b.Value, &value) != nil {
		return httpx.Invalid("body", "value", "want an object (a dictionary)")
	}
	it := store.Item{Namespace: b.Namespace, Key: b.Key, Value: b.Value}
	if b.TTL != nil {
		var err error
		if it.TTL, err = minutes("ttl", *b.TTL); err != nil {
			return err
		}
	}
	if err := m.DB.PutItem(c.Request().Context(), m.Owner(c), it); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// maxTTL is the longest time to live: a hundred years.
const maxTTL = 100 * 366 * 24 * time.Hour

// minutes reads a time to live, which clients give in minutes.
func minutes(field string, n float64) (time.Duration, error) {
	if !(n > 0) || n > maxTTL.Minutes() {
		return 0, httpx.Invalid("body", field, "want minutes above 0 and up to %.0f, got %v", maxTTL.Minutes(), n)
	}
	return time.Duration(math.Ceil(n * float64(time.Minute))), nil
}

// item responds with null if the item doesn't exist, as clients expect.
func (m mount) item(c echo.Context) error {
	q := c.QueryParams()
	var namespace []string
	for _, part := range httpx.List(q, "namespace") {
		namespace = append(namespace, strings.Split(part, ".")...)
	}
	key := q.Get("key")
	if err := checkItem("query", namespace, key); err != nil {
		return err
	}
	refresh, err := httpx.Bool(q, "refresh_ttl", true)
	if err != nil {
		return err
	}
	it, err := m.DB.Item(c.Request().Context(), m.Owner(c), namespace, key, refresh)
	if errors.Is(err, store.ErrNotFound) {
		return httpx.JSON(c, http.StatusOK, nil)
	}
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, itemOf(it))
}

// itemName is the body of deleteItem.
type itemName struct {
	Namespace []string `json:"namespace"`
	Key       string   `json:"key"`
}

// deleteItem reads its body, or without one the query.
func (m mount) deleteItem(c echo.Context) error {
	var b itemName
	if err := m.Bind(c, &b); err != nil {
		return err
	}
	where := "body"
	if q := c.QueryParams(); b.Namespace == nil && b.Key == "" && q.Has("namespace") {
		where, b.Key = "query", q.Get("key")
		for _, part := range httpx.List(q, "namespace") {
			b.Namespace = append(b.Namespace, strings.Split(part, ".")...)
		}
	}
	if err := checkItem(where, b.Namespace, b.Key); err != nil {
		return err
	}
	if err := m.DB.DeleteItem(c.Request().Context(), m.Owner(c), b.Namespace, b.Key); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// itemQuery is the body of searchItems.
type itemQuery struct {
	Prefix  []string        `json:"namespace_prefix"`
	Filter  json.RawMessage `json:"filter"`
	Limit   *int            `json:"limit"`
	Offset  int             `json:"offset"`
	Query   string          `json:"query"`
	Refresh *bool           `json:"refresh_ttl"`
}

func (m mount) searchItems(c echo.Context) error {
	var b itemQuery
	if err := m.Bind(c, &b); err != nil {
		return err
	}
	if err := checkLabels("body", "namespace_prefix", b.Prefix); err != nil {
		return err
	}
	part, err := route.BodyPage(b.Limit, b.Offset, itemsPage)
	if err != nil {
		return err
	}
	filter, err := store.ParseFilter(route.Given(b.Filter))
	if err != nil {
		return httpx.Invalid("body", "filter", "%v", err)
	}
	q := store.ItemQuery{Prefix: b.Prefix, Limit: part.Limit, Offset: part.Offset,
		Refresh: b.Refresh == nil || *b.Refresh}
	words := strings.Fields(strings.ToLower(b.Query))
	if len(words) > 0 || len(filter) > 0 {
		q.Score = func(key string, value []byte) float64 {
			if !filter.Match(value) {
				return 0
			}
			return mentions(words, key, value)
		}
	}
	found, err := m.DB.Items(c.Request().Context(), m.Owner(c), q)
	if err != nil {
		return err
	}
	out := make([]itemJSON, len(found))
	for i, f := range found {
		out[i] = itemOf(f.Item)
		if len(words) > 0 {
			out[i].Score = &f.Score
		}
	}
	return httpx.JSON(c, http.StatusOK, itemList{out})
}

type itemList struct {
	Items []itemJSON `json:"items"`
}

type namespaceList struct {
	Namespaces [][]string `json:"namespaces"`
}

// mentions returns the share of words found in the key or in texts of the value, 1 without words.
func mentions(words []string, key string, value []byte) float64 {
	if len(words) == 0 {
		return 1
	}
	var v any
	if json.Unmarshal(value, &v) != nil {
		return 0
	}
	text := strings.ToLower(string(appendTexts([]byte(key), v)))
	n := 0
	for _, w := range words {
		if strings.Contains(text, w) {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

// appendTexts appends every string inside v, each on its own line.
func appendTexts(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(append(dst, '\n'), v...)
	case []any:
		for _, inner := range v {
			dst = appendTexts(dst, inner)
		}
	case map[string]any:
		for _, inner := range v {
			dst = appendTexts(dst, inner)
		}
	}
	return dst
}

// namespaceQuery is the body of namespaces.
type namespaceQuery struct {
	Prefix   []string `json:"prefix"`
	Suffix   []string `json:"suffix"`
	MaxDepth *int     `json:"max_depth"`
	Limit    *int     `json:"limit"`
	Offset   int      `json:"offset"`
}

func (m mount) namespaces(c echo.Context) error {
	var b namespaceQuery
	if err := m.Bind(c, &b); err != nil {
		return err
	}
	part, err := route.BodyPage(b.Limit, b.Offset, namesPage)
	if err != nil {
		return err
	}
	if err := checkLabels("body", "prefix", b.Prefix); err != nil {
		return err
	}
	if err := checkLabels("body", "suffix", b.Suffix); err != nil {
		return err
	}
	q := store.NamespaceQuery{Prefix: b.Prefix, Suffix: b.Suffix, Limit: part.Limit, Offset: part.Offset}
	if b.MaxDepth != nil {
		if q.MaxDepth = *b.MaxDepth; q.MaxDepth < 1 {
			return httpx.Invalid("body", "max_depth", "want a whole number above 0, got %d", q.MaxDepth)
		}
	}
	list, err := m.DB.Namespaces(c.Request().Context(), m.Owner(c), q)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, namespaceList{list})
}

func describeStore() []o.Op {
	const tag = "Store"
	labels := o.List(o.String())
	item := []o.Prop{o.Req("namespace", labels), o.Req("key", o.String())}
	page := []o.Prop{o.Is("limit", o.Range(1, route.MaxPage)), o.Is("offset", o.Int(0))}
	return []o.Op{
		{ID: "putItem", Example: `{"namespace": ["docs", "animals"], "key": "deer", "value": {"legs": 4}}`, Tag: tag, Text: "Write an item", Need: true, More: "ttl is in minutes.",
			Body: o.Reads[itemBody](append(item[:2:2], o.Req("value", o.Map(nil)))...),
			Out:  route.Emptied("Written")},
		{ID: "getItem", Tag: tag, Text: "Get an item, or null", Need: true,
			Query: []o.Param{{Name: "namespace", Schema: o.String(), Text: "Labels joined by dots"},
				{Name: "key", Schema: o.String()}, {Name: "refresh_ttl", Schema: o.Bool()}},
			Out: route.Answered("The item", o.Nullable(o.Ref("Item")))},
		{ID: "deleteItem", Tag: tag, Text: "Delete an item, if it exists", Need: true, Body: o.Reads[itemName](item...),
			Out: route.Emptied("Deleted, or did not exist")},
		{ID: "searchItems", Example: `{"namespace_prefix": ["docs"], "filter": {"legs": {"$gte": 2}}, "limit": 10}`, Tag: tag, Text: "Search items below a namespace",
			More: "filter compares members of the value: {\"n\": 1} or {\"n\": {\"$gte\": 1}}. query finds words and sets score.",
			Body: o.Reads[itemQuery](append(page[:2:2], o.Is("filter", o.Map(nil)))...),
			Out:  route.Answered("A page of items", o.Of[itemList](o.Is("items", o.List(o.Ref("Item")))))},
		{ID: "listNamespaces", Tag: tag, Text: "List namespaces that contain items",
			Body: o.Reads[namespaceQuery](append(page[:2:2], o.Is("max_depth", o.Int(1)))...),
			Out:  route.Answered("The namespaces", o.Of[namespaceList]())},
	}
}
