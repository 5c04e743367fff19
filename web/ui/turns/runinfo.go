package turns

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/lead"
	"fawn/agent/llm/llmerr"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/views"
	"fawn/web/ui/page"
)

// shortest is the duration that shorter runs are shown with: the smallest with a number in its text.
const shortest = 100 * time.Millisecond

// maxCause limits the shown cause of a failure, in bytes.
const maxCause = 600

// Settle writes into a turn how its runs went, oldest first. Without runs, as in a thread
// that was imported, the turn is simply done.
func Settle(t *views.Turn, list []store.Run) {
	t.State, t.Failure, t.Elapsed, t.Tokens, t.Breakpoint = views.TurnDone, nil, 0, 0, false
	for _, r := range list {
		if !runs.Done(r.Status) {
			continue
		}
		t.Elapsed += max(shortest, r.UpdatedAt.Sub(r.CreatedAt))
		t.Tokens += tokens(r)
	}
	t.Trail.Elapsed, t.Trail.Open = t.Elapsed, false
	t.Small, t.ReqCut, t.Blind, t.Memories, t.Gone = 0, false, false, 0, ""
	for _, r := range list {
		n, _ := UsedMemories(r)
		t.Memories += n
	}
	if n := len(list); n > 0 {
		t.State, t.Failure = Outcome(list[n-1])
		remarked(t, list[n-1])
		t.Breakpoint = list[n-1].StopReason == agent.StopBreakpoint
	}
	for i := range t.Trail.Steps {
		if s := &t.Trail.Steps[i]; s.State == views.StepRun || s.State == views.StepWait {
			s.State, s.Since = views.StepStop, noTime
		}
	}
}

// remarked reads the model's properties from a run: its window, and whether it sees.
func remarked(t *views.Turn, r store.Run) {
	var meta map[string]json.RawMessage
	if len(r.Metadata) == 0 || json.Unmarshal(r.Metadata, &meta) != nil {
		return
	}
	var small string
	if json.Unmarshal(meta[lead.SmallKey], &small) == nil {
		tokens, _, _ := strings.Cut(small, " ")
		t.Small, _ = strconv.Atoi(tokens)
	}
	_, t.ReqCut = meta[middleware.CutKey]
	_, t.Blind = meta[middleware.BlindKey]
	var warned string
	if json.Unmarshal(meta["model_warning"], &warned) == nil {
		t.Gone, _, _ = strings.Cut(strings.TrimPrefix(warned, "model "), " is ")
	}
}

// Outcome reports how an ended run ended.
func Outcome(r store.Run) (views.TurnState, *views.Failure) {
	switch r.Status {
	case runs.Failed, runs.Timeout:
		return views.TurnFailed, failure(r)
	case runs.Interrupted:
		if page.CutOff(r.StopReason) {
			return views.TurnFailed, &views.Failure{Kind: views.FailureInterrupted, RequestID: r.ID}
		}
		return views.TurnStopped, nil
	}
	if r.StopReason == middleware.StopLength {
		return views.TurnFailed, &views.Failure{Kind: views.FailureLength, RequestID: r.ID}
	}
	return views.TurnDone, nil
}

// failure returns the message for a failed run. Only the error's text is stored, so it is recognized
// by its text.
func failure(r store.Run) *views.Failure {
	f := &views.Failure{Kind: views.FailureOther, Cause: page.Head(r.Error, maxCause), RequestID: r.ID}
	switch {
	case r.Status == runs.Timeout, strings.Contains(r.Error, llmerr.ErrIdle.Error()):
		f.Kind = views.FailureTimeout
		return f
	case strings.Contains(r.Error, runs.ErrStorage.Error()):
		f.Kind = views.FailureStorage
		return f
	}
	if r.StopReason == middleware.StopCut {
		_, rest, _ := strings.Cut(r.Error, ": ")
		if first, size := utf8.DecodeRuneInString(rest); size > 0 {
			rest = string(unicode.ToUpper(first)) + rest[size:] // it begins a sentence on the page
		}
		f.Kind, f.Cause = views.FailureCut, page.Head(rest, maxCause)
		return f
	}
	status, message := 0, ""
	if _, rest, ok := strings.Cut(r.Error, "the model provider answered "); ok {
		code, text, _ := strings.Cut(rest, ": ")
		status, _ = strconv.Atoi(code)
		message = text
	} else if _, rest, ok := strings.Cut(r.Error, "the model call failed: "); ok {
		message = rest
	} else {
		return f
	}
	f.Cause = page.Head(message, maxCause)
	switch class := llmerr.Classify(status, "", message, 0); class {
	case llmerr.ClassQuota:
		f.Kind = views.FailureQuota
	case llmerr.ClassAuth:
		f.Kind = views.FailureAuth
	case llmerr.ClassBurst, llmerr.ClassBusy:
		f.Kind = views.FailureRateLimit
	case llmerr.ClassContext:
		f.Kind = views.FailureContext
	case llmerr.ClassNetwork:
		f.Kind = views.FailureUnreachable
	case llmerr.ClassGeneric:
		if status == 0 && brokenOff(message) {
			f.Kind = views.FailureUnreachable
		}
	}
	return f
}

// brokenOff reports whether the words of a failed call speak of the network.
func brokenOff(message string) bool {
	for _, s := range []string{llmerr.ErrCut.Error(), "EOF", "connection", "dial ", "no such host", "x509"} {
		if strings.Contains(message, s) {
			return true
		}
	}
	return false
}

// tokens returns the tokens of a run's model calls, input and output together.
func tokens(r store.Run) int {
	var usage struct {
		Total int `json:"total_tokens"`
	}
	if json.Unmarshal(r.Usage, &usage) != nil {
		return 0
	}
	return usage.Total
}

// UsedMemories returns the number of memories used by a run, and as many of their ids as its metadata holds.
func UsedMemories(r store.Run) (n int, ids []string) {
	var meta map[string]json.RawMessage
	if len(r.Metadata) == 0 || json.Unmarshal(r.Metadata, &meta) != nil {
		return 0, nil
	}
	var said string
	if json.Unmarshal(meta[middleware.MemoryKey], &said) != nil {
		return 0, nil
	}
	count, list, _ := strings.Cut(said, " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return 0, nil
	}
	ids = strings.Fields(list)
	return n, ids[:min(n, len(ids))]
}

// Span is the start of a turn in the list of messages.
type Span struct {
	Turn  string
	Start int
}

// TurnOf returns the turn of a run: the turn of a message in its input, else by the number of earlier messages. The
// turn is "" if it isn't among spans.
func TurnOf(in request.Started, before int, spans []Span) string {
	for i := len(in.Messages) - 1; i >= 0; i-- {
		for _, s := range spans {
			if in.Messages[i].ID != "" && s.Turn == in.Messages[i].ID {
				return s.Turn
			}
		}
	}
	if before < 0 {
		return ""
	}
	if in.Given && len(in.Messages) > 0 {
		if slices.ContainsFunc(in.Messages, func(m request.StartMessage) bool { return m.Human() && m.ID != "" }) {
			return "" // its message is in another version of the conversation
		}
		for _, s := range spans {
			if s.Start >= before {
				return s.Turn
			}
		}
		return ""
	}
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].Start < before {
			return spans[i].Turn
		}
	}
	return ""
}
