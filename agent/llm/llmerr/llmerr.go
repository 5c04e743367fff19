// Package llmerr defines the error of a failed model call for all providers. Stages and pages decide how to react.
package llmerr

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Classes of failures. Quota, auth, trust, invalid and context persist when the same call is repeated; burst, busy and
// network may be temporary.
const (
	ClassQuota   = "quota"   // the account has no credit left
	ClassAuth    = "auth"    // the key is wrong or may not do this
	ClassTrust   = "trust"   // the server's certificate is not accepted, or it has none
	ClassBurst   = "burst"   // too many calls in a short time
	ClassBusy    = "busy"    // the provider is overloaded or restarting
	ClassInvalid = "invalid" // the provider refuses the request itself
	ClassContext = "context" // the request is longer than the model can read
	ClassNetwork = "network" // the provider could not be reached, or stopped responding
	ClassGeneric = "generic" // anything else
)

// ErrIdle is wrapped by the [Error] of a call that ended after too long a silence.
var ErrIdle = errors.New("the provider stopped responding")

// ErrCut is wrapped by the [Error] of a stream which stopped before the answer was complete.
var ErrCut = errors.New("the answer was cut off")

// ErrGarbled is wrapped by the [Error] of an answer which cannot be read.
var ErrGarbled = errors.New("the answer cannot be read")

// Error is a failed model call.
type Error struct {
	Status     int           // HTTP status; 0 without a response or for a failure inside a stream
	Class      string        // one of the Class constants
	Code       string        // the provider's own code or type, "" when it gave none
	Message    string        // the provider's text, word for word, secrets replaced
	RetryAfter time.Duration // the provider was unreachable, or the connection stalled or broke
	Limit      int           // tokens the model reads, in a field of the answer; see [Error.Window]
	Err        error         // the cause below, or nil
}

// Error describes the failure in one line.
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" && e.Err != nil {
		msg = e.Err.Error()
	}
	if e.Status != 0 {
		if msg == "" {
			msg = http.StatusText(e.Status)
		}
		return fmt.Sprintf("the model provider answered %d: %s", e.Status, msg)
	}
	return "the model call failed: " + msg
}

// Said returns the provider's text alone, or that of the cause.
func (e *Error) Said() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retriable reports whether a retry of the same call may succeed.
func (e *Error) Retriable() bool {
	switch e.Class {
	case ClassBurst, ClassBusy, ClassNetwork:
		return true
	}
	return false
}

// Bursting reports whether the provider objects to how fast the number of calls grows, rather than to the number
// itself.
func (e *Error) Bursting() bool {
	return e.Class == ClassBurst && strings.Contains(strings.ToLower(e.Code+" "+e.Message), "limit_burst_rate")
}

// RefusesTools reports whether the provider refused because the model, or the server's configuration, doesn't support
// tool calls.
func (e *Error) RefusesTools() bool {
	if e.Status != 0 && e.Status < 400 || e.Retriable() && e.Status != http.StatusInternalServerError {
		return false
	}
	text := strings.ToLower(e.Message)
	for _, words := range []string{"does not support tool", "doesn't support tool", "not support tools",
		"support tool use", "tools is not supported", "tools are not supported",
		"tool use is not supported", "tool calling is not supported", "tool calls are not supported",
		"enable-auto-tool-choice", "requires --jinja", "use --jinja",
		"does not support function", "function calling is not supported", "function calling is not enabled",
		"function call is not supported"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// Of finds the Error inside err, or nil.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// patientWait is the longest Retry-After that suggests a burst: an exhausted quota isn't worth a retry a minute later.
const patientWait = 5 * time.Minute

// Classify names the class of a failure from its status, the provider's code and its text.
func Classify(status int, code, message string, retryAfter time.Duration) string {
	code, text := strings.ToLower(code), strings.ToLower(message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(code, w) || strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	burst := status == http.StatusTooManyRequests && retryAfter > 0 && retryAfter <= patientWait
	switch {
	case has("context_length", "context length", "maximum context", "context window", "context size",
		"prompt is too long", "input is too long", "too many tokens", "exceed_context_size",
		"maximum number of tokens allowed", "model token limit", "range of input length", "上下文长度"):
		return ClassContext
	case status == http.StatusPaymentRequired, has("insufficient_quota", "insufficient balance", "insufficient_balance",
		"credit balance", "payment required", "arrearage", "余额不足", "欠费"):
		return ClassQuota
	case !burst && status < 500 && has("quota", "billing", "out of credits", "insufficient credits"):
		return ClassQuota
	case status == http.StatusUnauthorized, status == http.StatusForbidden, has("invalid_api_key", "invalid api key",
		"incorrect api key", "authentication", "unauthorized", "permission_denied", "permission denied"):
		return ClassAuth
	case status == http.StatusTooManyRequests, has("rate limit", "rate_limit", "too many requests", "limit_burst_rate"):
		return ClassBurst
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
		return ClassBusy
	}
	switch {
	case has("overloaded", "busy", "at capacity", "try again later", "server_error", "unavailable", "繁忙", "稍后"):
		return ClassBusy
	case status >= 400 && status < 500:
		return ClassInvalid
	}
	return ClassGeneric
}

// limits are the providers' wordings of the context window, compiled on the first such refusal.
var limits = sync.OnceValue(func() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, words := range []string{
		`context (?:length|window|size)(?: is| of| limit is| limit of)?(?: only| exactly)? ?[(:]?(\d+)`, // OpenAI, vLLM, DeepSeek, LM Studio, llama.cpp
		`(\d+) maximum`, // Anthropic: > 200000 maximum; Mistral
		`maximum number of tokens allowed \((\d+)\)`, // Gemini
		`token limit:? ?(\d+)`,                       // Moonshot
		`input length should be \[1, (\d+)\]`,        // Qwen
		`n_ctx"?[ :=]+(\d+)`,
	} {
		all = append(all, regexp.MustCompile(words))
	}
	return all
})

// Window returns the context window in tokens, as stated in a refusal of a too long request; 0 if not stated.
func (e *Error) Window() int {
	if e.Class != ClassContext {
		return 0
	}
	if e.Limit > 0 {
		return e.Limit
	}
	text := strings.ReplaceAll(strings.ToLower(e.Message), ",", "")
	text = strings.ReplaceAll(text, "[1 ", "[1, ")
	for _, r := range limits() {
		if m := r.FindStringSubmatch(text); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && n >= 128 && n < 1<<30 {
				return n
			}
		}
	}
	return 0
}
