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

// maxAbout is how many characters a run is told of what a collection is about.
const maxAbout = 200

// collections are those that the project and the agent of a run refer to, as far as the person may read them.
func (b *Builder) collections(ctx context.Context, owner string, c custom) ([]Collection, error) {
	names := slices.Clone(c.Knowledge)
	if c.project != nil {
		names = append(names, c.project.Knowledge...)
	}
	if len(names) == 0 || b.named == nil {
		return nil, nil
	}
	return b.named(ctx, owner, names)
}

// known is what a run is told of the collections that it can search.
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
