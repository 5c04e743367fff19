package lead

import (
	"context"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/tools"
)

// Collection is a collection of documents that a run searches.
type Collection struct{ Name, About string }

// maxAbout limits the description of a collection in the prompt, in characters.
const maxAbout = 200

// collections returns the readable collections that the run's options, project and agent name.
func (b *Builder) collections(ctx context.Context, person string, chosen []string, c custom) ([]Collection, error) {
	names, owner := slices.Concat(c.Knowledge, chosen), ""
	if c.project != nil {
		owner = c.project.Owner
		names = append(names, c.project.Knowledge...)
	}
	if len(names) == 0 || b.named == nil {
		return nil, nil
	}
	return b.named(ctx, person, owner, names)
}

// known describes the searchable collections of a run.
func (e equipment) known() []safe {
	list := e.who.collections
	if len(list) == 0 || !slices.ContainsFunc(e.tools, func(t *agent.Tool) bool { return t.Name == tools.SearchDocuments }) {
		return nil
	}
	var b strings.Builder
	for _, c := range list {
		b.WriteString("\n- `" + string(quote(c.Name)) + "`")
		if c.About != "" {
			b.WriteString(": " + string(quote(agent.Head(c.About, maxAbout))))
		}
	}
	return []safe{safe(strings.ReplaceAll(string(ours("knowledge")), "{list}", b.String()))}
}
