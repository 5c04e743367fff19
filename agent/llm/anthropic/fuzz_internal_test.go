package anthropic

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// FuzzAnswer reads anything as an answer: it never panics, where reads are cut changes nothing, and
// what ends well has a reason for its end, calls with arguments, and thoughts that add up.
func FuzzAnswer(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		raw := must.Get(os.ReadFile(path))(f)
		f.Add(string(raw), false)
	}
	f.Add(`{"type":"message","content":[{"type":"tool_use","id":"a","name":"b","input":{}},{"type":"redacted_thinking","data":"x"}],"stop_reason":"tool_use"}`, true)
	f.Add("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n", false)
	f.Fuzz(func(t *testing.T, in string, whole bool) {
		kind := "text/event-stream"
		if whole {
			kind = "application/json"
		}
		run := func(body io.Reader) (*agent.Message, error) {
			var c agent.Collector
			err := read(&http.Response{Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body)},
				func(k agent.Chunk, _ error) bool { c.Add(k); return true }, func() {})
			return c.Message("m", err == nil), err
		}
		got, err := run(strings.NewReader(in))
		again, errAgain := run(iotest.OneByteReader(strings.NewReader(in)))
		if (err == nil) != (errAgain == nil) || got.Content.Text != again.Content.Text ||
			len(got.ToolCalls) != len(again.ToolCalls) {
			t.Fatalf("%+v %v, byte by byte %+v %v", got, err, again, errAgain)
		}
		if err == nil && got.Meta["finish_reason"] == nil {
			t.Fatalf("ended well without a reason: %+v", got)
		}
		for _, b := range thoughts(got) {
			if b.OfRedactedThinking == nil && (b.OfThinking == nil || b.OfThinking.Signature == "") {
				t.Fatalf("a thought that is none: %+v", b)
			}
		}
	})
}
