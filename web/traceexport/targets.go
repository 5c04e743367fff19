package traceexport

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net/url"
	"strings"
)

// OTLP returns a collector at an address that the path of traces may be missing from.
func OTLP(endpoint string, headers map[string]string) Target {
	return Target{Name: "the collector", URL: joined(endpoint, "/v1/traces"), Headers: headers}
}

// Hosted returns the services that the environment names in the way DeerFlow reads it: Langfuse with
// LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, LangSmith with LANGSMITH_API_KEY, each only where LANGFUSE_TRACING or
// LANGSMITH_TRACING is true.
func Hosted(env func(string) (string, bool)) []Target {
	get := func(names ...string) string {
		for _, name := range names {
			if v, ok := env(name); ok && strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	on := func(names ...string) bool {
		switch strings.ToLower(get(names...)) {
		case "true", "1", "yes", "on":
			return true
		}
		return false
	}
	var out []Target
	public, secret := get("LANGFUSE_PUBLIC_KEY"), get("LANGFUSE_SECRET_KEY")
	if on("LANGFUSE_TRACING") && public != "" &&
		secret != "" {
		host := get("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
		if host == "" {
			host = "https://cloud.langfuse.com"
		}
		out = append(out, Target{Name: "Langfuse", URL: joined(host, "/api/public/otel/v1/traces"),
			Headers: map[string]string{"x-langfuse-ingestion-version": "4",
				"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(public+":"+secret))}})
	}
	key := get("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")
	if on("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2") && key != "" {
		host := get("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT")
		if host == "" {
			host = "https://api.smith.langchain.com"
		}
		headers := map[string]string{"x-api-key": key}
		if project := get("LANGSMITH_PROJECT", "LANGCHAIN_PROJECT"); project != "" {
			headers["Langsmith-Project"] = project
		}
		out = append(out, Target{Name: "LangSmith", URL: joined(host, "/otel/v1/traces"), Headers: headers})
	}
	return out
}

// Try checks, without sending any span, whether a target is reachable and accepts the key.
func Try(ctx context.Context, t Target) error {
	e := newExporter(t, slog.New(slog.DiscardHandler))
	defer e.client.CloseIdleConnections()
	_, err := Post(ctx, e.client, t, nil)
	return err
}

// joined returns an address with a path, unless it ends in it already.
func joined(base, path string) string {
	u, err := url.Parse(base)
	if err != nil || strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), path) {
		return base
	}
	return u.JoinPath(path).String()
}
