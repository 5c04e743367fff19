package wire

import (
	"fmt"
	"strings"

	"fawn/agent/llm/llmerr"
)

// Limited reports whether a provider ended an answer because it had no room for more.
func Limited(reason string) bool {
	switch strings.ToLower(strings.TrimPrefix(strings.ToUpper(reason), "FINISH_REASON_")) {
	case "length", "max_tokens", "max_length", "max_output_tokens", "max_new_tokens", "max_completion_tokens",
		"max_tokens_reached", "model_length", "token_limit", "token_limit_reached", "incomplete",
		"model_context_window_exceeded", "context_window_exceeded", "context_length_exceeded", "context_length":
		return true
	}
	return false
}

// Blocked reports whether a provider ended an answer for reasons of safety.
func Blocked(reason string) bool {
	switch strings.ToLower(strings.TrimPrefix(strings.ToUpper(reason), "FINISH_REASON_")) {
	case "content_filter", "refusal", "safety", "blocklist", "prohibited_content", "spii", "recitation",
		"image_safety", "image_prohibited_content", "image_recitation", "content_filtered", "sensitive",
		"guardrail", "guardrail_intervened", "content_policy_violation", "guardrails", "moderation":
		return true
	}
	return false
}

// clean reports whether a reason is the end of a whole answer, in the words of any provider.
func clean(reason string) bool {
	switch strings.ToLower(strings.TrimPrefix(strings.ToUpper(reason), "FINISH_REASON_")) {
	case "stop", "stopped", "stop_sequence", "end", "end_turn", "eos", "eos_token", "eos_found", "endoftext",
		"end_of_text", "end_of_turn", "complete", "completed", "done", "finish", "finished", "success", "normal",
		"pause_turn", "tool_calls", "tool_call", "tool_use", "function_call", "function_calls", "tool", "stop_str":
		return true
	}
	return false
}

// Unset reports whether a reason means none, in the servers' notations.
func Unset(reason string) bool {
	switch strings.ToLower(strings.TrimSpace(reason)) {
	case "", "null", "none", "nil", "undefined", "finish_reason_unspecified":
		return true
	}
	return false
}

// Ended checks the finish reason of an answer: an error means that it is incomplete. Such a call may be repeated.
func Ended(reason string) error {
	if clean(reason) || Limited(reason) || Blocked(reason) {
		return nil
	}
	why := ""
	switch low := strings.ToLower(reason); low {
	case "error", "failed", "failure", "internal_error", "server_error":
		why = "the provider failed while it answered"
	case "abort", "aborted", "cancel", "cancelled", "canceled":
		why = "the provider stopped the answer"
	case "timeout", "time_limit", "time_out", "deadline_exceeded":
		why = "the provider ran out of time"
	case "network_error", "connection_error":
		why = "the provider lost its connection to the model"
	case "malformed_function_call", "unexpected_tool_call", "malformed_tool_call", "too_many_tool_calls":
		why = "the model wrote a tool call that its provider cannot read"
	case "insufficient_system_resource", "overloaded", "busy":
		why = "the provider had no resources left for it"
	default:
		return &llmerr.Error{Class: llmerr.ClassNetwork, Err: llmerr.ErrCut,
			Message: fmt.Sprintf("the provider ended the answer for a reason that is not known: %.100q", reason)}
	}
	return &llmerr.Error{Class: llmerr.ClassNetwork, Err: llmerr.ErrCut, Code: strings.ToLower(reason),
		Message: fmt.Sprintf("%s (%s)", why, strings.ToLower(reason))}
}
