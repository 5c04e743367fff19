package llm

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// endings returns path suffixes that people copy along with a provider's base URL.
func endings() []string {
	return []string{"/chat/completions", "/completions", "/responses", "/messages", "/embeddings", "/models", "/chat",
		"/generate", "/tags"}
}

// versioned reports whether a path ends in a version, as those of most providers do.
func versioned(p string) bool {
	ok, err := regexp.MatchString(`(^|/)v\d+[a-z]*(/openai)?$`, p)
	return ok && err == nil
}

// Addresses returns the base URLs an address may mean, most likely first: people enter a server's root, its base with
// or without /v1, or the full address of a call. An invalid address is returned unchanged.
func Addresses(raw string) []string {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" {
		return []string{raw}
	}
	p := strings.TrimRight(path.Clean("/"+u.Path), "/")
	for _, end := range endings() {
		if rest, cut := strings.CutSuffix(p, end); cut {
			p = rest
			break
		}
	}
	var paths []string
	switch {
	case p == "":
		paths = []string{"/v1", "/api/v1", "/api"}
	case versioned(p):
		paths = []string{p}
	default:
		paths = []string{p, p + "/v1", "/v1"}
	}
	var out []string
	for _, p := range paths {
		at := *u
		at.Path, at.RawPath, at.Fragment = p, "", ""
		if s := at.String(); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
