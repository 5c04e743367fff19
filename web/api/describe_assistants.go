package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeAssistants() []o.Op {
	const tag = "Assistants"
	filter := []o.Prop{o.Opt("graph_id", o.String()), o.Opt("name", o.String()), o.Opt("metadata", o.Map(nil))}
	page := append(filter[:len(filter):len(filter)], o.Opt("limit", o.Range(1, route.MaxPage)),
		o.Opt("offset", o.Int(0)), o.Opt("select", o.List(o.String())),
		o.Opt("sort_by", o.Enum("assistant_id", "created_at", "updated_at", "name", "graph_id")),
		o.Opt("sort_order", sortOrder().Schema))
	parts := []o.Prop{o.Opt("graph_id", o.String()), o.Opt("name", o.String()), o.Opt("description", o.String()),
		o.Opt("config", o.Map(nil)),
		o.Opt("context", o.Map(nil)), o.Opt("metadata", o.Map(nil))}
	create := append(parts[:len(parts):len(parts)], o.Opt("assistant_id", o.ID()),
		o.Opt("if_exists", o.Enum("raise", "do_nothing")))
	return []o.Op{
		{ID: "searchAssistants", Tag: tag, Text: "Find assistants",
			Body: o.Body(page...), Out: route.Answered("A page of assistants", o.List(o.Ref("AssistantPart")))},
		{ID: "countAssistants", Tag: tag, Text: "Count assistants", Body: o.Body(filter...),
			Out: route.Answered("The count", o.Int(0))},
		{ID: "createAssistant", Tag: tag, Text: "Create an assistant: named defaults for runs",
			Body: o.Body(create...), Out: route.Answered("The assistant", o.Ref("Assistant")), Fail: []int{404, 409}},
		{ID: "patchAssistant", Tag: tag, Text: "Change an assistant, creating a new version", Body: o.Body(parts...),
			Out: route.Answered("The assistant", o.Ref("Assistant")), Fail: []int{409}},
		{ID: "deleteAssistant", Tag: tag, Text: "Delete an assistant, keeping its runs",
			Query: []o.Param{{Name: "delete_threads", Schema: o.Bool(), Text: "Also delete the threads it created"}},
			Out:   route.Emptied("Deleted"), Fail: []int{409}},
		{ID: "searchAssistantVersions", Tag: tag, Text: "List the versions of an assistant, newest first",
			Body: o.Body(o.Opt("metadata", o.Map(nil)), o.Opt("limit", o.Range(1, route.MaxPage)),
				o.Opt("offset", o.Int(0))),
			Out: route.Answered("The versions", o.List(o.Ref("Assistant")))},
		{ID: "useAssistantVersion", Tag: tag, Text: "Set the version that runs use", Need: true,
			Body: o.Body(o.Req("version", o.Schema{"type": "integer"})),
			Out:  route.Answered("The assistant", o.Ref("Assistant"))},
		{ID: "getAssistant", Tag: tag, Text: "Get an assistant", Out: route.Answered("The assistant", o.Ref("Assistant"))},
		{ID: "getAssistantGraph", Tag: tag, Text: "Get the graph: nodes and edges",
			Out: route.Answered("The graph",
				o.Object(o.Req("nodes", o.List(o.Map(nil))), o.Req("edges", o.List(o.Map(nil)))))},
		{ID: "getAssistantSchemas", Tag: tag, Text: "Get the JSON Schemas of input, state and options",
			Out: route.Answered("The schemas",
				o.Object(o.Req("graph_id", o.String()), o.Req("input_schema", o.Map(nil)),
					o.Req("output_schema", o.Map(nil)),
					o.Req("state_schema", o.Map(nil)), o.Req("config_schema", o.Map(nil)),
					o.Req("context_schema", o.Map(nil))))},
		{ID: "listSubgraphs", Tag: tag, Text: "List the subgraphs of an assistant",
			Out: route.Answered("The subgraphs by namespace", o.Map(nil))},
		{ID: "getSubgraph", Tag: tag, Text: "List the subgraphs in a namespace",
			Out: route.Answered("The subgraphs by namespace", o.Map(nil))},
	}
}
