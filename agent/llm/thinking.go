package llm

import (
	"maps"
	"strings"

	"fawn/agent/llm/openai"
)

// overlays returns the body fields that switch thinking on and off. Without an entry for "on" the dialect's is used;
// without one for "off", it is derived from "on" in the same form, else from the dialect.
func overlays(cfg Config, d openai.Dialect) (on, off map[string]any) {
	if cfg.SupportsThinking {
		on = flatten(cfg.WhenThinkingEnabled)
		if len(cfg.Thinking) > 0 {
			on = joined(on, map[string]any{"thinking": maps.Clone(cfg.Thinking)})
		}
	}
	if len(cfg.WhenThinkingDisabled) > 0 {
		return on, flatten(cfg.WhenThinkingDisabled)
	}
	if cfg.SupportsThinking && len(on) == 0 {
		return d.On, d.Off
	}
	off = map[string]any{}
	if t, ok := on["thinking"].(map[string]any); ok && t["type"] != nil {
		off["thinking"] = map[string]any{"type": "disabled"}
		if cfg.SupportsReasoningEffort {
			off["reasoning_effort"] = "minimal"
		}
	}
	if kwargs, ok := on["chat_template_kwargs"].(map[string]any); ok {
		no := map[string]any{}
		for k, v := range kwargs {
			if v == true {
				no[k] = false
			}
		}
		if len(no) > 0 {
			off["chat_template_kwargs"] = no
		}
	}
	for _, k := range []string{"enable_thinking", "think"} {
		if on[k] == true {
			off[k] = false
		}
	}
	if cfg.SupportsThinking && len(off) == 0 {
		off = d.Off
	}
	return on, off
}

// flatten writes the constructor arguments of a LangChain class as fields of the body.
func flatten(in map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		switch below, isMap := v.(map[string]any); {
		case isMap && (k == "extra_body" || k == "model_kwargs"):
			for key, value := range below {
				if !clientOnly(key) {
					out = joined(out, map[string]any{key: value})
				}
			}
		case clientOnly(k):
		default:
			out = joined(out, map[string]any{k: v})
		}
	}
	return out
}

// joined returns a with b laid over it, objects merged key by key; neither is changed.
func joined(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		below, ok := v.(map[string]any)
		old, was := out[k].(map[string]any)
		if ok && was {
			out[k] = joined(old, below)
			continue
		}
		out[k] = v
	}
	return out
}

// clientOnly reports whether a key configures LangChain's client and means nothing to a provider.
func clientOnly(k string) bool {
	switch k {
	case "streaming", "stream_usage", "disable_streaming", "max_retries", "verbose", "cache", "callbacks", "tags",
		"rate_limiter", "http_client", "http_async_client", "tiktoken_model_name", "default_query", "profile",
		"output_version", "use_responses_api", "request_timeout", "timeout", "stream_chunk_timeout",
		"custom_get_token_ids":
		return true
	}
	return strings.HasPrefix(k, "supports_")
}

// extras sorts the entry's other keys into body and headers; echo is set when the entry
// decides about sending reasoning back.
func extras(cfg Config) (body map[string]any, headers map[string]string, echo *bool) {
	headers = maps.Clone(cfg.Headers)
	if headers == nil {
		headers = map[string]string{}
	}
	rest := map[string]any{}
	for k, v := range cfg.Extra {
		switch k {
		case "echo_reasoning":
			if b, ok := v.(bool); ok {
				echo = &b
			}
		case "organization", "openai_organization":
			if s, ok := v.(string); ok {
				headers["OpenAI-Organization"] = s
			}
		default:
			rest[k] = v
		}
	}
	return joined(flatten(rest), cfg.ExtraBody), headers, echo
}
