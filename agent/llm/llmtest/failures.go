package llmtest

import (
	"strings"
	"time"

	"fawn/agent/llm/llmerr"
)

// failures returns answers that must become an error, never a short success.
func failures() []conversation {
	json := map[string]string{"Content-Type": "application/json"}
	failed := func(status int, class, message string) want {
		return want{err: &llmerr.Error{Status: status, Class: class, Message: message}}
	}
	with := func(w want, text string) want { w.text = text; return w }
	idle := failed(0, llmerr.ClassNetwork, "sent nothing")
	idle.cause = llmerr.ErrIdle
	cut := failed(0, llmerr.ClassNetwork, "before the answer was complete")
	cut.cause = llmerr.ErrCut
	limited := failed(429, llmerr.ClassBurst, "Rate limit reached for test-model")
	limited.err.RetryAfter = 7 * time.Second
	soon := failed(429, llmerr.ClassBurst, "slow down")
	soon.err.RetryAfter = 250 * time.Millisecond
	return []conversation{
		{"RateLimit", answer{status: 429,
			headers: map[string]string{"Content-Type": "application/json", "Retry-After": "7"},
			pieces:  []string{`{"error":{"message":"Rate limit reached for test-model on tokens per min.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`}},
			limited},
		{"RateLimitInMilliseconds", answer{status: 429,
			headers: map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"},
			pieces:  []string{`{"message":"slow down"}`}}, soon},
		{"NoCredit", answer{status: 429, headers: json,
			pieces: []string{`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`}},
			failed(429, llmerr.ClassQuota, "check your plan")},
		{"NoBalance", answer{status: 402, headers: json,
			pieces: []string{`{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`}},
			failed(402, llmerr.ClassQuota, "Insufficient Balance")},
		{"WrongKeyIsNotShown", answer{status: 401, headers: json,
			pieces: []string{`{"error":{"message":"Incorrect API key provided: ` + Key +
				`.","code":"invalid_api_key"}}`}},
			failed(401, llmerr.ClassAuth, "Incorrect API key provided: ***.")},
		{"TooLong", answer{status: 400, headers: json,
			pieces: []string{`{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`}},
			failed(400, llmerr.ClassContext, "8192")},
		{"Refused", answer{status: 400, headers: json,
			pieces: []string{`{"object":"error","message":"tool choice requires --enable-auto-tool-choice","type":"BadRequestError","code":400}`}},
			failed(400, llmerr.ClassInvalid, "--enable-auto-tool-choice")},
		{"NoSuchModelOfOllama", answer{status: 404, headers: json, pieces: []string{`{"error":"model 'x' not found"}`}},
			failed(404, llmerr.ClassInvalid, "model 'x' not found")},
		{"GeminiErrorList", answer{status: 503, headers: json,
			pieces: []string{`[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`}},
			failed(503, llmerr.ClassBusy, "overloaded")},
		{"RouterTellsWhatIsBehindIt", answer{status: 502, headers: json,
			pieces: []string{`{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream exploded","provider_name":"X"}}}`}},
			failed(502, llmerr.ClassBusy, "upstream exploded")},
		{"ProxyPage", answer{status: 502, headers: map[string]string{"Content-Type": "text/html"},
			pieces: []string{"<html><body>Bad   Gateway</body></html>"}},
			failed(502, llmerr.ClassBusy, "Bad Gateway")},
		{"WebPageInsteadOfAnswer", answer{headers: map[string]string{"Content-Type": "text/html"},
			pieces: []string{"<html>Welcome</html>"}},
			failed(0, llmerr.ClassInvalid, "base_url")},
		{"Redirect", answer{status: 307, headers: map[string]string{"Location": "https://elsewhere.example/v1"}},
			failed(307, llmerr.ClassGeneric, "elsewhere.example")},
		{"ErrorFirst",
			answer{pieces: []string{
				data(`{"error":{"message":"The server had an error","type":"server_error","code":null}}`), done}},
			failed(0, llmerr.ClassBusy, "The server had an error")},
		{"OpenRouterErrorInTheMiddle",
			answer{pieces: []string{text("half an "),
				data(`{"id":"gen-1","object":"chat.completion.chunk","model":"m","error":{"code":429,"message":"Provider is rate limited"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`), done}},
			with(failed(0, llmerr.ClassBurst, "Provider is rate limited"), "half an ")},
		{"NamedErrorEvent", answer{pieces: []string{text("x"),
			": note\n\nevent: error\ndata: {\"message\":\"worker died\"}\n\n"}},
			with(failed(0, llmerr.ClassGeneric, "worker died"), "x")},
		{"BareErrorObject", answer{pieces: []string{text("x"),
			"{\"error\":{\"message\":\"gateway timeout, try again later\"}}\n"}},
			with(failed(0, llmerr.ClassBusy, "gateway timeout"), "x")},
		{"ErrorWithStatus200", answer{headers: json, pieces: []string{`{"error":{"message":"busy now","code":"x"}}`}},
			failed(0, llmerr.ClassBusy, "busy now")},
		{"CutStream", answer{pieces: []string{text("never fin")}}, with(cut, "never fin")},
		{"CutInsideAnEvent", answer{pieces: []string{text("never "), `data: {"choices":[{"ind`}},
			with(failed(0, llmerr.ClassNetwork, "broken event"), "never ")},
		{"Empty", answer{pieces: []string{done}}, failed(0, llmerr.ClassBusy, "empty answer")},
		{"Silence", answer{pieces: []string{text("and then")}, hang: true}, with(idle, "and then")},
		{"SilenceBehindComments", answer{pieces: []string{text("and then"), strings.Repeat(": ping\n\n", 10)},
			hang: true}, with(idle, "and then")},
	}
}
