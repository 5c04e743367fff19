package gateway

import (
	"fawn/sandbox/egress"
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
		o.Of[auditJSON](o.Is("rows", o.List(o.Map(nil)))))
	answer := o.Enum("once", "thread", "always", "no")
	decisions := o.List(o.Of[egress.Decision](o.Is("answer", answer)))
	asked := route.Answered("Open questions, oldest first, and decisions in effect", o.Of[networkJSON](o.Is("decisions", decisions)))
	hosts := route.Answered("The hosts", o.Of[openedHosts](o.Is("decisions", decisions)))
	return []o.Op{
		{ID: "getThreadNetwork", Tag: tag, Text: "Get network requests and decisions of a thread", Out: asked},
		{ID: "answerThreadNetwork", Tag: tag, Text: "Allow or deny a thread's commands access to a host",
			Body: o.Reads[hostAnswer](o.Req("host", o.String()), o.Req("answer", answer), o.Is("port", o.Int(0))), Out: asked, Fail: []int{403}},
		{ID: "listAllowedHosts", Tag: tag, Text: "List hosts allowed in every thread", Out: hosts, Fail: []int{403}},
		{ID: "revokeHost", Tag: tag, Text: "Revoke a host allowed in every thread",
			Query: []o.Param{{Name: "host", Schema: o.String()}}, Out: hosts, Fail: []int{403, 404}},
		{ID: "getThreadAudit", Tag: tag, Text: "Get the audit log of a thread: commands, connections and refused paths",
			Query: page, Out: rows},
		{ID: "getAudit", Tag: tag, Text: "Get the audit log of all threads: commands, connections and refused paths",
			Query: page, Out: rows},
	}
}
