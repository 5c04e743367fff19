package load

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// Histograms of a server.
const (
	durable = "fawn_token_durable_seconds"
	commits = "fawn_group_commit_seconds"
)

// histogram is what a server has counted up to each bound.
type histogram struct{ bounds, counts []float64 }

// scrape reads a histogram of a page of metrics.
func scrape(ctx context.Context, page, name string) (h histogram, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return h, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return h, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(body)) {
		rest, ok := strings.CutPrefix(line, name+`_bucket{le="`)
		if !ok {
			continue
		}
		le, n, _ := strings.Cut(strings.TrimSpace(rest), `"} `)
		bound, err1 := strconv.ParseFloat(le, 64) // also +Inf
		count, err2 := strconv.ParseFloat(n, 64)
		if err := cmp.Or(err1, err2); err != nil {
			return h, err
		}
		h.bounds, h.counts = append(h.bounds, bound), append(h.counts, count)
	}
	if len(h.bounds) == 0 {
		return h, fmt.Errorf("%s has no %s", page, name)
	}
	return h, nil
}

// since is what was counted after an earlier look.
func (h histogram) since(before histogram) histogram {
	out := histogram{bounds: h.bounds}
	for i, n := range h.counts {
		out.counts = append(out.counts, n-before.counts[i])
	}
	return out
}

// quantile is the bound below which a share is.
func (h histogram) quantile(q float64) float64 {
	for i, n := range h.counts {
		if n > 0 && n >= q*h.counts[len(h.counts)-1] {
			return h.bounds[i]
		}
	}
	return math.NaN()
}
