package middleware

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"fawn/agent"
)

// ToolMetaKey is the key in a tool message for the outcome of its call.
const ToolMetaKey = "deerflow_tool_meta"

// Statuses of a call.
const (
	metaSuccess = "success"
	metaPartial = "partial_success"
	metaError   = "error"
)

// Sources of information about a call.
const (
	fromException = "exception"
	fromTool      = "tool_return"
	fromContent   = "content_analysis"
)

// toolMeta reports a call's outcome to clients, and how a model can react.
type toolMeta struct {
	Status      string  `json:"status"`
	ErrorType   *string `json:"error_type"`
	Recoverable bool    `json:"recoverable_by_model"`
	Next        string  `json:"recommended_next_action"`
	Source      string  `json:"source"`
}

// ToolMeta marks each result with the outcome of its call. Marks of inner stages, which know more, are kept.
func ToolMeta() agent.Middleware {
	return agent.Middleware{
		Name: "tool_meta",
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				r, err := next(ctx, t, c)
				if err != nil {
					return r, err
				}
				return marked(r, c, fromTool), nil
			}
		},
	}
}

// marked returns r with the mark, unless it has one.
func marked(r agent.Result, c agent.ToolCall, source string) agent.Result {
	if _, ok := r.Kwargs[ToolMetaKey]; ok {
		return r
	}
	raw, err := agent.Encode(judgeResult(r, c, source))
	var mark map[string]any
	if err != nil || json.Unmarshal(raw, &mark) != nil { // plain values always encode
		return r
	}
	kwargs := maps.Clone(r.Kwargs)
	if kwargs == nil {
		kwargs = map[string]any{}
	}
	kwargs[ToolMetaKey] = mark
	r.Kwargs = kwargs
	return r
}

func judgeResult(r agent.Result, c agent.ToolCall, source string) toolMeta {
	text := r.Content.String()
	lower := strings.ToLower(text)
	switch {
	case r.IsError:
		return failure(lower, source)
	case carriesAnything(c.Name): // the text in it doesn't come from the tool
	case strings.HasPrefix(strings.TrimSpace(text), "Error:"), saysError(text), c.Name == "web_fetch" &&
		titledStatus(lower):
		return failure(lower, fromContent)
	case containsAny(lower, "no results found", "no content found", "no images found"):
		kind := "no_results"
		return toolMeta{Status: metaPartial, ErrorType: &kind, Recoverable: true, Next: "rewrite_query",
			Source: fromContent}
	case containsAny(lower, "partial results", "limited results", "truncated", "results may be incomplete"):
		return toolMeta{Status: metaPartial, Recoverable: true, Next: "continue", Source: fromContent}
	}
	return toolMeta{Status: metaSuccess, Recoverable: true, Next: "continue", Source: source}
}

// carriesAnything reports whether a tool's successful results are files, outputs of programs and pages.
func carriesAnything(name string) bool {
	return slices.Contains([]string{"bash", "ls", "glob", "grep", "read_file", "view_image"}, name) ||
		strings.HasPrefix(name, "browser_")
}

// failure classifies the failure described by a lower-case text.
func failure(lower, source string) toolMeta {
	for _, k := range []struct {
		kind        string
		recoverable bool
		next        string
		words       []string
		numbers     []string
	}{
		{"auth", false, "stop", []string{"unauthorized", "authentication", "invalid api key"}, []string{"401", "403"}},
		{"rate_limited", false, "summarize", []string{"rate limit"}, []string{"429"}},
		{"transient", false, "try_alternative", []string{"timeout", "timed out", "connection", "network error",
			"temporarily unavailable"}, nil},
		{"config", false, "stop", []string{"not configured", "not installed", "missing required", "disabled",
			"no api key"}, nil},
		{"permission", true, "try_alternative", []string{"permission denied", "access denied", "path traversal",
			"forbidden"}, nil},
		{"no_results", true, "rewrite_query", []string{"no results", "no content found", "no images found"}, nil},
		{"not_found", true, "rewrite_query", []string{"not found", "no such file", "does not exist"}, []string{"404"}},
		{"internal", false, "stop", []string{"unexpected error", "internal error"}, []string{"500"}},
	} {
		if containsAny(lower, k.words...) ||
			slices.ContainsFunc(k.numbers, func(n string) bool { return containsNumber(lower, n) }) {
			return toolMeta{Status: metaError, ErrorType: &k.kind, Recoverable: k.recoverable, Next: k.next,
				Source: source}
		}
	}
	kind := "unknown"
	return toolMeta{Status: metaError, ErrorType: &kind, Recoverable: true, Next: "try_alternative", Source: source}
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// containsNumber finds a number that isn't part of a word.
func containsNumber(text, number string) bool {
	word := func(i int) bool {
		if i < 0 || i >= len(text) {
			return false
		}
		c := text[i]
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	for from := 0; ; {
		i := strings.Index(text[from:], number)
		if i < 0 {
			return false
		}
		i += from
		if !word(i-1) && !word(i+len(number)) {
			return true
		}
		from = i + 1
	}
}

// saysError reports whether a text is a JSON object with an error.
func saysError(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return false
	}
	var obj struct {
		Error any `json:"error"`
	}
	if json.Unmarshal([]byte(text), &obj) != nil {
		return false
	}
	switch e := obj.Error.(type) {
	case nil:
		return false
	case bool:
		return e
	case float64:
		return e != 0
	case string:
		return !slices.Contains([]string{"", "none", "null", "false", "no", "ok", "success", "n/a"},
			strings.ToLower(strings.TrimSpace(e)))
	case []any:
		return len(e) > 0
	case map[string]any:
		return len(e) > 0
	}
	return true
}

// titledStatus reports whether a page, in lower case, has nothing but the phrase of an HTTP status as its title.
func titledStatus(lower string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(lower), "\n")
	first = strings.Trim(strings.TrimPrefix(strings.TrimLeft(first, "# "), "title:"), " .!")
	for _, code := range []string{"400", "401", "403", "404", "410", "429", "500", "502", "503", "504"} {
		first = strings.Trim(strings.TrimPrefix(first, code), " -:|")
	}
	return slices.Contains([]string{"bad request", "unauthorized", "forbidden", "access denied", "not found",
		"page not found", "gone", "too many requests",
		"internal server error", "bad gateway", "service unavailable", "gateway timeout", "gateway time-out"}, first)
}
