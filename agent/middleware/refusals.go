package middleware

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/wire"
)

// maxRefusals limits the tools dropped in one model call.
const maxRefusals = 16

// WithdrawnKey is the remark on a run without a tool that the provider refused.
const WithdrawnKey = "tools_withdrawn"

// Refusals repeats a call without the part the provider refused: a named tool, or images and files, which are then
// described in text. withdraw is called for each removed tool with the provider's reason.
func Refusals(withdraw func(t *agent.Tool, why string)) agent.Middleware {
	gone := map[string]bool{} // tools, by name
	told := map[string]bool{} // messages, by id
	return agent.Middleware{
		Name: "refusals",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				send := *req
				send.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(t *agent.Tool) bool { return gone[t.Name] })
				send.Messages = inWords(req.Messages, func(m *agent.Message) bool { return told[m.ID] })
				var without []*agent.Tool
				why := ""
				plain := false
				for {
					try := send
					m, err := next(ctx, t, &try)
					e := llmerr.Of(err)
					if err == nil && len(without) > 0 {
						t.Note(WithdrawnKey, "the provider refuses tools: "+head(why, 300))
						for _, tool := range without {
							gone[tool.Name] = true
							t.Log.Warn("provider rejected a tool; withdrew it", "tool", tool.Name, "err", why)
							withdraw(tool, why)
						}
					}
					if err == nil && plain {
						t.Note(BlindKey, "the provider refuses pictures or files in a message; the model was told that there are some")
						for _, m := range req.Messages {
							told[m.ID] = told[m.ID] || hasMore(m)
						}
					}
					if err == nil || m != nil || e == nil || e.Class != llmerr.ClassInvalid ||
						e.Status != 0 && (e.Status < http.StatusBadRequest || e.Status >= http.StatusInternalServerError) {
						return m, err
					}
					if tool := refused(send.Tools, e.Message); tool != nil && len(without) < maxRefusals {
						without, why = append(without, tool), e.Message
						send.Tools = slices.DeleteFunc(slices.Clone(send.Tools), func(t *agent.Tool) bool { return t == tool })
						continue
					}
					if !plain && slices.ContainsFunc(send.Messages, hasMore) {
						plain = true
						send.Messages = inWords(send.Messages, hasMore)
						continue
					}
					return m, err
				}
			}
		},
	}
}

// hasMore reports whether a message has more than text.
func hasMore(m *agent.Message) bool {
	return slices.ContainsFunc(m.Content.Blocks, func(raw json.RawMessage) bool {
		p := wire.ReadPart(raw)
		return p.Image != nil || p.File != nil
	})
}

// inWords converts some messages to text.
func inWords(list []*agent.Message, which func(*agent.Message) bool) []*agent.Message {
	out := slices.Clone(list)
	for i, m := range list {
		if m.Content.Blocks == nil || !which(m) {
			continue
		}
		var texts []string
		for _, raw := range m.Content.Blocks {
			switch p := wire.ReadPart(raw); {
			case p.Image != nil:
				texts = append(texts, unseen)
			case p.File != nil:
				texts = append(texts, p.File.Told())
			default:
				texts = append(texts, p.Text)
			}
		}
		c := *m
		c.Content = agent.Text(strings.Join(texts, "\n"))
		out[i] = &c
	}
	return out
}

// places matches the patterns by which providers point to a tool in the list.
var places = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:tools|functions|function_?declarations)(?:\[|\.)(\d+)`)
})

// refused returns the tool that a provider's words about tools name, by its name or its place in the list; nil if they
// name none.
func refused(list []*agent.Tool, text string) *agent.Tool {
	low := strings.ToLower(text)
	if !strings.Contains(low, "tool") && !strings.Contains(low, "function") && !strings.Contains(low, "schema") {
		return nil
	}
	var best *agent.Tool
	for _, t := range list {
		if named(text, t.Name) && (best == nil || len(t.Name) > len(best.Name)) {
			best = t
		}
	}
	if best != nil {
		return best
	}
	all := places().FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return nil
	}
	if i, err := strconv.Atoi(all[len(all)-1][1]); err == nil && i < len(list) {
		return list[i]
	}
	return nil
}

// named reports whether a text names a tool: by a name that isn't a common word, or in quotes.
func named(text, name string) bool {
	part := func(c byte) bool {
		return c == '_' || c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 || name == "" {
			return false
		}
		at += from
		from = at + len(name)
		if at > 0 && part(text[at-1]) || from < len(text) && part(text[from]) {
			continue
		}
		quoted := at > 0 && from < len(text) && strings.IndexByte("\"'`", text[at-1]) >= 0
		if quoted || strings.ContainsAny(name, "_-") {
			return true
		}
	}
}
