package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeAside are the routes that ask a model outside of runs.
func describeAside() []o.Op {
	const tag = "DeerFlow"
	message := o.Object(o.Opt("role", o.String()), o.Opt("type", o.String()), o.Opt("content", o.Any()))
	body := o.Body(o.Opt("messages", o.List(message)), o.Opt("n", o.Range(1, maxSuggestions)),
		o.Opt("model_name", o.String()))
	list := route.Answered("The suggestions; empty if disabled or unavailable",
		o.Object(o.Req("suggestions", o.List(o.String()))))
	return []o.Op{
		{ID: "suggest", Tag: tag, Text: "Suggest follow-up questions", Body: body, Out: list},
		{ID: "suggestInThread", Tag: tag, Text: "Suggest follow-up questions, counted towards the thread's usage",
			Body: body, Out: list},
		{ID: "getSuggestionsConfig", Tag: tag, Text: "Suggestion settings",
			Out: route.Answered("The settings", o.Object(o.Req("enabled", o.Bool()),
				o.Req("max_suggestions", o.Range(1, maxSuggestions))))},
		{ID: "polishInput", Tag: tag, Text: "Improve a draft", Need: true,
			Body: o.Body(o.Req("text", o.String()), o.Opt("locale", o.String()), o.Opt("thread_id", o.ID())),
			Out: route.Answered("The draft",
				o.Object(o.Req("rewritten_text", o.String()), o.Req("changed", o.Bool()))),
			Fail: []int{400, 404, 503}},
	}
}
