package llmerr_test

import (
	"net/http"
	"testing"
	"time"

	"fawn/agent/llm/llmerr"
)

// TestARefusalTellsTheWindow in the words of each provider.
func TestARefusalTellsTheWindow(t *testing.T) {
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}`, 8192},
		{`{"error":{"code":400,"message":"request (3508 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":3508,"n_ctx":2048}}`, 2048},
		{`{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":1024}}`, 1024},
		{`{"error":"Trying to keep the first 3508 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, 4096},
		{`{"object":"error","message":"This model's maximum context length is 2048 tokens. However, you requested 3500 tokens (3000 in the messages, 500 in the completion)."}`, 2048},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, 200000},
		{`{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, 1048576},
		{`{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)","type":"invalid_request_error"}}`, 8192},
		{`{"error":{"message":"Range of input length should be [1, 30720]","code":"invalid_parameter_error"}}`, 30720},
		{`{"message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}`, 32768},
		{`{"error":{"message":"context length exceeded"}}`, 0},
		{`{"error":{"message":"the model is unknown, 4096"}}`, 0},
	} {
		e := llmerr.FromResponse(http.StatusBadRequest, http.Header{}, []byte(c.body), time.Now())
		if got := e.Window(); got != c.want || c.want > 0 && e.Class != llmerr.ClassContext {
			t.Errorf("%s: %d (%s), want %d", c.body, got, e.Class, c.want)
		}
	}
}
