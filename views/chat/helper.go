package chat

import (
	"context"
	"strings"

	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/markdown"
)

// helperFacts returns a helper's kind, model and usage: "general-purpose · gpt-5 · 12k tokens".
func helperFacts(ctx context.Context, s views.Step) string {
	var facts []string
	for _, t := range []string{oneLine(readArgs(s.Args).Helper), oneLine(s.Helper.Model)} {
		if t != "" {
			facts = append(facts, t)
		}
	}
	if s.Helper.Tokens > 0 {
		facts = append(facts, i18n.C(ctx, "turn.tokens", views.Number(s.Helper.Tokens)))
	}
	return strings.Join(facts, " · ")
}

// helperLast returns a helper's last action, or its result.
func helperLast(ctx context.Context, s views.Step) string {
	if s.Helper.Doing != nil {
		did := *s.Helper.Doing
		did.Kind, did.State = views.StepTool, views.StepRun
		return Saying(ctx, did)
	}
	return oneLine(markdown.Plain(s.Helper.Said, 160))
}
