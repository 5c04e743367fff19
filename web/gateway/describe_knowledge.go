package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeKnowledge are the routes of collections of documents.
func describeKnowledge() []o.Op {
	const tag = "Knowledge"
	one := route.Answered("The collection", o.Ref("Knowledge"))
	members := route.Answered("The owner, then the others", o.Object(o.Req("members",
		o.List(o.Object(o.Req("member_id", o.String()), o.Req("kind", o.Enum("user", "group")), o.Req("name", o.String()),
			o.Req("email", o.String()), o.Req("role", o.Enum("owner", "editor", "viewer")))))))
	return []o.Op{
		{ID: "listKnowledge", Tag: tag, Text: "List the collections that you own or share",
			Out: route.Answered("The collections by name", o.Object(o.Req("knowledge", o.List(o.Ref("Knowledge")))))},
		{ID: "createKnowledge", Tag: tag, Text: "Create a collection", Need: true,
			Body: o.Body(o.Req("name", o.String()), o.Opt("description", o.String())),
			Out:  []o.Answer{{Status: 201, Text: "The collection", Schema: o.Ref("Knowledge")}}},
		{ID: "getKnowledge", Tag: tag, Text: "Get a collection", Out: one},
		{ID: "changeKnowledge", Tag: tag, Text: "Change a collection; absent fields stay",
			Body: o.Body(o.Opt("name", o.String()), o.Opt("description", o.String())), Out: one},
		{ID: "deleteKnowledge", Tag: tag, Text: "Delete a collection and its documents", Out: route.Emptied("Deleted")},
		{ID: "updateKnowledge", Tag: tag, Text: "Have all sources of a collection read again", Out: route.Emptied("Soon")},
		{ID: "searchKnowledge", Tag: tag, Text: "Search a collection",
			Query: []o.Param{{Name: "query", Schema: o.String()}, {Name: "limit", Schema: o.Int(1)}},
			Out: route.Answered("The passages that fit best", o.Object(o.Req("passages", o.List(o.Object(
				o.Req("cite", o.String()), o.Req("document_id", o.Int(1)), o.Req("name", o.String()), o.Req("kind", o.String()),
				o.Req("page", o.Int(0)), o.Req("start_line", o.Int(1)), o.Req("end_line", o.Int(1)), o.Req("heading", o.String()),
				o.Req("text", o.String())))))), Fail: []int{422}},
		{ID: "listKnowledgeSources", Tag: tag, Text: "List the sources of a collection",
			Out: route.Answered("The sources", o.Object(o.Req("sources", o.List(o.Ref("KnowledgeSource")))))},
		{ID: "addKnowledgeSource", Tag: tag, Text: "Add a source to a collection", Need: true,
			More: "Folders are those of the server that knowledge.folders allows, and only its operators add them.",
			Body: o.Body(o.Req("kind", o.Enum("folder", "web", "git")), o.Req("address", o.String()), o.Opt("every_seconds", o.Int(0))),
			Out:  []o.Answer{{Status: 201, Text: "The source", Schema: o.Ref("KnowledgeSource")}}},
		{ID: "removeKnowledgeSource", Tag: tag, Text: "Remove a source and its documents", Out: route.Emptied("Removed")},
		{ID: "updateKnowledgeSource", Tag: tag, Text: "Have a source read again", Out: route.Emptied("Soon")},
		{ID: "listKnowledgeDocuments", Tag: tag, Text: "List the documents of a collection, those that failed first",
			Query: []o.Param{{Name: "limit", Schema: o.Int(1)}, {Name: "offset", Schema: o.Int(0)}},
			Out: route.Answered("The documents", o.Object(o.Req("documents", o.List(o.Ref("KnowledgeDocument"))),
				o.Req("count", o.Int(0)))), Fail: []int{422}},
		{ID: "uploadKnowledgeDocuments", Tag: tag, Text: "Add documents to a collection, or replace those of the same names", Form: "files",
			Out: route.Answered("What was stored", o.Object(o.Req("files", o.List(o.Object(o.Req("name", o.String()), o.Req("size", o.Int(0))))),
				o.Req("skipped_files", o.List(o.String())))), Fail: []int{400, 413, 507}},
		{ID: "getKnowledgeDocument", Tag: tag, Text: "Get a document with its text",
			Out: route.Answered("The document", o.Ref("KnowledgeDocument"))},
		{ID: "deleteKnowledgeDocument", Tag: tag, Text: "Delete an uploaded document", Out: route.Emptied("Deleted"), Fail: []int{409}},
		{ID: "listKnowledgeMembers", Tag: tag, Text: "List who can use a collection", Out: members},
		{ID: "shareKnowledge", Tag: tag, Text: "Share a collection with a user or a group, or change their role", Need: true,
			More: "Only its owner can. Viewers search it, editors change its sources and documents, too.",
			Body: o.Body(o.Opt("email", o.String()), o.Opt("group", o.String()), o.Req("role", o.Enum("viewer", "editor"))), Out: members,
			Fail: []int{429}},
		{ID: "unshareKnowledge", Tag: tag, Text: "Stop sharing a collection, or leave it", Out: route.Emptied("Done")},
	}
}

// knowledgeSchemas are the shapes of describeKnowledge.
func knowledgeSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"Knowledge": o.Object(o.Req("knowledge_id", o.String()), o.Req("name", o.String()), o.Req("description", o.String()),
			o.Req("document_count", o.Int(0)), o.Req("role", o.Enum("owner", "editor", "viewer")),
			o.Req("created_at", o.Time()), o.Req("updated_at", o.Time())),
		"KnowledgeSource": o.Object(o.Req("source_id", o.String()), o.Req("kind", o.Enum("upload", "folder", "web", "git")),
			o.Req("address", o.String()), o.Req("every_seconds", o.Int(0)), o.Req("state", o.Enum("pending", "ready", "failed")),
			o.Req("problem", o.String()), o.Req("done", o.Int(0)), o.Req("total", o.Int(0)), o.Req("skipped", o.Int(0)),
			o.Req("checked_at", o.Nullable(o.Time())), o.Req("next_at", o.Nullable(o.Time()))),
		"KnowledgeDocument": o.Object(o.Req("document_id", o.Int(1)), o.Req("source_id", o.String()), o.Req("name", o.String()),
			o.Req("title", o.String()), o.Req("address", o.String()),
			o.Req("state", o.Enum("pending", "converted", "partial", "failed")), o.Req("reason", o.String()),
			o.Req("bytes", o.Int(0)), o.Req("updated_at", o.Time()), o.Opt("text", o.String())),
	}
}
