package api

import (
	"fawn/web/api/wire"
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeV2 returns the routes of the thread-centric protocol.
func describeV2() []o.Op {
	const tag = "Thread protocol"
	reply := o.AnyOf(o.Of[commandResult](o.Is("type", o.Enum("success")), o.Is("result", o.Map(nil))),
		o.Of[commandRefusal](o.Is("type", o.Enum("error"))))
	return []o.Op{
		{ID: "sendCommand", Tag: tag, Text: "Start a run, answer a question, or read and fork state",
			More: "Methods: run.start, input.respond, state.get, state.listCheckpoints, state.fork, agent.getTree. A rejected command returns type error.",
			Need: true, Lazy: true, Body: o.Reads[command](o.Req("id", o.Int(0)), o.Req("method", o.String()),
				o.Is("params", o.Map(nil))), Out: route.Answered("The result", reply)},
		{ID: "followThread", Tag: tag, Text: "Follow a thread across runs until the client disconnects",
			More: "Channels: values, updates, messages, tools, custom, lifecycle, input, checkpoints. Starts with the last run, or after since.",
			Need: true, Lazy: true, Body: o.Reads[wire.Filter](o.Req("channels", o.List(o.String())),
				o.Is("depth", o.Int(0)), o.Is("since", o.Int(0))),
			Out: route.Streamed(), Endless: true},
		{ID: "openThreadSocket", Tag: tag, Text: "Open a WebSocket with commands and events of a thread",
			More: "Messages are JSON: commands as for sendCommand, with subscription.subscribe and subscription.unsubscribe " +
				"beside them, their answers, and events.",
			Lazy: true, Out: []o.Answer{{Status: 101, Text: "The socket is open"}}, Fail: []int{403, 426}},
	}
}
