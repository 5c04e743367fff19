package web_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// allMoods are the kinds of failure, and some oddities that are none.
func allMoods(t *testing.T) []mood {
	answering := func(f func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request, int) {
		return func(w http.ResponseWriter, _ *http.Request, _ int) { f(w) }
	}
	hanging := func(f func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request, int) {
		return func(w http.ResponseWriter, r *http.Request, _ int) {
			f(w)
			<-r.Context().Done()
		}
	}
	typed := func(kind, body string) func(http.ResponseWriter, *http.Request, int) {
		return answering(func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, body)
		})
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about clients that do not trust it
	secure.StartTLS()
	t.Cleanup(secure.Close)
	const brief, quick = ", stream_chunk_timeout: 10", ", timeout: 3, stream_chunk_timeout: 3"
	return []mood{
		{name: "429 without retry-after", answer: refuse(429, "rate_limit_exceeded", "slow down"), calls: 3, error: "ModelBusy", says: []string{"too many requests", "429", "slow down"}},
		{name: "429 with retry-after", answer: refuse(429, "rate_limit_exceeded", "slow down", "Retry-After-Ms", "40"), calls: 3, wait: 40, error: "ModelBusy", says: []string{"slow down"}},
		{name: "429 burst", answer: refuse(429, "limit_burst_rate", "Request rate increased too quickly"), calls: 2, error: "ModelBusy", says: []string{"too many requests", "increased too quickly"}},
		{name: "429 quota", answer: refuse(429, "insufficient_quota", "You exceeded your current quota"), calls: 1, error: "ModelQuota", says: []string{"no credit left", "exceeded your current quota"}},
		{name: "401", answer: refuse(401, "invalid_api_key", "Incorrect API key provided: sk-secret-0123456789"), calls: 1, error: "ModelAuth", says: []string{"does not accept the key", "***"}},
		{name: "400 content filter", answer: refuse(400, "content_filter", "The prompt was filtered"), calls: 1, error: "ModelError", says: []string{"The prompt was filtered"}},
		{name: "400 context length", answer: refuse(400, "context_length_exceeded", "maximum context length is 8192 tokens"), calls: 2, tries: 1, error: "ContextOverflow", says: []string{"longer than the model can read", "8192"}},
		{name: "413", answer: refuse(413, "", "request too large"), calls: 1, error: "ModelError", says: []string{"request too large"}},
		{name: "502 page", answer: answering(func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			io.WriteString(w, "<html><h1>Bad\nGateway</h1></html>")
		}), calls: 3, error: "ModelBusy", says: []string{"502", "Gateway"}},
		{name: "503 without a body", answer: answering(func(w http.ResponseWriter) { w.WriteHeader(503) }), calls: 3, error: "ModelBusy", says: []string{"Service Unavailable"}},
		{name: "504", answer: refuse(504, "", "upstream timed out"), calls: 3, error: "ModelBusy"},
		{name: "redirect", answer: answering(func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://elsewhere.example/v1")
			w.WriteHeader(308)
		}), calls: 1, error: "ModelError", says: []string{"elsewhere.example", "base_url"}},
		{name: "page with status 200", answer: typed("text/html; charset=utf-8", "<html>Welcome</html>"), calls: 1, error: "ModelError", says: []string{"base_url"}},
		{name: "another kind of file", answer: typed("image/png", "\x89PNG\r\n\x1a\n0000"), calls: 3, error: "ModelUnreachable"},
		{name: "packed garbage", answer: answering(func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			send(w, "\x1f\x8b\x08\x00broken\n\n")
		}), calls: 3, error: "ModelUnreachable"},
		{name: "error with status 200", answer: typed("application/json", `{"error":{"message":"model is warming up, try again later"}}`), calls: 3, error: "ModelBusy", says: []string{"warming up"}},
		{name: "JSON that is cut", answer: typed("application/json", `{"choices":[{"message":{"content":"hal`), calls: 3, error: "ModelUnreachable"},
		{name: "nothing at all", answer: answering(func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }), calls: 3, error: "ModelUnreachable", says: []string{"before the answer was complete"}},
		{name: "no choices", answer: answering(func(w http.ResponseWriter) { send(w, `data: {"id":"c","choices":[]}`+"\n\n"); goodbye(w) }), calls: 3, error: "ModelBusy", says: []string{"empty answer"}},
		{name: "error first in the stream", answer: answering(func(w http.ResponseWriter) {
			send(w, `data: {"error":{"message":"The server had an error","type":"server_error"}}`+"\n\n")
		}), calls: 3, error: "ModelBusy", says: []string{"The server had an error"}},
		{name: "error in the middle", answer: answering(func(w http.ResponseWriter) {
			say(w, "half")
			send(w, `data: {"id":"c","error":{"code":502,"message":"upstream went away"},"choices":[]}`+"\n\n")
			goodbye(w)
		}), calls: 1, error: "ModelBusy", says: []string{"upstream went away"}, text: "half"},
		{name: "broken event first", answer: answering(func(w http.ResponseWriter) { send(w, "data: {\"choices\":[{\n\n"); goodbye(w) }), calls: 3, error: "ModelUnreachable", says: []string{"cannot be read", "broken event"}},
		{name: "broken event in the middle", answer: answering(func(w http.ResponseWriter) { say(w, "half"); send(w, "data: {]}\n\n"); goodbye(w) }), calls: 1, error: "ModelUnreachable", text: "half"},
		{name: "endless line", answer: answering(func(w http.ResponseWriter) { send(w, "data: "+strings.Repeat("x", 16<<20+1)) }), calls: 3, error: "ModelUnreachable", says: []string{"cannot be read", "16 MiB"}},
		{name: "end before the end", answer: answering(func(w http.ResponseWriter) { say(w, "half") }), calls: 1, error: "ModelUnreachable", says: []string{"cut off"}, text: "half"},
		{name: "reset before the answer", answer: answering(drop), calls: 3, error: "ModelUnreachable", says: []string{"cannot be reached"}},
		{name: "reset in the middle", answer: answering(func(w http.ResponseWriter) { say(w, "half"); drop(w) }), calls: 1, error: "ModelUnreachable", says: []string{"cut off"}, text: "half"},
		{name: "refused", url: "http://127.0.0.1:1/v1", tries: 3, error: "ModelUnreachable", says: []string{"cannot be reached", "refused"}},
		{name: "certificate nobody knows", url: secure.URL + "/v1", tries: 1, error: "ModelUnreachable", says: []string{"No secure connection", "certificate", "SSL_CERT_FILE"}},
		{name: "silence before the answer", answer: hanging(func(http.ResponseWriter) {}), model: quick, hasty: true, calls: 2, error: "ModelUnreachable", says: []string{"stopped responding", "3s"}},
		{name: "silence after the headers", answer: hanging(func(w http.ResponseWriter) { send(w, "") }), model: quick, hasty: true, calls: 2, error: "ModelUnreachable", says: []string{"stopped responding"}},
		{name: "silence behind signs of life", answer: hanging(func(w http.ResponseWriter) { send(w, strings.Repeat(": ping\n\n", 50)) }), model: quick, hasty: true, calls: 2, error: "ModelUnreachable", says: []string{"stopped responding"}},
		{name: "silence in the middle", answer: hanging(func(w http.ResponseWriter) { say(w, "half") }), model: brief, calls: 1, error: "ModelUnreachable", says: []string{"stopped responding"}, text: "half"},
		{name: "broken off for safety", answer: answering(func(w http.ResponseWriter) { frame(w, `{"content":""}`, "content_filter"); goodbye(w) }), calls: 1, says: []string{"safety reasons"}, stop: "safety_capped"},
		{name: "call broken off for safety", answer: answering(func(w http.ResponseWriter) {
			frame(w, `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"bash","arguments":"{}"}}]}`,
				"content_filter")
			goodbye(w)
		}), calls: 1, says: []string{"not done"}, stop: "safety_capped"},
		{name: "limit of length", answer: answering(func(w http.ResponseWriter) { say(w, "as far as"); frame(w, "{}", "length"); goodbye(w) }), calls: 1, text: "as far as", stop: "model_length_capped"},
		{name: "unknown reason of the end", answer: answering(func(w http.ResponseWriter) { say(w, "Yes."); frame(w, "{}", "eos_token"); goodbye(w) }), calls: 1, text: "Yes."},
		{name: "two calls with one index", answer: tools(`{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"path\":\"/mnt/user-data/workspace\"}"}},{"index":0,"id":"b","function":{"name":"ls","arguments":"{\"path\":\"/mnt/user-data/outputs\"}"}}`), calls: 2, text: "Done."},
		{name: "arguments that are no JSON", answer: tools(`{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"path\": /mnt"}}`), calls: 2, text: "Done.", holds: "Send the call again with valid JSON"},
		{name: "a tool that is none", answer: tools(`{"index":0,"id":"a","function":{"name":"fly","arguments":"{}"}}`), calls: 2, text: "Done.", holds: "no tool named \"fly\""},
		{name: "a field it does not know", answer: func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				refuse(400, "", "Unrecognized request argument supplied: stream_options")(w, r, n)
				return
			}
			say(w, "Yes.")
			frame(w, "{}", "stop")
			goodbye(w)
		}, calls: 2, text: "Yes."},
		{name: "no tool calls, as the provider says", answer: inText(1), calls: 3, text: "Done.", holds: "name one of them"},
		{name: "no tool calls, as configured", answer: inText(0), model: ", supports_tool_calls: false", calls: 2, text: "Done.", holds: "name one of them"},
		{name: "arguments that are nearly JSON", answer: tools(`{"index":0,"id":"a","function":{"name":"ls","arguments":"{'path': '/mnt/user-data',}"}}`), calls: 2, text: "Done.", holds: "name one of them"},
		{name: "only the end of a thought", answer: answering(func(w http.ResponseWriter) {
			say(w, "I wonder\n</th")
			say(w, "ink>\n\nYes.")
			frame(w, `{}`, "stop")
			goodbye(w)
		}), calls: 1, text: "Yes."},
		{name: "null as the arguments", answer: tools(`{"index":0,"id":"a","function":{"name":"ls","arguments":null}}`), calls: 2, text: "Done."},
	}
}

// tools answers the first call with tool calls and the next with words.
func tools(calls string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			frame(w, `{"content":null,"tool_calls":[`+calls+`]}`, "tool_calls")
		} else {
			say(w, "Done.")
			frame(w, "{}", "stop")
		}
		goodbye(w)
	}
}

// inText refuses tools so many times, then writes a call as text, then words.
func inText(refusals int) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, n int) {
		switch n - refusals {
		case 0:
			refuse(400, "", "registry.example/m does not support tools")(w, r, n)
			return
		case 1:
			say(w, "<tool_call>\n{\"name\": \"ls\", \"arg")
			say(w, "uments\": {\"path\": \"/mnt/user-data\"}}\n</tool_call>")
		default:
			say(w, "Done.")
		}
		frame(w, "{}", "stop")
		goodbye(w)
	}
}
