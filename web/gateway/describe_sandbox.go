package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeSandbox describes the routes of sandboxes: audit and policy.
func describeSandbox() []o.Op {
	const tag = "Sandbox"
	page := []o.Param{{Name: "limit", Schema: o.Range(1, auditPageMax)},
		{Name: "before", Schema: o.Int(0), Text: "Value of next on the previous page"},
		{Name: "kind", Schema: o.String(), Text: "command, egress or path"}}
	rows := route.Answered("A page of rows, newest first",
		o.Object(o.Req("rows", o.List(o.Map(nil))), o.Req("next", o.Nullable(o.Int(0)))))
	decisions := o.List(o.Object(o.Req("host", o.String()), o.Req("answer", o.Enum("once", "thread", "always", "no")),
		o.Req("thread_id", o.String()), o.Req("at", o.Time())))
	asked := route.Answered("Open questions, oldest first, and decisions in effect",
		o.Object(o.Req("decisions", decisions),
			o.Req("questions",
				o.List(o.Object(o.Req("host", o.String()), o.Req("port", o.Int(0)), o.Req("thread_id", o.String()),
					o.Req("at", o.Time()))))))
	hosts := route.Answered("The hosts", o.Object(o.Req("decisions", decisions)))
	return []o.Op{
		{ID: "getThreadNetwork", Tag: tag, Text: "Get network requests and decisions of a thread", Out: asked},
		{ID: "answerThreadNetwork", Tag: tag, Text: "Allow or deny a thread's commands access to a host",
			Body: o.Body(o.Req("host", o.String()), o.Req("answer", o.Enum("once", "thread", "always", "no")),
				o.Opt("port", o.Int(0))), Out: asked, Fail: []int{403}},
		{ID: "listOpenHosts", Tag: tag, Text: "List hosts allowed in every thread", Out: hosts, Fail: []int{403}},
		{ID: "closeHost", Tag: tag, Text: "Revoke a host allowed in every thread",
			Query: []o.Param{{Name: "host", Schema: o.String()}}, Out: hosts, Fail: []int{403, 404}},
		{ID: "getThreadAudit", Tag: tag, Text: "Get the audit log of a thread: commands, connections and refused paths",
			Query: page, Out: rows},
		{ID: "getAudit", Tag: tag, Text: "Get the audit log of all threads: commands, connections and refused paths",
			Query: page, Out: rows},
	}
}
