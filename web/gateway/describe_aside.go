package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeAside returns the routes that call a model outside of runs.
func describeAside() []o.Op {
	const tag = "DeerFlow"
	body := o.Reads[suggestBody](o.Is("n", o.Range(1, maxSuggestions)))
	list := route.Answered("The suggestions; empty if disabled or unavailable",
		o.Of[suggestionList]())
	return []o.Op{
		{ID: "suggestFollowUps", Example: `{"messages": [{"role": "user", "content": "How many legs has a deer?"}, {"role": "assistant", "content": "Four."}], "n": 3}`, Tag: tag, Text: "Suggest follow-up questions", Body: body, Out: list},
		{ID: "suggestFollowUpsInThread", Tag: tag, Text: "Suggest follow-up questions, counted towards the thread's usage",
			Body: body, Out: list},
		{ID: "getSuggestionsConfig", Tag: tag, Text: "Suggestion settings",
			Out: route.Answered("The settings", o.Of[suggestionSettings](o.Is("max_suggestions", o.Range(1, maxSuggestions))))},
		{ID: "polishInput", Tag: tag, Text: "Improve a draft", Need: true,
			Body: o.Reads[polishBody](o.Req("text", o.String()), o.Is("thread_id", o.ID())),
			Out: route.Answered("The draft",
				o.Of[polishedJSON]()),
			Fail: []int{400, 404, 503}},
	}
}
