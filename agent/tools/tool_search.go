package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the texts of the tools
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fawn/agent"
)

// ToolSearch is the name of the tool that finds hidden tools.
const ToolSearch = "tool_search"

// maxFound limits the results of a search, except for named tools.
const maxFound = 5

//go:embed tool_search.md
var toolSearchText string

const toolSearchSchema = `{"type":"object","required":["query"],"properties":{"query":{"type":"string","description":"select:names, +word and more words, or a regular expression"}}}`

// Catalog returns the hash a set of hidden tools is known by: tools found in one catalogue are not found in another.
func Catalog(hidden []*agent.Tool) string {
	h := sha256.New()
	for _, t := range hidden {
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00", t.Name, t.Description, t.Schema)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Search returns the tool that finds hidden tools and makes them callable.
func Search(hidden []*agent.Tool) *agent.Tool {
	catalog := Catalog(hidden)
	return &agent.Tool{
		Name: ToolSearch, Description: strings.TrimSpace(toolSearchText), Schema: json.RawMessage(toolSearchSchema),
		Run: func(_ context.Context, _ *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			var args struct {
				Query string `json:"query"`
			}
			if err := json.Unmarshal(c.Args, &args); err != nil || strings.TrimSpace(args.Query) == "" {
				return agent.ErrorResult(`Error: argument "query" is missing`), nil
			}
			found := find(hidden, strings.TrimSpace(args.Query))
			if len(found) == 0 {
				return agent.TextResult("No tools found matching: " + clip(args.Query, 200)), nil
			}
			type function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			}
			list, names := make([]function, len(found)), make([]string, len(found))
			for i, t := range found {
				list[i], names[i] = function{t.Name, t.Description, t.Schema}, t.Name
			}
			b, err := agent.Encode(list)
			if err != nil {
				return agent.Result{}, fmt.Errorf("encode tools: %w", err)
			}
			r := agent.TextResult(string(b))
			r.Patch.Promoted = &agent.Promoted{Catalog: catalog, Names: names}
			return r, nil
		},
	}
}

// find returns the tools matching a query, best first.
func find(hidden []*agent.Tool, query string) []*agent.Tool {
	if names, ok := strings.CutPrefix(query, "select:"); ok {
		var out []*agent.Tool
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			if i := slices.IndexFunc(hidden, func(t *agent.Tool) bool { return t.Name == name }); i >= 0 &&
				!slices.Contains(out, hidden[i]) {
				out = append(out, hidden[i])
			}
		}
		return out
	}
	var score func(t *agent.Tool) int // 0 means no match
	if rest, ok := strings.CutPrefix(query, "+"); ok {
		words := strings.Fields(strings.ToLower(rest))
		if len(words) == 0 {
			return nil
		}
		score = func(t *agent.Tool) int {
			name, all := strings.ToLower(t.Name), strings.ToLower(t.Name+" "+t.Description)
			if !strings.Contains(name, words[0]) {
				return 0
			}
			n := 1
			for _, w := range words[1:] {
				if strings.Contains(all, w) {
					n++
				}
			}
			return n
		}
	} else {
		re, err := regexp.Compile("(?i)" + query)
		if err != nil {
			re = regexp.MustCompile("(?i)" + regexp.QuoteMeta(query)) // quoted text always compiles
		}
		score = func(t *agent.Tool) int {
			switch {
			case re.MatchString(t.Name):
				return 2
			case re.MatchString(t.Description):
				return 1
			}
			return 0
		}
	}
	scores := make(map[*agent.Tool]int, len(hidden))
	out := slices.DeleteFunc(slices.Clone(hidden),
		func(t *agent.Tool) bool { scores[t] = score(t); return scores[t] == 0 })
	slices.SortStableFunc(out, func(a, b *agent.Tool) int { return cmp.Compare(scores[b], scores[a]) })
	return out[:min(len(out), maxFound)]
}
