package api

import o "fawn/web/openapi"

// describeAside are the routes that ask a model outside of runs.
func describeAside() []o.Op {
	const tag = "DeerFlow"
	message := o.Object(o.Opt("role", o.String()), o.Opt("type", o.String()), o.Opt("content", o.Any()))
	body := o.Body(o.Opt("messages", o.List(message)), o.Opt("n", o.Range(1, maxSuggestions)), o.Opt("model_name", o.String()))
	list := answered("The questions; none when they are switched off or cannot be made", o.Object(o.Req("suggestions", o.List(o.String()))))
	return []o.Op{
		{ID: "suggest", Method: "POST", Path: "/suggestions", Native: true, Tag: tag, Text: "What the user may want to say next", Body: body, Out: list},
		{ID: "suggestInThread", Method: "POST", Path: "/threads/{thread_id}/suggestions", Native: true, Tag: tag, Text: "What the user may want to say next; the thread pays", Body: body, Out: list},
		{ID: "getSuggestionsConfig", Method: "GET", Path: "/suggestions/config", Native: true, Tag: tag, Text: "Whether questions are suggested, and how many",
			Out: answered("The settings", o.Object(o.Req("enabled", o.Bool()), o.Req("max_suggestions", o.Range(1, maxSuggestions))))},
		{ID: "polishInput", Method: "POST", Path: "/input-polish", Native: true, Tag: tag, Text: "A draft in better words", Need: true,
			Body: o.Body(o.Req("text", o.String()), o.Opt("locale", o.String()), o.Opt("thread_id", o.ID())),
			Out:  answered("The draft", o.Object(o.Req("rewritten_text", o.String()), o.Req("changed", o.Bool()))), Fail: []int{400, 404, 503}},
	}
}
