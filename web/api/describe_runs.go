package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeRuns() []o.Op {
	const tag, alone = "Runs", "Stateless runs"
	body := o.Ref("RunCreate")
	wait := []o.Param{{Name: "wait", Schema: o.Bool(), Text: "Respond only when the run has stopped"}, cancelWord()}
	leave := o.Param{Name: "cancel_on_disconnect", Schema: o.Bool(),
		Text: "Cancel the run when this reader disconnects. Refused for a token that may only read"}
	follow := []o.Param{leave, {Name: "stream_mode", Schema: o.String()}, {Name: "stream_subgraphs", Schema: o.Bool()}}
	const options = "context.knowledge lists up to 50 names or ids of collections of documents, which this run searches beside " +
		"those of its project and agent."
	result := route.Answered("The final state; __error__ if the run failed", o.Ref("Values"))
	joined := []o.Answer{result[0]}
	return []o.Op{
		{ID: "createRun", Keyed: true, Example: runExample, Lazy: true, Tag: tag, Text: "Start a run in the background", More: options, Body: body,
			Out: route.Answered("The run", o.Ref("Run")), Fail: []int{409}},
		{ID: "streamRun", Keyed: true, Example: runExample, Lazy: true, Tag: tag, Text: "Start a run and follow it", More: options, Body: body, Out: route.Streamed(),
			Fail: []int{409}},
		{ID: "waitRun", Keyed: true, Example: runExample, Lazy: true, Tag: tag, Text: "Start a run and wait for its result", More: options, Body: body, Out: result,
			Fail: []int{409}},
		{ID: "listRuns", Tag: tag, Text: "List the runs of a thread, newest first",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, route.MaxPage)}, {Name: "offset", Schema: o.Int(0)},
				{Name: "status", Schema: runStatus()},
				{Name: "select", Schema: o.String()}},
			Out: route.Answered("The runs", o.List(o.Ref("RunPart")))},
		{ID: "getRun", Tag: tag, Text: "Get a run", Out: route.Answered("The run", o.Ref("Run"))},
		{ID: "getTrace", Tag: tag, Text: "Get what each call of a run took",
			More: "Calls of models and tools, side calls and helpers, in the order in which they began, as long as they are kept " +
				"(inspector.keep). Times are in microseconds.",
			Out: route.Answered("The calls", o.Ref("Trace"))},
		{ID: "getTraceCall", Tag: tag, Text: "Get one call of a run, with the prompt that its model was sent",
			Out: route.Answered("The call", o.Ref("TraceCall"))},
		{ID: "deleteRun", Tag: tag, Text: "Delete a finished run", Out: route.Emptied("Deleted"), Fail: []int{409}},
		{ID: "cancelRun", Tag: tag, Text: "Cancel a run, keeping partial answers", Query: wait,
			Out:  append(route.Emptied("Cancelled"), o.Answer{Status: 202, Text: "Cancellation requested"}),
			Fail: []int{409}},
		{ID: "cancelTask", Tag: tag, Text: "Cancel one subagent; its run goes on",
			More: "task_id is the id of the call that sent it.",
			Out:  []o.Answer{{Status: 202, Text: "Cancellation requested"}}},
		{ID: "joinRun", Tag: tag, Text: "Wait for the result of a run", Query: []o.Param{leave}, Out: joined},
		{ID: "followRun", Header: route.LastEvent(), Tag: tag, Text: "Follow a run, active or finished",
			Query: follow, Out: route.Streamed()},
		{ID: "cancelAndFollowRun", Header: route.LastEvent(), Tag: tag, Text: "Follow a run; with an action, cancel it first",
			Query: append(wait, follow...), Out: route.Streamed(), Fail: []int{409}},

		{ID: "createStatelessRun", Keyed: true, Example: runExample, Tag: alone, Text: "Start a run on a new thread in the background", Body: body,
			Out: route.Answered("The run", o.Ref("Run")), Fail: []int{404, 409}},
		{ID: "streamStatelessRun", Keyed: true, Example: runExample, Tag: alone, Text: "Start a run on a new thread and follow it", Body: body,
			Out: route.Streamed(), Fail: []int{404, 409}},
		{ID: "waitStatelessRun", Keyed: true, Example: runExample, Tag: alone, Text: "Start a run on a new thread and wait for its result", Body: body,
			Out: result, Fail: []int{404, 409}},
		{ID: "createRuns", Keyed: true, Tag: alone, Text: "Start several runs", Need: true,
			Body: o.List(body), Out: route.Answered("The runs", o.List(o.Ref("Run"))), Fail: []int{404, 409}},
		{ID: "cancelRuns", Tag: alone, Text: "Cancel runs by id, by thread or by status", Need: true,
			Query: []o.Param{cancelWord()},
			Body:  o.Reads[cancelBody](o.Is("status", o.Enum("pending", "running", "all"))),
			Out:   route.Emptied("Cancellation requested"), Fail: []int{404}},
		{ID: "joinStatelessRun", Tag: alone, Text: "Wait for the result of a run", Query: []o.Param{leave}, Out: joined},
		{ID: "followStatelessRun", Header: route.LastEvent(), Tag: alone, Text: "Follow a run, active or finished", Query: follow, Out: route.Streamed()},
	}
}

// runExample begins a run with a message.
const runExample = `{"assistant_id": "lead_agent", "input": {"messages": [{"role": "user", "content": "What can you do?"}]},
"stream_mode": ["messages-tuple", "values"], "metadata": {"source": "docs"}}`

func cancelWord() o.Param { return o.Param{Name: "action", Schema: o.Enum("interrupt", "rollback")} }
