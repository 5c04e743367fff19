package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeAgents returns the routes of the Agent2Agent protocol.
func describeAgents() []o.Op {
	const tag = "Agent2Agent"
	id := o.Nullable(o.AnyOf(o.String(), o.Number()))
	methods := o.Enum("message/send", "message/stream", "tasks/get", "tasks/cancel", "SendMessage",
		"SendStreamingMessage", "GetTask", "CancelTask")
	reply := o.AnyOf(o.Object(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", id), o.Req("result", o.Map(nil))),
		o.Object(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", id),
			o.Req("error", o.Object(o.Req("code", o.Int(-1<<31)), o.Req("message", o.String())))))
	ops := []o.Op{{ID: "callAgent", Tag: tag, Text: "Talk to an assistant as an agent, in JSON-RPC 2.0",
		More: "A context is a thread, a task its run. Streams are events named message, each the answer to the call. Errors are told in the body.",
		Lazy: true, RPC: true,
		Body: o.Body(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", o.AnyOf(o.String(), o.Number())),
			o.Req("method", methods), o.Opt("params", o.Map(nil))),
		Out:  append(route.Answered("The outcome, for streams one in each event", reply), route.Streamed()...),
		Fail: []int{400}}}
	for i, id := range []string{"getAssistantCard", "getAssistantAgentCard", "getAssistantAgentCardOld", "getAgentCard", "getAgentCardOld"} {
		op := o.Op{ID: id, Tag: tag, Text: "How an assistant introduces itself to other agents",
			Out: route.Answered("The card", o.Ref("AgentCard"))}
		if i > 2 {
			op.Fail = []int{404}
			op.Query = []o.Param{{Name: "assistant_id", Schema: o.String(), Text: "Which; without it the built-in one"}}
		}
		ops = append(ops, op)
	}
	return ops
}
