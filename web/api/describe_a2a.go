package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeAgents are the routes of the Agent2Agent protocol.
func describeAgents() []o.Op {
	const tag = "Agent2Agent"
	id := o.Nullable(o.AnyOf(o.String(), o.Number()))
	methods := o.Enum("message/send", "message/stream", "tasks/get", "tasks/cancel", "SendMessage",
		"SendStreamingMessage", "GetTask", "CancelTask")
	reply := o.AnyOf(o.Object(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", id), o.Req("result", o.Map(nil))),
		o.Object(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", id),
			o.Req("error", o.Object(o.Req("code", o.Int(-1<<31)), o.Req("message", o.String())))))
	card := o.Object(o.Req("name", o.String()), o.Req("description", o.String()), o.Req("url", o.String()),
		o.Req("version", o.String()),
		o.Req("protocolVersion", o.String()), o.Req("preferredTransport", o.String()),
		o.Req("supportedInterfaces", o.List(o.Map(nil))),
		o.Req("capabilities", o.Map(nil)), o.Req("defaultInputModes", o.List(o.String())),
		o.Req("defaultOutputModes", o.List(o.String())),
		o.Req("skills", o.List(o.Map(nil))))
	ops := []o.Op{{ID: "callAgent", Tag: tag, Text: "Talk to an assistant as an agent, in JSON-RPC 2.0",
		More: "A context is a thread, a task its run. Streams are events named message, each the answer to the call. Errors are told in the body.",
		Lazy: true, RPC: true,
		Body: o.Body(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", o.AnyOf(o.String(), o.Number())),
			o.Req("method", methods), o.Opt("params", o.Map(nil))),
		Out:  append(route.Answered("The outcome, for streams one in each event", reply), route.Streamed()...),
		Fail: []int{400}}}
	for i, id := range []string{"getAssistantCard", "getAssistantAgentCard", "getAssistantAgentCardOld", "getAgentCard", "getAgentCardOld"} {
		op := o.Op{ID: id, Tag: tag, Text: "How an assistant introduces itself to other agents",
			Out: route.Answered("The card", card)}
		if i > 2 {
			op.Query = []o.Param{{Name: "assistant_id", Schema: o.String(), Text: "Which; without it the built-in one"}}
		}
		ops = append(ops, op)
	}
	return ops
}
