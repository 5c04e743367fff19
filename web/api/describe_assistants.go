package api

import o "fawn/web/openapi"

func describeAssistants() []o.Op {
	const tag = "Assistants"
	one := "/assistants/{assistant_id}"
	filter := []o.Prop{o.Opt("graph_id", o.String()), o.Opt("name", o.String()), o.Opt("metadata", o.Map(nil))}
	page := append(filter[:len(filter):len(filter)], o.Opt("limit", o.Range(1, maxPage)), o.Opt("offset", o.Int(0)), o.Opt("select", o.List(o.String())),
		o.Opt("sort_by", o.Enum("assistant_id", "created_at", "updated_at", "name", "graph_id")), o.Opt("sort_order", sortOrder().Schema))
	parts := []o.Prop{o.Opt("graph_id", o.String()), o.Opt("name", o.String()), o.Opt("description", o.String()), o.Opt("config", o.Map(nil)),
		o.Opt("context", o.Map(nil)), o.Opt("metadata", o.Map(nil))}
	create := append(parts[:len(parts):len(parts)], o.Opt("assistant_id", o.ID()), o.Opt("if_exists", o.Enum("raise", "do_nothing")))
	return []o.Op{
		{ID: "searchAssistants", Method: "POST", Path: "/assistants/search", Tag: tag, Text: "Find assistants",
			Body: o.Body(page...), Out: answered("A page of assistants", o.List(o.Ref("AssistantPart")))},
		{ID: "countAssistants", Method: "POST", Path: "/assistants/count", Tag: tag, Text: "Count assistants", Body: o.Body(filter...), Out: answered("The count", o.Int(0))},
		{ID: "createAssistant", Method: "POST", Path: "/assistants", Tag: tag, Text: "Create an assistant: named defaults for runs",
			Body: o.Body(create...), Out: answered("The assistant", o.Ref("Assistant")), Fail: []int{404, 409}},
		{ID: "patchAssistant", Method: "PATCH", Path: one, Tag: tag, Text: "Change an assistant, creating a new version", Body: o.Body(parts...),
			Out: answered("The assistant", o.Ref("Assistant")), Fail: []int{409}},
		{ID: "deleteAssistant", Method: "DELETE", Path: one, Tag: tag, Text: "Delete an assistant, keeping its runs",
			Query: []o.Param{{Name: "delete_threads", Schema: o.Bool(), Text: "Also delete the threads it created"}}, Out: emptied("Deleted"), Fail: []int{409}},
		{ID: "searchAssistantVersions", Method: "POST", Path: one + "/versions", Tag: tag, Text: "List the versions of an assistant, newest first",
			Body: o.Body(o.Opt("metadata", o.Map(nil)), o.Opt("limit", o.Range(1, maxPage)), o.Opt("offset", o.Int(0))),
			Out:  answered("The versions", o.List(o.Ref("Assistant")))},
		{ID: "useAssistantVersion", Method: "POST", Path: one + "/latest", Tag: tag, Text: "Set the version that runs use", Need: true,
			Body: o.Body(o.Req("version", o.Schema{"type": "integer"})), Out: answered("The assistant", o.Ref("Assistant"))},
		{ID: "getAssistant", Method: "GET", Path: one, Tag: tag, Text: "Get an assistant", Out: answered("The assistant", o.Ref("Assistant"))},
		{ID: "getAssistantGraph", Method: "GET", Path: one + "/graph", Tag: tag, Text: "Get the graph: nodes and edges",
			Out: answered("The graph", o.Object(o.Req("nodes", o.List(o.Map(nil))), o.Req("edges", o.List(o.Map(nil)))))},
		{ID: "getAssistantSchemas", Method: "GET", Path: one + "/schemas", Tag: tag, Text: "Get the JSON Schemas of input, state and options",
			Out: answered("The schemas", o.Object(o.Req("graph_id", o.String()), o.Req("input_schema", o.Map(nil)), o.Req("output_schema", o.Map(nil)),
				o.Req("state_schema", o.Map(nil)), o.Req("config_schema", o.Map(nil)), o.Req("context_schema", o.Map(nil))))},
		{ID: "listSubgraphs", Method: "GET", Path: one + "/subgraphs", Tag: tag, Text: "List the subgraphs of an assistant", Out: answered("The subgraphs by namespace", o.Map(nil))},
		{ID: "getSubgraph", Method: "GET", Path: one + "/subgraphs/{namespace}", Tag: tag, Text: "List the subgraphs in a namespace", Out: answered("The subgraphs by namespace", o.Map(nil))},
	}
}
