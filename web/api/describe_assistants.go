package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeAssistants() []o.Op {
	const tag = "Assistants"
	object := o.Map(nil)
	page := []o.Prop{o.Is("limit", o.Range(1, route.MaxPage)), o.Is("offset", o.Int(0)), o.Is("metadata", object)}
	parts := []o.Prop{o.Is("config", object), o.Is("context", object), o.Is("metadata", object)}
	return []o.Op{
		{ID: "searchAssistants", Tag: tag, Text: "Find assistants",
			Body: o.Reads[assistantQuery](append(page, o.Is("sort_order", sortOrder().Schema),
				o.Is("sort_by", o.Enum("assistant_id", "created_at", "updated_at", "name", "graph_id")))...), Out: route.Answered("A page of assistants", o.List(o.Ref("AssistantPart")))},
		{ID: "countAssistants", Tag: tag, Text: "Count assistants", Body: o.Reads[assistantQuery](append(o.Without("limit", "offset", "sort_by", "sort_order", "select"),
			o.Is("metadata", object))...),
			Out: route.Answered("The count", o.Int(0))},
		{ID: "createAssistant", Example: `{"graph_id": "lead_agent", "name": "Careful", "config": {"configurable": {"thinking_enabled": true}}}`, Tag: tag, Text: "Create an assistant: named defaults for runs",
			Body: o.Reads[assistantBody](append(parts, o.Is("assistant_id", o.ID()), o.Is("if_exists", o.Enum("raise", "do_nothing")))...), Out: route.Answered("The assistant", o.Ref("Assistant")), Fail: []int{404, 409}},
		{ID: "patchAssistant", Tag: tag, Text: "Change an assistant, creating a new version", Body: o.Reads[assistantBody](append(parts, o.Without("assistant_id", "if_exists")...)...),
			Out: route.Answered("The assistant", o.Ref("Assistant")), Fail: []int{409}},
		{ID: "deleteAssistant", Tag: tag, Text: "Delete an assistant, keeping its runs",
			Query: []o.Param{{Name: "delete_threads", Schema: o.Bool(), Text: "Also delete the threads it created"}},
			Out:   route.Emptied("Deleted"), Fail: []int{409}},
		{ID: "searchAssistantVersions", Tag: tag, Text: "List the versions of an assistant, newest first",
			Body: o.Reads[versionQuery](page...),
			Out:  route.Answered("The versions", o.List(o.Ref("Assistant")))},
		{ID: "useAssistantVersion", Tag: tag, Text: "Set the version that runs use", Need: true,
			Body: o.Reads[versionChoice](o.Req("version", o.Whole())),
			Out:  route.Answered("The assistant", o.Ref("Assistant"))},
		{ID: "getAssistant", Tag: tag, Text: "Get an assistant", Out: route.Answered("The assistant", o.Ref("Assistant"))},
		{ID: "getAssistantGraph", Tag: tag, Text: "Get the graph: nodes and edges",
			Out: route.Answered("The graph",
				o.Of[graphJSON]())},
		{ID: "getAssistantSchemas", Tag: tag, Text: "Get the JSON Schemas of input, state and options",
			Out: route.Answered("The schemas",
				o.Of[graphSchemas]())},
		{ID: "listSubgraphs", Tag: tag, Text: "List the subgraphs of an assistant",
			Out: route.Answered("The subgraphs by namespace", o.Map(nil))},
		{ID: "getSubgraph", Tag: tag, Text: "List the subgraphs in a namespace",
			Out: route.Answered("The subgraphs by namespace", o.Map(nil))},
	}
}
