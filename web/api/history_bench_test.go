package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/runs"
)

// BenchmarkHistory reads the last ten checkpoints of a thread of 200 turns, each with its whole state: 1.4 MB.
func BenchmarkHistory(b *testing.B) {
	w := open(b, sayAgent("yes"))
	for i := range 200 {
		in, err := json.Marshal(map[string]any{"messages": []map[string]string{{"type": "human",
			"content": fmt.Sprint(i, strings.Repeat(" lorem ipsum", 20))}}})
		if err != nil {
			b.Fatal(err)
		}
		run, err := w.m.Start(b.Context(), runs.Request{Thread: "t1", Input: in})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.m.Wait(b.Context(), run.ID); err != nil {
			b.Fatal(err)
		}
	}
	fields := `{"title":"A title","artifacts":["/mnt/user-data/outputs/a.md"],` +
		`"todos":[{"content":"one","status":"pending"}],"goal":{"objective":"an aim","status":"active"}}`
	if _, err := w.m.UpdateState(b.Context(), "t1", runs.Update{Values: json.RawMessage(fields)}); err != nil {
		b.Fatal(err)
	}
	for i := range 10 {
		values := fmt.Appendf(nil, `{"messages":[{"type":"human","content":"%d"}]}`, i)
		if _, err := w.m.UpdateState(b.Context(), "t1", runs.Update{Values: values}); err != nil {
			b.Fatal(err)
		}
	}
	var n int64
	b.ReportAllocs()
	for b.Loop() {
		res, err := http.Post(w.url+"/threads/t1/history", "application/json", strings.NewReader(`{"limit":10}`))
		if err != nil {
			b.Fatal(err)
		}
		n, err = io.Copy(io.Discard, res.Body)
		if res.Body.Close(); err != nil || res.StatusCode != http.StatusOK || n < 1e6 {
			b.Fatal(n, res.Status, err)
		}
	}
	b.ReportMetric(float64(n)/1e6, "MB/answer")
}
